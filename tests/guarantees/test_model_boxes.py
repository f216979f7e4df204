"""F of model elimination: equal to the page, never rising, and counted from the masks."""

import math

import gymnasium
import numpy as np
import pytest

import uli_fast as uli
from tests.naive import model_boxes as naive
from uli_fast.errors import ArgumentError
from uli_fast.formulas.model_elimination import level_at, level_of
from uli_fast.guarantees import Guarantee, describe_model, model_size

PLAYS = ("deterministic", "stochastic")


def guarantee(about, play="stochastic", delta=0.1, growth=0.1, first=16, pooled=False):
    size, scale = describe_model(about, pooled)
    return Guarantee(f"MODEL-{play}", delta, size.parameters(growth, first), scale)


def random_masks(rng, S, A, H):
    """Return decision points, successors and first states, each of them None at times."""
    points = rng.random((H, S)) < rng.choice([0.5, 1.0])
    mask = rng.random((H, S, A, S)) < rng.choice([0.2, 0.6])
    mask[rng.random((H, S, A)) < 0.3] = False
    keep = rng.integers(0, S, (S, A))  # possible at every stage, so that stages can be pooled
    for s, a in np.ndindex(S, A):
        mask[:, s, a, keep[s, a]] = True
    first = rng.random(S) < 0.5
    first[rng.integers(S)] = True
    return points, mask if rng.random() < 0.8 else None, first if rng.random() < 0.8 else None


@pytest.mark.parametrize("seed", range(60))
def test_masks_are_counted_as_on_the_page(seed):
    rng = np.random.default_rng(seed)
    S, A, H = (int(x) for x in rng.integers(1, 6, 3))
    points, mask, first = random_masks(rng, S, A, H)
    for pooled in (False, True):
        size = model_size(points, A, mask, first, pooled)
        expected = naive.unknown(points, A, mask, first, pooled)
        found = size.entries, size.rows, size.stage_rows, size.successors, size.first_states
        assert found == expected
        assert size[:3] == (S, A, H) and size.pooled == pooled


def test_sizes_stand_for_mdps_without_masks():
    for S, A, H in ((1, 2, 3), (2, 2, 1), (2, 2, 2), (2, 3, 4), (3, 1, 2), (5, 2, 4)):
        mdp = uli.mdps.random_dense(S, A, H, seed=0)
        for pooled in (False, True):
            assert describe_model((S, A, H), pooled) == describe_model(mdp, pooled)
    # (2,2,2): four rows of one entry, and the first state; (4,2,4): 3 x 8 rows of four.
    assert describe_model((2, 2, 2))[0][3:] == (5, 5, 4, 2, 2, False)
    assert describe_model((4, 2, 4))[0][3:] == (100, 25, 8, 4, 4, False)
    assert describe_model((4, 2, 4), pooled=True)[0][3:] == (36, 25, 8, 4, 4, True)


def test_what_is_known_leaves_the_count():
    river = uli.mdps.river_swim(3, 4)
    assert describe_model(river)[0][3:] == (3 * 6 * 3 + 3, 19, 6, 3, 3, False)
    known = describe_model(river.with_known_structure())[0]
    # From the left bank: swimming is unknown, drifting is not. One state, then two, then three.
    assert known[3:] == (1 + (1 + 3) + (1 + 3 + 1), 1 + 2 + 3, 3, 3, 1, False)
    assert describe_model(river.with_known_structure(), True)[0].entries == 1 + 3 + 1
    lock = describe_model(uli.mdps.combination_lock(3).with_known_structure())[0]
    assert lock.entries == lock.rows == lock.stage_rows == 0
    assert guarantee(uli.mdps.combination_lock(3).with_known_structure()).bound(1) <= 1e-8
    # Where nothing is decided action 0 is taken, and the rows of the others do not count.
    assert describe_model(river.restricted())[0].stage_rows == 6
    assert describe_model(river.restricted())[0].rows < 19


def test_laws_that_are_pooled_have_common_successors():
    mask = np.zeros((3, 2, 1, 2), bool)
    mask[0, :, :, 0] = mask[1, :, :, 1] = True
    mask[2, :, :, 0] = True
    points = np.ones((3, 2), bool)
    with pytest.raises(ArgumentError) as caught:
        model_size(points, 1, mask, None, pooled=True)
    assert caught.value.argument == "successors"
    assert model_size(points, 1, mask, None).rows == 1
    mask[0, :, :, 1] = True  # the last stage leads nowhere that matters
    assert model_size(points, 1, mask, None, pooled=True).rows == 1
    assert model_size(points, 1, mask, None).rows == 3


@pytest.mark.parametrize("seed", range(40))
def test_bounds_are_those_of_the_page(seed):
    rng = np.random.default_rng(100 + seed)
    S, A, H = int(rng.integers(1, 12)), int(rng.integers(1, 5)), int(rng.integers(1, 12))
    points, mask, first = random_masks(rng, S, A, H)
    delta, eta, n0 = 10 ** rng.uniform(-9, -0.1), rng.uniform(0.01, 1.0), int(rng.integers(1, 99))
    for pooled in (False, True):
        size = model_size(points, A, mask, first, pooled)
        known = naive.unknown(points, A, mask, first, pooled)
        for play in PLAYS:
            ours = Guarantee(f"MODEL-{play}", delta, size.parameters(eta, n0), 3.0)
            for t in (1, 2, *(10 ** rng.uniform(0, 18, 12)).astype(int).tolist(), 10**18):
                expected = naive.gap_bound(t, play, delta, H, *known, eta, n0, pooled)
                expected *= A > 1  # else there is one policy
                assert ours.bound(t) == pytest.approx(3.0 * expected, rel=1e-12)


# Episodes after which every policy played is within 1, at delta = .1.
GOLDEN = {(2, 2, 2): 5.4e4, (4, 2, 4): 9.6e6, (10, 3, 10): 1.9e10}


@pytest.mark.parametrize("size", GOLDEN)
def test_when_policies_are_within_one(size):
    last = guarantee(size).rounds_until(1.0)
    assert 0.1 * GOLDEN[size] < last < GOLDEN[size]
    assert guarantee(size).bound(last) > 1.0 >= guarantee(size).bound(last + 1)


def test_figures_of_the_page():
    """docs/proofs_models.md, section 6."""
    lake = uli.TabularMDP.from_gymnasium(gymnasium.make("FrozenLake-v1"), 20)
    river, treatment = uli.mdps.river_swim(3, 4).restricted(), uli.mdps.two_stage_treatment()
    treatment = treatment.restricted()
    assert describe_model(lake)[0][3:] == (2032, 724, 44, 3, 1, False)
    figures = {
        1.1e4: (2, 2, 2),
        3.4e6: (4, 2, 4),
        6.5e9: (10, 3, 10),
        5.5e11: (16, 4, 20),
        1.0e10: lake,
        1.4e6: river,
        3.1e5: river.with_known_structure(),
        1.1e6: treatment,
        2.4e5: treatment.with_known_structure(),
    }
    for last, about in figures.items():
        assert guarantee(about).rounds_until(1.0) == pytest.approx(last, rel=0.05)
    both = [guarantee((10, 3, 10), play).rounds_until(0.1) for play in PLAYS]
    assert both == pytest.approx([3.8e12, 2.7e11], rel=0.05)
    within = [guarantee(size, "deterministic").rounds_until(1.0) for size in GOLDEN]
    assert within == pytest.approx([1.1e4, 9.9e6, 5.4e10], rel=0.05)


CASES = [
    (size, play, pooled)
    for size in ((2, 2, 2), (5, 3, 2), (4, 2, 4), (16, 4, 20), (7, 2, 60))
    for play in PLAYS
    for pooled in (False, True)
]


@pytest.mark.parametrize(("size", "play", "pooled"), CASES)
def test_bounds_never_rise(size, play, pooled):
    for delta in (0.999, 0.1, 1e-9):
        g = guarantee(size, play, delta, pooled=pooled)
        t = np.unique(np.concatenate([np.arange(1.0, 3000.0), np.geomspace(3000, 1e30, 20000)]))
        values = g.bound(t)
        assert (np.diff(values) <= 1e-14 * values[:-1]).all()
        assert values[0] == size[2] and 0.0 < values[-1] < 1e-6
        assert np.isfinite(values).all()


def test_each_candidate_falls_because_its_logarithm_is_above_a_half():
    # Lambda(t) / t falls where Lambda > 1/2, and the least Lambda is log(2 / .9).
    assert level_at(1.0, level_of(0.0, 1.0)) == pytest.approx(math.log(2 / 0.9))
    assert math.log(2 / 0.9) > 0.5


def test_more_knowledge_never_loosens_the_bound():
    lake = uli.mdps.random_sparse(6, 2, 5, seed=1)
    t = np.geomspace(1, 1e15, 60)
    for play in PLAYS:
        plain, known = guarantee(lake, play), guarantee(lake.with_known_structure(), play)
        few = guarantee(lake.with_known_structure().restricted(), play)
        assert (known.bound(t) <= plain.bound(t)).all()
        assert (few.bound(t) <= known.bound(t)).all()
        assert known.bound(1e12) < 0.6 * plain.bound(1e12)


def test_bounds_come_back_in_reward_units():
    treatment = uli.mdps.two_stage_treatment()
    assert treatment.scale == pytest.approx(1.1)
    assert guarantee(treatment).bound(10**9) == 1.1 * guarantee((4, 3, 3)).bound(10**9)
    assert guarantee(treatment).largest_gap == pytest.approx(3.3)


def test_one_stage_and_one_state_leave_no_gap():
    for about in ((3, 2, 1), (1, 4, 7), (3, 1, 4)):
        for play in PLAYS:
            g = guarantee(about, play)
            rest = 1e-9 * about[2] * (about[1] > 1)  # rounding
            assert g.bound(1) <= rest and g.rounds_until(1e-8) == 0
            assert g.regret(10**6) <= 1.001e6 * rest


@pytest.mark.parametrize("play", PLAYS)
def test_regret_is_not_less_than_the_sum_and_hardly_more(play):
    g = guarantee((2, 2, 3), play)
    for T in (1, 5000, 10**5, 10**6, 2 * 10**6):
        exact = g.bound(np.arange(1.0, T + 1.0)).sum()
        assert exact * (1 - 1e-12) <= g.regret(T) <= exact * 1.0005
    for T in (10**9, 10**12, 10**18):  # between sums at the last and first rounds of intervals
        edges = np.geomspace(10**5, T, 50_000)
        head = g.bound(np.arange(1.0, 10**5 + 1.0)).sum()
        below = head + (np.diff(edges) * g.bound(edges[1:])).sum()
        above = head + (np.diff(edges) * g.bound(edges[:-1])).sum()
        assert below <= g.regret(T) <= 1.001 * above


def test_a_saved_bound_is_the_same_bound():
    g = guarantee(uli.mdps.river_swim().with_known_structure(), "deterministic", pooled=True)
    again = Guarantee.from_dict(g.to_dict())
    assert again == g and again.bound(10**7) == g.bound(10**7)
    assert [c.name for c in g.constants][:2] == ["H W", "0.9 delta"]
    for spoiled in ({"H": 0}, {"rows": -1}, {"growth": math.nan}, {"first": "16"}):
        data = g.to_dict()
        data["parameters"] |= spoiled
        with pytest.raises(ArgumentError):
            Guarantee.from_dict(data)


def test_sizes_beyond_any_table_are_answered():
    g = guarantee((10**4, 100, 10**6))
    assert g.bound(10**18) == 10**6
    assert 10**20 < g.rounds_until(1.0) < 10**40


def test_what_is_no_model_is_refused():
    for about in (3, (2, 2), (0, 2, 2), (2, 2, 1.5), uli.BernoulliBandit([0.5]), None):
        with pytest.raises(ArgumentError) as caught:
            describe_model(about)
        assert caught.value.argument == "about"
