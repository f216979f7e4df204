"""examples/river.py and examples/two_stage_treatment.py run as they stand."""

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_the_more_is_told_of_the_river_the_sooner_it_is_certain(tmp_path, capsys):
    runpy.run_path(str(EXAMPLES / "river.py"))["main"](tmp_path)
    river, header, *lines = capsys.readouterr().out.splitlines()
    assert "policies=2.5e30" in river and "sure of 10 % from" in header and len(lines) == 5
    rows = [line.split()[-4:] for line in lines]
    regrets = [float(row[0]) for row in rows]
    sure = [int(row[2]) for row in rows[:4]]
    assert regrets[0] > regrets[1] > 100 * regrets[2] and regrets[4] > regrets[0]
    assert sure[0] > sure[1] > 10 * sure[2] and abs(sure[3] - sure[2]) < sure[2]
    assert all(int(row[1]) <= int(row[2]) for row in rows[:4]) and rows[4][2] == "never"
    assert [path.name for path in tmp_path.iterdir()] == ["river.png"]


def test_a_treatment_is_chosen_for_everybody(capsys):
    runpy.run_path(str(EXAMPLES / "two_stage_treatment.py"))["main"](12_000)
    text = capsys.readouterr().out
    said = [line.split() for line in text.partition("\n\n")[0].splitlines()[1:]]
    bounds, left = [float(row[3]) for row in said], [int(row[2]) for row in said]
    assert bounds == sorted(bounds, reverse=True) and left == sorted(left, reverse=True)
    assert said[-1][0] == "12000" and left[-1] < left[0] == 729 and bounds[-1] < 0.3
    assert all(float(row[4]) <= 0.5496 <= float(row[6]) for row in said)
    assert text.count("*") == 7 and "severely ill, no response    both*" in text
    assert "- no state follows but those that successors allows" in text
