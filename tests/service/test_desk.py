"""The desk on its own: what has queued up is done, even if it is to close."""

import asyncio
import threading

import pytest

import uli_fast as uli
from tests.service.conftest import SE
from tests.support.patience import PATIENCE
from uli_fast.service.desk import Desk
from uli_fast.service.metrics import Metrics
from uli_fast.service.problems import RefusedError


def test_a_desk_that_closes_finishes_what_has_queued_up(folder):
    async def day(study):
        gate, slow, desk = threading.Event(), study.together, Desk(study, Metrics())
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
