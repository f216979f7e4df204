"""Eight classifiers raced on held-out digits, compared with evaluating all of them in full.

    python examples/race_models.py FOLDER

The models are trained once; what is saved is evaluation, as with prompts or large models, where
every answer costs. The race asks which model is right most often on the whole list of held-out
digits, stops asking models that have surely lost, and keeps every answer in a file: started
again with the same folder, it evaluates nothing twice.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import uli_fast as uli

MODELS = {
    "support vectors": SVC(gamma=0.001),
    "nearest neighbours": KNeighborsClassifier(3),
    "random forest": RandomForestClassifier(50, random_state=0),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "ridge": RidgeClassifier(),
    "naive Bayes": GaussianNB(),
    "decision tree": DecisionTreeClassifier(random_state=0),
    "stump": DecisionTreeClassifier(max_depth=3, random_state=0),
}


def main(folder: Path) -> None:
    """Train, race, and look at what the full evaluation would have said."""
    folder.mkdir(parents=True, exist_ok=True)
    X, y = load_digits(return_X_y=True)
    train, held_out, digits, truth = train_test_split(X, y, test_size=0.6, random_state=0)
    models = {name: model.fit(train, digits) for name, model in MODELS.items()}

    def right(model: Any, items: list[int]) -> list[float]:
        return [float(x) for x in model.predict(held_out[items]) == truth[items]]

    race = uli.race(
        models,
        right,
        range(len(truth)),
        delta=0.05,
        batch=20,
        batched=True,
        seed=0,
        study=folder / "race.db",
    )
    from rich.console import Console

    Console(width=100).print(race.table())
    race.report(folder / "race.html", "Eight classifiers on held-out digits")
    full = {
        name: float(np.mean(model.predict(held_out) == truth)) for name, model in models.items()
    }
    best = max(full.values())
    for name in race.active:
        print(f"{name}: on all {len(truth)} items {full[name]:.4f}, {best - full[name]:.4f} behind")
    made = f"{race.evaluations} evaluations instead of {race.full}"
    print(f"{made}; best of the full evaluation: {max(full, key=lambda x: full[x])}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "race"))
