"""Clients of a service, or threads on a study, that ask and tell in batches; and how long it took.

    python -m bench.support.swarm http://127.0.0.1:8321 --clients 8 --size 16 --batches 40

prints pairs of ask and tell a second, and quantiles of the time that an ask took.
"""

import argparse
import json
import threading
import time

import uli_fast as uli


def drive(live, clients, size, batches):
    """Ask and tell, each thread its own batches; return the seconds, and those of every ask."""
    waits, failed = [], []
    ready = threading.Barrier(clients + 1)

    def work(number):
        mine = []
        try:
            warm = live.ask_many([f"{number}-warm-{i}" for i in range(2)])  # connects, compiles
            live.tell_many([(d.id, 1.0) for d in warm])
            live.tell(live.ask(f"{number}-warm").id, 1.0)
            ready.wait()
            for k in range(batches):
                begun = time.perf_counter()
                if size == 1:
                    made = [live.ask(f"{number}-{k}")]
                else:
                    made = live.ask_many([f"{number}-{k}-{i}" for i in range(size)])
                mine.append(time.perf_counter() - begun)
                if size == 1:
                    live.tell(made[0].id, 1.0)
                else:
                    live.tell_many([(d.id, 1.0) for d in made])
        except BaseException as problem:
            failed.append(problem)
            ready.abort()
        waits.extend(mine)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(clients)]
    for thread in threads:
        thread.start()
    ready.wait()
    begun = time.perf_counter()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - begun
    if failed:
        raise failed[0]
    return took, sorted(waits)


def quantile(waits, p):
    return waits[min(len(waits) - 1, int(p * len(waits)))]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    for name, default in (("clients", 8), ("size", 16), ("batches", 40)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    before = time.process_time()
    with uli.Client(given.url) as live:
        took, waits = drive(live, given.clients, given.size, given.batches)
    pairs = given.clients * given.size * given.batches
    about = {"seconds": took, "pairs_per_second": pairs / took}
    about |= {"cpu_seconds": time.process_time() - before}
    about |= {f"p{q}": quantile(waits, q / 100) for q in (50, 90, 99)}
    print(json.dumps(about), flush=True)
