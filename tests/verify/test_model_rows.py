"""The rows on boxes of models: each can fail."""

import numpy as np
import pytest

import uli_fast as uli
from tests.verify.spoiling import CHECKS, all_fail, times
from uli_fast.guarantees import model_boxes
from uli_fast.kernels.mdp import robust
from uli_fast.learners.model_elimination import ModelRun
from uli_fast.verify import model_programs

OURS = [id for id in CHECKS if id.startswith("models-")]


def test_rows_say_that_they_are_ours():
    assert len(OURS) == 7
    assert all(CHECKS[id].statement.startswith("Ours, docs/proofs_models.md") for id in OURS)


def shorten(m, shorter):
    """Change the logarithm that decides how large boxes are."""
    rule = uli.ModelElimination.rule

    def changed(self, size):
        real = rule(self, size)
        return real._replace(log_term=shorter(real.log_term))

    m.setattr(uli.ModelElimination, "rule", changed)


def small_boxes(m):
    """Let the logarithm of boxes be a fifth of itself, or less."""
    shorten(m, lambda log_term: 0.2 * log_term - 1.0)


def boxes_a_little_small(m):
    shorten(m, lambda log_term: log_term - 0.7)


def no_intersection(m):
    """Forget all earlier boxes before each look."""
    advance = ModelRun.advance

    def forgetful(self, budget):
        boxes = self.boxes
        unknown = (boxes.size > 1)[:, None] & (np.arange(boxes.to.shape[1]) < boxes.size[:, None])
        boxes.low[unknown], boxes.high[unknown], boxes.at[:] = 0.0, 1.0, 0
        boxes.rest[boxes.size > 1] = 1.0
        return advance(self, budget)

    m.setattr(ModelRun, "advance", forgetful)


def models_outside(m):
    """Draw models of boxes that are half as wide again."""
    draw = model_programs.random_model

    def wider(boxes, rng):
        more = 0.8 * (boxes.high - boxes.low)
        low, high = np.maximum(0.0, boxes.low - more), np.minimum(1.0, boxes.high + more)
        return draw(boxes._replace(low=low, high=high, rest=1.0 - low.sum(axis=1)), rng)

    m.setattr(model_programs, "random_model", wider)


def certificates_too_small(m):
    look_log = ModelRun.look_log

    def bold(self):
        log = look_log(self)
        return log._replace(facts=log.facts * np.array([0.5, 1.0, 1.0, 1.0, 1.0]))

    m.setattr(ModelRun, "look_log", bold)


def best_lost(m):
    """Drop the first action everywhere there is a choice."""
    prepare = ModelRun.prepare

    def careless(self, *args):
        prepare(self, *args)
        left = self.view.left
        left[:, :, 0] &= left.sum(axis=2) == 1

    m.setattr(ModelRun, "prepare", careless)


@pytest.mark.parametrize(
    "spoil, rows",
    [
        (small_boxes, ("models-boxes", "models-certificate", "models-ULI")),
        (boxes_a_little_small, ("models-boxes",)),
        (no_intersection, ("models-monotone",)),
        (models_outside, ("models-values",)),
        (certificates_too_small, ("models-certificate",)),
        (best_lost, ("models-certificate", "models-ULI")),
        (times(model_boxes, "width_bound", 0.1), ("models-rate",)),
        (times(robust, "choose_within", 0.999), ("models-programme",)),
        (times(robust, "induct", 1.001), ("models-programme",)),
    ],
    ids=[
        "fifth",
        "half",
        "no intersection",
        "models outside",
        "certificate",
        "best lost",
        "rate",
        "constraint",
        "induction",
    ],
)
def test_a_sabotage_turns_the_rows(spoil, rows, monkeypatch):
    all_fail(spoil, rows, monkeypatch)
