"""What every set promises: shapes, counts, fallbacks, typed errors."""

import subprocess
import sys

import numpy as np
import pytest

import uli_fast as uli
from tests.arm_sets.cases import LINEAR, ROUND, reference
from uli_fast.arm_sets import _chain, _clarabel, _compiled, _highs
from uli_fast.errors import ArgumentError, InfeasibleError, OracleError

SETS = uli.arm_sets
FAMILIES = LINEAR | ROUND


def make(family, d=3, seed=0):
    return FAMILIES[family](d, np.random.default_rng(seed))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_largest_norm_bounds_every_arm(family):
    for seed in range(5):
        case = make(family, 4, seed)
        for u in np.random.default_rng(seed).standard_normal((20, 4)):
            point, _ = case.made.maximize(u)
            assert np.linalg.norm(point) <= case.made.largest_norm() * (1 + 1e-9)
            assert case.made.contains(point)
            outside = case.inside + 1.01 * (point - case.inside)
            assert not case.made.contains(outside)
            assert case.made.contains(case.inside)


@pytest.mark.parametrize("family", FAMILIES)
def test_lengths_of_directions_and_rows_do_not_matter(family):
    case = make(family)
    rng = np.random.default_rng(1)
    u, V = rng.standard_normal(3), rng.standard_normal((2, 3))
    b = V @ case.inside + 0.1
    point, bound = case.made.maximize(u, le=(V, b))
    for length in (1e-200, 1e-9, 1e9, 1e90):
        other, other_bound = case.made.maximize(length * u, le=(1e7 * V, 1e7 * b))
        assert other == pytest.approx(point, abs=1e-6)
        assert other_bound / length == pytest.approx(bound, abs=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_zero_direction_gives_a_feasible_point_and_zero(family):
    case = make(family)
    V = np.random.default_rng(2).standard_normal((2, 3))
    b = V @ case.inside + 0.05
    for le in (None, (V, b)):
        point, bound = case.made.maximize(np.zeros(3), le=le)
        assert bound == pytest.approx(0.0, abs=1e-12)
        assert case.made.contains(point)
    assert (V @ point <= b + 1e-8).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_infeasible_rows_are_a_typed_error(family):
    case = make(family)
    u = np.random.default_rng(3).standard_normal(3)
    best = case.made.maximize(u)[1]
    width = best + case.made.maximize(-u)[1]
    beyond = (-u[None], [-(best + 1e-5 * width)])
    with pytest.raises(InfeasibleError, match=type(case.made).__name__):
        case.made.maximize(u, le=beyond)
    # Two rows that each leave something, and together nothing.
    middle = u @ case.inside
    V, b = np.vstack([u, -u]), np.array([middle - 1e-5 * width, -middle - 1e-5 * width])
    restricted = case.made.restrict(le=(V, b))
    for _ in range(2):
        with pytest.raises(InfeasibleError):
            restricted.maximize(u)
    with pytest.raises(InfeasibleError):
        case.made.maximize(u, eq=(u[None], [best + 0.1 * width]))
    with pytest.raises(InfeasibleError):
        case.made.maximize(u, eq=(np.vstack([u, u]), [middle, middle + 0.1 * width]))


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_that_say_nothing(family):
    case = make(family)
    u = np.random.default_rng(4).standard_normal(3)
    _, bound = case.made.maximize(u)
    nothing = (np.zeros((0, 3)), np.zeros(0))
    zero = (np.zeros((1, 3)), [0.0])
    for eq, le in ((nothing, nothing), (zero, zero), (None, (u[None], [bound + 1.0]))):
        assert case.made.maximize(u, eq, le)[1] == pytest.approx(bound)
    with pytest.raises(InfeasibleError):
        case.made.maximize(u, le=(np.zeros((1, 3)), [-1.0]))
    with pytest.raises(InfeasibleError):
        case.made.maximize(u, eq=(np.zeros((1, 3)), [1.0]))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_point_fixed_by_equalities(family):
    case = make(family)
    u = np.random.default_rng(5).standard_normal(3)
    point, bound = case.made.maximize(u, eq=(np.eye(3), case.inside))
    assert point == pytest.approx(case.inside, abs=1e-7)
    assert bound == pytest.approx(u @ case.inside, abs=1e-6)


BACK_ENDS = {
    "box": {"kernel": _compiled.VertexKernel, "highs": _highs.Highs},
    "polytope": {"kernel": _compiled.VertexKernel, "highs": _highs.Highs},
    "ball": {"kernel": _compiled.BallKernel, "clarabel": _clarabel.Clarabel},
}


def break_(monkeypatch, backend, damage):
    solve = backend.solve

    def broken(self, g):
        answer = solve(self, g)
        if damage == "raises":
            raise RuntimeError("a solver's own exception")
        if damage == "infeasible":
            raise _chain.Infeasible
        if damage == "multipliers":
            return answer._replace(le=answer.le * np.nan)
        factor = {"outside": 1.001, "NaN": np.nan, "low": 0.99}[damage]  # low: not the maximum
        return answer._replace(x=answer.x * factor)

    monkeypatch.setattr(backend, "solve", broken)


@pytest.mark.parametrize("damage", ["outside", "low", "NaN", "raises", "multipliers"])
@pytest.mark.parametrize("family", BACK_ENDS)
def test_broken_back_ends_are_replaced_and_counted(monkeypatch, family, damage):
    case, rng = make(family), np.random.default_rng(6)
    V = rng.standard_normal((2, 3))
    le, u = (V, V @ case.inside + 0.1), rng.standard_normal(3)
    best = reference(case, u, None, le)
    names = [*BACK_ENDS[family], "cvxpy"]
    for i, (name, backend) in enumerate(BACK_ENDS[family].items()):
        break_(monkeypatch, backend, damage)
        restricted = case.made.restrict(le=le)
        for _ in range(2):
            point, bound = restricted.maximize(u)
            assert bound == pytest.approx(best, abs=1e-6)
            assert u @ point == pytest.approx(best, abs=1e-6)
        assert restricted.calls == 2
        assert restricted.rejected == dict.fromkeys(names[: i + 1], 2)
        assert restricted.answers == {names[i + 1]: 2}
        alone = FAMILIES[family](3, np.random.default_rng(0), name)
        with pytest.raises(OracleError, match=rf"{name}.*: ") as caught:
            alone.made.maximize(u, le=le)
        assert not isinstance(caught.value, InfeasibleError)


@pytest.mark.parametrize("family", BACK_ENDS)
def test_a_false_alarm_of_infeasibility_is_not_believed(monkeypatch, family):
    case, rng = make(family), np.random.default_rng(6)
    V = rng.standard_normal((2, 3))
    le, u = (V, V @ case.inside + 0.1), rng.standard_normal(3)
    first, second = BACK_ENDS[family]
    break_(monkeypatch, BACK_ENDS[family][first], "infeasible")
    restricted = case.made.restrict(le=le)
    for _ in range(2):
        best = reference(case, u, None, le)
        assert restricted.maximize(u)[1] == pytest.approx(best, abs=1e-6)
    assert restricted.answers == {second: 2}


def test_the_secant_is_used_for_one_cut_and_is_exact(monkeypatch):
    rng = np.random.default_rng(7)
    for family in ("box", "simplex", "l1_ball"):
        for _ in range(50):
            case = LINEAR[family](int(rng.integers(1, 9)), rng)
            d = case.made.dimension
            V, u = rng.standard_normal((1, d)), rng.standard_normal(d)
            le = (V, V @ case.inside + rng.uniform(-0.01, 0.1, 1))
            restricted = case.made.restrict(le=le)
            if reference(case, u, None, le) is None:
                continue
            point, bound = restricted.maximize(u)
            assert restricted.answers == {"closed": 1}
            assert bound == pytest.approx(reference(case, u, None, le), abs=1e-12)
            assert u @ point == pytest.approx(bound, abs=1e-12)
    monkeypatch.setattr(_compiled, "MOST_SECANTS", 0)
    restricted = SETS.Box([0, 0], [1, 1]).restrict(le=([[1.0, 1.0]], [0.5]))
    restricted.maximize([1.0, 2.0])
    assert restricted.rejected["closed"] == 1


@pytest.mark.parametrize("backend", ["clarabel", "cvxpy"])
def test_interior_points_are_polished_on_thin_caps(backend):
    rng = np.random.default_rng(8)
    alone, kernel = SETS.Ball(6, backend=backend), SETS.Ball(6, backend="kernel")
    for _ in range(10):
        theta = rng.standard_normal(6)
        le = (-theta[None], [-(1 - 1e-6) * np.linalg.norm(theta)])
        for u in rng.standard_normal((3, 6)):
            point, bound = alone.maximize(u, le=le)
            best, best_bound = kernel.maximize(u, le=le)
            assert point == pytest.approx(best, abs=1e-8)
            assert bound == pytest.approx(best_bound, abs=1e-8)


def test_closed_forms():
    point, bound = SETS.Ball(3, 2.0, [1, 0, 0]).maximize([0, 3.0, 4.0])
    assert point == pytest.approx([1, 1.2, 1.6])
    assert bound == pytest.approx(10.0)
    point, bound = SETS.Ellipsoid([0, 0], [[2.0, 0.0], [0.0, 0.5]]).maximize([1.0, 0.0])
    assert point == pytest.approx([2.0, 0.0])
    point, bound = SETS.Box([-1, 0], [2, 0]).maximize([1.0, 5.0])
    assert point.tolist() == [2.0, 0.0]
    assert SETS.Simplex(3).maximize([1.0, 2.0, 2.0])[0].tolist() == [0.0, 1.0, 0.0]
    assert SETS.L1Ball(3, 2.0).maximize([1.0, -4.0, 4.0])[0].tolist() == [0.0, -2.0, 0.0]
    assert SETS.Simplex(1).maximize([-3.0])[1] == -3.0


def test_sets_far_from_the_origin_and_of_any_size():
    for size, move in ((1e-6, 0.0), (1e6, 0.0), (1.0, 1e5), (1e-3, 1e3)):
        for made in (
            SETS.Box(np.full(2, move - size), np.full(2, move + size)),
            SETS.Ball(2, size, np.full(2, move)),
            SETS.Polytope(
                np.vstack([np.eye(2), -np.eye(2)]),
                np.append(np.full(2, size + move), np.full(2, size - move)),
            ),
        ):
            cut = (np.array([[1.0, 1.0]]), np.array([2 * move + 0.3 * size]))
            point, bound = made.maximize([1.0, 0.0], le=cut)
            assert point.sum() <= cut[1][0] + 1e-7 * size
            expected = move + size if not isinstance(made, SETS.Ball) else bound
            assert bound == pytest.approx(expected, abs=1e-6 * size)
            assert bound - point[0] <= 1e-6 * size


def test_a_box_without_any_width():
    made = SETS.Box([1.0, 2.0], [1.0, 2.0])
    point, bound = made.maximize([1.0, 1.0], le=([[1.0, 0.0], [0.0, 1.0]], [1.0, 5.0]))
    assert (point.tolist(), bound) == ([1.0, 2.0], 3.0)
    with pytest.raises(InfeasibleError):
        made.maximize([1.0, 1.0], le=([[1.0, 0.0]], [0.9]))
    half = SETS.Box([0.0, 2.0], [1.0, 2.0])
    point, _ = half.maximize([1.0, 1.0], le=([[1.0, 1.0], [1.0, 0.0]], [2.5, 0.6]))
    assert point == pytest.approx([0.5, 2.0])


def test_looking_at_the_sets_loads_nothing_heavy():
    heavy = ["numba", "cvxpy", "highspy", "clarabel", "scipy"]
    show = f"print([m for m in {heavy} if m in sys.modules])"
    code = f"import sys, uli_fast; uli_fast.arm_sets.Ball(3); {show}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


A = SETS.Box([0, 0], [1, 1])
UNBOUNDED = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]
BAD = {
    "u NaN": (lambda: A.maximize([np.nan, 0.0]), "u"),
    "u infinite": (lambda: A.maximize(np.array([np.inf, 0.0])), "u"),
    "u length": (lambda: A.maximize([1.0, 0.0, 0.0]), "u"),
    "u matrix": (lambda: A.maximize([[1.0, 0.0]]), "u"),
    "u text": (lambda: A.maximize("up"), "u"),
    "eq not a pair": (lambda: A.maximize([1, 0], eq=3), "eq"),
    "eq columns": (lambda: A.maximize([1, 0], eq=([[1.0]], [0.0])), "eq"),
    "le NaN": (lambda: A.maximize([1, 0], le=([[1.0, np.nan]], [0.0])), "le"),
    "le lengths": (lambda: A.maximize([1, 0], le=([[1.0, 1.0]], [0.0, 1.0])), "le"),
    "le infinite": (lambda: A.restrict(le=([[1.0, 1.0]], [np.inf])), "le"),
    "finite NaN": (lambda: SETS.Finite([[np.nan]]), "points"),
    "finite empty": (lambda: SETS.Finite(np.zeros((0, 3))), "points"),
    "finite vector": (lambda: SETS.Finite([1.0, 2.0]), "points"),
    "finite u": (lambda: SETS.Finite([[1.0, 2.0]]).maximize([1.0]), "u"),
    "ball d": (lambda: SETS.Ball(0), "d"),
    "ball radius": (lambda: SETS.Ball(2, 0.0), "radius"),
    "ball center": (lambda: SETS.Ball(2, 1.0, [1.0]), "center"),
    "ellipsoid rows": (lambda: SETS.Ellipsoid([0, 0], np.eye(3)), "shape"),
    "ellipsoid NaN": (lambda: SETS.Ellipsoid([0, np.nan], np.eye(2)), "center"),
    "box order": (lambda: SETS.Box([0, 1], [1, 0]), "high"),
    "box lengths": (lambda: SETS.Box([0, 1], [1, 1, 1]), "high"),
    "box infinite": (lambda: SETS.Box([0, 0], [1, np.inf]), "high"),
    "simplex d": (lambda: SETS.Simplex(1.5), "d"),
    "l1 radius": (lambda: SETS.L1Ball(2, -1.0), "radius"),
    "polytope unbounded": (lambda: SETS.Polytope(UNBOUNDED, [1, 1, 1]), "G"),
    "polytope no rows bind": (lambda: SETS.Polytope([[0.0, 0.0]], [1]), "G"),
    "polytope empty": (lambda: SETS.Polytope([[1.0], [-1.0]], [0.0, -1.0]), "h"),
    "polytope zero row": (lambda: SETS.Polytope([[1.0], [-1.0], [0.0]], [1, 1, -1]), "h"),
    "polytope lengths": (lambda: SETS.Polytope([[1.0], [-1.0]], [0.0]), "h"),
    "polytope NaN": (lambda: SETS.Polytope([[np.nan]], [0.0]), "G"),
    "back end unknown": (lambda: SETS.Ball(2, backend="simplex"), "backend"),
    "back end of others": (lambda: SETS.Ball(2, backend="highs"), "backend"),
    "back end of boxes": (
        lambda: SETS.Polytope([[1.0], [-1]], [1, 1], backend="closed"),
        "backend",
    ),
    "back end finite": (lambda: SETS.Finite([[1.0]], backend="highs"), "backend"),
    "closed with rows": (
        lambda: SETS.Box([0, 0], [1, 1], backend="closed").restrict(le=(np.eye(2), [0.5, 0.5])),
        "backend",
    ),
    "contains length": (lambda: A.contains([1.0]), "a"),
    "contains tolerance": (lambda: A.contains([1.0, 0.0], np.nan), "tolerance"),
    "no set": (lambda: SETS.as_arm_set(3), "arm_set"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_names_the_argument(case):
    call, argument = BAD[case]
    with pytest.raises(ArgumentError) as caught:
        call()
    assert caught.value.argument == argument


def test_arguments_are_untouched_and_sets_frozen():
    low, u = np.array([-1.0, -1.0]), np.array([3.0, 4.0])
    V, b = np.array([[1.0, 2.0]]), np.array([0.5])
    made = SETS.Box(low, [1, 1])
    made.maximize(u, le=(V, b))
    assert low.tolist() == [-1, -1] and u.tolist() == [3, 4] and V.tolist() == [[1, 2]]
    for array in (made.low, SETS.Finite([[1.0]]).points, SETS.Ball(2).center):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 2.0


def test_sets_print():
    assert repr(SETS.Ball(3, 2.0)) == "Ball(3, radius=2)"
    assert repr(SETS.Ball(3, 2.0, [1, 0, 0], backend="cvxpy")) == (
        "Ball(3, radius=2, center=..., backend='cvxpy')"
    )
    assert repr(SETS.Finite([[1.0, 2.0]])) == "Finite(1 arms, d=2)"
