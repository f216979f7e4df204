"""The desk on its own: what has queued up is done, even if it is to close."""

import asyncio
import contextlib
import threading

import pytest

import uli_fast as uli
from tests.service.conftest import SE
from tests.support.patience import PATIENCE
from uli_fast.service.desk import Desk
from uli_fast.service.limits import Limits
from uli_fast.service.metrics import Metrics
from uli_fast.service.problems import RefusedError


@contextlib.contextmanager
def opened():
    """Make a gate that is open at the end, however that comes: a desk waits for its work."""
    gate = threading.Event()
    try:
        yield gate
    finally:
        gate.set()


def test_a_desk_that_closes_finishes_what_has_queued_up(folder):
    async def day(study):
        with opened() as gate:
            slow, desk = study.together, Desk(study, Metrics())
            study.together = lambda calls: (gate.wait(PATIENCE), slow(calls))[1]
            with pytest.raises(RefusedError):  # it is not open yet
                desk.do("ask", "early")
            desk.start()
            waiting = [desk.do("ask", f"p{i}") for i in range(5)]
            seen = desk.look(lambda study: study.awaited)
            closing = asyncio.create_task(desk.stop())
            await asyncio.sleep(0)
            with pytest.raises(RefusedError, match="stopping"):
                desk.do("ask", "late")
            gate.set()
            made = await asyncio.wait_for(asyncio.gather(*waiting, seen), PATIENCE)
            await closing
            assert not desk.open
            return made

    with uli.Study.open(folder / "trial.db", SE, 3) as study:
        *made, awaited = asyncio.run(day(study))
        assert [d.id for d in made] == [1, 2, 3, 4, 5] and awaited == 5
        assert len(study.history()) == 5


def test_a_commit_ends_before_it_is_too_large(folder):
    """Whoever comes next is not passed over: calls are done in the order in which they came."""

    async def day(study):
        with opened() as gate:
            slow, commits = study.together, []

            def together(calls):
                gate.wait(PATIENCE)
                commits.append([call[1] for call in calls])
                return slow(calls)

            study.together = together
            desk = Desk(study, Metrics(), Limits(together=100, waiting=1000))
            desk.start()
            first = desk.do("ask", "first", size=1)
            while desk.waiting:  # it is being done
                await asyncio.sleep(0)
            sizes = {"a": 60, "b": 40, "c": 1, "d": 99, "e": 300, "f": 0, "g": 50}
            waiting = [desk.do("ask", key, size=size) for key, size in sizes.items()]
            closing = asyncio.create_task(desk.stop())
            gate.set()
            made = await asyncio.wait_for(asyncio.gather(first, *waiting), PATIENCE)
            await closing
            assert commits == [["first"], ["a", "b"], ["c", "d"], ["e"], ["f", "g"]]
            return made

    with uli.Study.open(folder / "trial.db", SE, 3) as study:
        assert [d.id for d in asyncio.run(day(study))] == list(range(1, 9))


def test_who_comes_with_too_much_is_sent_away_and_others_are_not(folder):
    async def day(study):
        with opened() as gate:
            slow = study.together
            study.together = lambda calls: (gate.wait(PATIENCE), slow(calls))[1]
            desk = Desk(study, Metrics(), Limits(together=100, waiting=1000))
            desk.start()
            waiting = [desk.do("ask", "alone", size=5000)]  # nobody else waits
            with pytest.raises(RefusedError, match="too much"):
                desk.do("ask", "more", size=1)
            gate.set()
            await waiting.pop()
            gate.clear()
            for i in range(3):
                waiting.append(desk.do("ask", f"large {i}", size=300))
                waiting.append(desk.do("ask", f"small {i}", size=10))
            with pytest.raises(RefusedError, match="too much"):
                desk.do("ask", "large", size=300)
            waiting.append(desk.do("ask", "small", size=10))
            gate.set()
            await asyncio.gather(*waiting)
            assert (await desk.do("ask", "large", size=300)).id == 9  # what was answered is gone
            await desk.stop()

    with uli.Study.open(folder / "trial.db", SE, 3) as study:
        asyncio.run(day(study))


def test_who_has_gone_is_not_answered_but_it_is_recorded(folder):
    async def day(study):
        desk = Desk(study, Metrics())
        desk.start()
        gone, here = desk.do("ask", "gone"), desk.do("ask", "here")
        gone.cancel()
        assert (await here).id == 2
        await desk.stop()

    with uli.Study.open(folder / "trial.db", SE, 3) as study:
        asyncio.run(day(study))
        assert [r.request_id for r in study.history()] == ["gone", "here"]
