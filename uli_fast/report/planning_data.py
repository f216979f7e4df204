"""Operating characteristics arm by arm, for pandas and for the page's CSV file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from uli_fast.errors import MissingExtraError
from uli_fast.report.planning import FIXED, SHARES
from uli_fast.results.characteristics import OperatingCharacteristics

if TYPE_CHECKING:
    import pandas as pd


def plan_frame(plan: OperatingCharacteristics) -> pd.DataFrame:
    """Return one row per learner, and the usual trial, and arm."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("to_pandas needs pandas: pip install pandas") from None
    return pd.DataFrame(list(frame_rows(plan)))


def frame_rows(plan: OperatingCharacteristics) -> Iterator[dict[str, Any]]:
    """Yield the rows of pandas and of the page's data; None is not reached, or does not apply."""
    for name, each in plan.learners.items():
        dropped, needed = each.dropped, [each.needed(x) for x in SHARES]
        for a, about in enumerate(_about(plan)):
            share = None if dropped is None else dropped[a]
            yield {
                "learner": name,
                **about,
                "dropped": None if share is None else share.rate,
                "dropped_low": None if share is None else share.low,
                "dropped_high": None if share is None else share.high,
                "patients_80": None if needed[0] is None else needed[0][a],
                "patients_90": None if needed[1] is None else needed[1][a],
                "patients": float(each.plays[:, a].mean()),
            }
    if plan.fixed is not None:
        exact = [plan.fixed.needed(x) for x in SHARES]
        for a, about in enumerate(_about(plan)):
            chance = plan.fixed.called[a]
            yield {
                "learner": FIXED,
                **about,
                "dropped": chance,
                "dropped_low": chance,
                "dropped_high": chance,
                "patients_80": exact[0][a],
                "patients_90": exact[1][a],
                "patients": float(plan.fixed.n),
            }


def _about(plan: OperatingCharacteristics) -> Iterator[dict[str, Any]]:
    for name, mean, gap in zip(plan.names, plan.means.tolist(), plan.gaps.tolist(), strict=True):
        yield {"arm": name, "mean": mean, "gap": gap}
