"""examples/frozen_lake.py runs as it stands."""

import runpy
from pathlib import Path

import pytest

pytest.importorskip("gymnasium")
EXAMPLE = Path(__file__).parents[1] / "examples/frozen_lake.py"


def test_the_lake_is_certified(tmp_path, capsys):
    runpy.run_path(str(EXAMPLE))["main"](tmp_path)
    said = capsys.readouterr().out.splitlines()
    assert "policies=3.8e109" in said[0]
    bounds = [float(line.split("within ")[1].split(";")[0]) for line in said if "within" in line]
    assert len(bounds) == 6 and bounds == sorted(bounds, reverse=True) and bounds[4] < 0.05
    assert {path.name for path in tmp_path.iterdir()} == {"certificate.png", "actions.png"}
