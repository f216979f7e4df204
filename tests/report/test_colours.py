"""One hue per learner and a dash per parameter, told apart by colour-blind readers too."""

import numpy as np
import pytest

from uli_fast.report.canvas import COLOURS, PATTERNS, pens

# Linear RGB as readers without red or green cones see it (Machado, Oliveira and Fernandes 2009,
# severity 1).
SEEN = {
    "usual": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def linear(colour):
    """Return the linear RGB of "#rrggbb"."""
    x = np.array([int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5)])
    return np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """Return CIELAB under D65."""
    t = TO_XYZ @ rgb / TO_XYZ.sum(axis=1)
    x, y, z = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(one, two):
    """Return the CIEDE2000 difference of two colours in CIELAB."""
    (L1, a1, b1), (L2, a2, b2) = one, two
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    G = (1 - np.sqrt(mean**7 / (mean**7 + 25**7))) / 2
    a1, a2 = (1 + G) * a1, (1 + G) * a2
    C1, C2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = np.degrees(np.arctan2(b1, a1)) % 360, np.degrees(np.arctan2(b2, a2)) % 360
    turn = 0 if C1 * C2 == 0 else (h2 - h1 + 180) % 360 - 180
    H = 2 * np.sqrt(C1 * C2) * np.sin(np.radians(turn / 2))
    L, C = (L1 + L2) / 2, (C1 + C2) / 2
    h = h1 + h2 if C1 * C2 == 0 else (h1 + turn / 2) % 360
    weights = ((0.17, 1, 30), (-0.24, 2, 0), (-0.32, 3, -6), (0.2, 4, 63))
    T = 1 - sum(w * np.cos(np.radians(k * h - shift)) for w, k, shift in weights)
    l_part = (L2 - L1) / (1 + 0.015 * (L - 50) ** 2 / np.sqrt(20 + (L - 50) ** 2))
    c_part, h_part = (C2 - C1) / (1 + 0.045 * C), H / (1 + 0.015 * C * T)
    bend = np.radians(60 * np.exp(-(((h - 275) / 25) ** 2)))
    R = -2 * np.sqrt(C**7 / (C**7 + 25**7)) * np.sin(bend)
    return float(np.sqrt(l_part**2 + c_part**2 + h_part**2 + R * c_part * h_part))


def least_difference(colours, sight):
    seen = [lab(np.clip(np.asarray(SEEN[sight]) @ linear(c), 0, 1)) for c in colours]
    return min(difference(x, y) for i, x in enumerate(seen) for y in seen[:i])


def test_the_difference_is_that_of_its_authors():
    # Sharma, Wu and Dalal (2005), test data 1, 7, 13, 17 and 25.
    known = {
        ((50, 2.6772, -79.7751), (50, 0, -82.7485)): 2.0425,
        ((50, 0, 0), (50, -1, 2)): 2.3669,
        ((50, -0.0010, 2.4900), (50, 0.0011, -2.4900)): 4.7461,
        ((50, 2.5, 0), (73, 25, -18)): 27.1492,
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387)): 1.2644,
    }
    for (one, two), expected in known.items():
        assert difference(one, two) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("sight", "least"), [("usual", 25), ("protanopia", 15), ("deuteranopia", 15)]
)
def test_hues_are_told_apart(sight, least):
    assert least_difference(COLOURS, sight) > least


def test_the_check_notices_colours_that_are_not():
    assert least_difference(("#D55E00", "#999933"), "usual") > 25
    assert least_difference(("#D55E00", "#999933"), "deuteranopia") < 10


def test_lines_stand_out_from_white_paper():
    for colour in COLOURS:
        assert 1.05 / (TO_XYZ[1] @ linear(colour) + 0.05) > 2.5


def test_a_learner_has_one_hue_and_a_dash_per_parameter():
    kinds = ["SE", "SE", "UCB", "SE", "PE", "UCB"]
    found = pens(kinds)
    hues = {
        kind: {colour for k, (colour, _) in zip(kinds, found, strict=True) if k == kind}
        for kind in kinds
    }
    assert all(len(each) == 1 for each in hues.values()) and len(set.union(*hues.values())) == 3
    assert [cycle for _, cycle in found] == [0, 1, 0, 2, 0, 1]


@pytest.mark.parametrize("kinds", [["one"] * 40, [str(i) for i in range(40)], ["a", "b", "b"] * 14])
def test_many_lines_differ_as_long_as_there_are_hues_and_dashes(kinds):
    assert len(kinds) <= len(COLOURS) * PATTERNS
    assert len(set(pens(kinds))) == len(kinds)
