"""A Dask cluster of two processes."""

from contextlib import contextmanager


@contextmanager
def dask_cluster():
    """Let joblib spread tasks over a cluster, which takes any port that is free."""
    import distributed
    from joblib import parallel_config

    # With None the scheduler takes port 8787, which somebody else may have.
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    )
    with cluster, distributed.Client(cluster), parallel_config("dask"):
        yield
