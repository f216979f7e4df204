"""Every example of README and docs runs as it stands."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/arm_sets.md",
        "docs/bases.md",
        "docs/coming_from_gymnasium.md",
        "docs/coming_from_mabwiser.md",
        "docs/coming_from_rlberry.md",
        "docs/coming_from_smpybandits.md",
        "docs/live.md",
        "docs/mdps.md",
        "docs/open_questions.md",
        "docs/planning.md",
        "docs/rivals.md",
        "docs/races.md",
        "docs/replay.md",
        "docs/get_started.md",
        "docs/experiments.md",
    ],
)
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert blocks
    space = {}
    for block in blocks:
        exec(compile(block, page, "exec"), space)
