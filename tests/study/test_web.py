"""Four gunicorn workers of a web app on one study: killed, restarted, cut off from the database."""

import pytest

from tests.study import havoc

ways = pytest.mark.parametrize("way", havoc.WAYS, ids=lambda way: way.replace(" ", "-"))


@ways
def test_nothing_is_lost_when_workers_and_servers_die(folder, way, request):
    server = None
    if "PostgreSQL" in way:
        server = request.getfixturevalue("server")
        if not server.running:  # a failed test has stopped it
            server.start()
    with havoc.WAYS[way](folder, server) as stage:
        found = havoc.run(stage, 60, kills=3, restarts=1, seed=1)
    assert found["repeated"] > 20 and found["requests"] > 150


@pytest.mark.slow
@ways
def test_nothing_is_lost_in_50_kills_5_restarts_and_3_stops(way):
    found = havoc.whole(way)
    assert found["broken off"] > 10  # kills did meet requests under way
