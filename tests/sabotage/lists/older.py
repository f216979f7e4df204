"""What earlier versions wrote."""

from tests.sabotage.anchors import Sabotage

V_0_6_0 = "tests/older/test_0_6_0.py"

SABOTAGES = (
    Sabotage(
        "R: that of an older state is taken for reward units",
        "uli_fast.players:_restored",
        'if state["schema"] in UNIT_SCHEMAS:',
        "if False:",
        f"{V_0_6_0}::test_a_saved_player_says_and_does_what_it_did",
    ),
    Sabotage(
        "R: that of an older study is taken for reward units",
        "uli_fast.study.setup:Setup.recorded",
        'if about.pop("units", None) is None:',
        'if about.pop("units", "") is None:',
        f"{V_0_6_0}::test_a_study_goes_on_as_it_would_have",
    ),
    Sabotage(
        "states of 0.7 are read with the constants of today",
        "uli_fast.players._described:sharp_as_it_was",
        'found["mode"] = "sharp-0.7"',
        'found["mode"] = "sharp"',
        "tests/older/test_0_7_0.py::test_a_saved_player_goes_on_as_it_would_have",
    ),
    Sabotage(
        "studies of 0.7 are read with the constants of today",
        "uli_fast.study.setup:Setup.recorded",
        'if about.pop("sharp", None) is None:',
        'if about.pop("sharp", None) == 0:',
        "tests/older/test_0_7_0.py::test_a_study_goes_on_as_it_would_have",
    ),
)
