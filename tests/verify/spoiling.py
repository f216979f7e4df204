"""Break a constant, run a row, put the constant back."""

import uli_fast as uli
from uli_fast.guarantees import bounds
from uli_fast.verify import checks

CHECKS = {check.id: check for check in checks()}


def verdicts(spoil, rows, monkeypatch):
    """Return what rows say with a sabotage in place."""
    spoil(monkeypatch)
    found = {id: CHECKS[id].row(quick=True) for id in rows}
    monkeypatch.undo()
    return {id: (row.verdict, row.measured) for id, row in found.items()}


def all_fail(spoil, rows, monkeypatch):
    """Assert that every row fails with a sabotage in place, and by its figures."""
    found = verdicts(spoil, rows, monkeypatch)
    assert {id: said for id, (said, _) in found.items()} == dict.fromkeys(rows, "fails"), found
    assert not any("Error" in measured for _, measured in found.values()), found


def lil_times(factor):
    """Return a sabotage that multiplies the bonus of lil'UCB."""

    def spoil(m):
        rule = uli.LilUCB.rule

        def larger(self, R=0.5):
            known = rule(self, R)
            return known._replace(factor=factor * known.factor)

        m.setattr(uli.LilUCB, "rule", larger)

    return spoil


def times(module, name, factor):
    """Return a sabotage that multiplies the result of a function."""

    def spoil(m):
        f = getattr(module, name)
        m.setattr(module, name, lambda *args: factor * f(*args))

    return spoil


def bound_times(formula, factor):
    """Return a sabotage that multiplies a proved F."""

    def spoil(m):
        known = {name: bounds.find(name) for name in bounds.names()}
        f = known[formula].at
        known[formula] = known[formula]._replace(at=lambda *args: factor * f(*args))
        m.setattr(bounds, "find", known.__getitem__)

    return spoil
