"""Four gunicorn workers of a web app on one study: killed, restarted, cut off from the database."""

import pytest

from tests.study import havoc


def test_nothing_is_lost_where_every_worker_opens_the_study(folder, server):
    with havoc.direct(folder, server) as stage:
        found = havoc.run(stage, 80, kills=4, restarts=1, stops=1, seed=1)
    assert found["repeated"] > 20 and found["requests"] > 200


@pytest.mark.slow
def test_nothing_is_lost_in_10000_requests_where_every_worker_opens_the_study(folder, server):
    with havoc.direct(folder, server) as stage:
        found = havoc.run(stage, 10_000, havoc.KILLS, havoc.RESTARTS, havoc.STOPS, seed=25)
    assert found["broken off"] > 20  # kills did meet requests under way
