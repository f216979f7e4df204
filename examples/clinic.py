"""A three-arm trial in a clinic whose computer dies twice.

    python examples/clinic.py FOLDER

Outcomes come weeks after the treatment, and some never come: patients who fare badly come back
less often, more so under the new drug. The clinic's program knows nothing of crashes. It is
killed twice in the middle of its work and started again with the same list of patients; the
study gives every patient the treatment that was chosen for them before. At the end the file is
audited and the result written as a page.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

import uli_fast as uli

ARMS = {"usual care": 0.35, "old drug": 0.45, "new drug": 0.9}  # chance of recovery, unknown
PATIENTS, FOLLOW_UP = 700, 30  # one a day; days until an outcome counts as missing
LEARNER = uli.BettingElimination(delta=0.05)


def outcome(patient: int, arm: str) -> float | None:
    """Simulate the world: 1 for a recovery, 0 for none, None for a patient who never returns."""
    rng = np.random.default_rng([patient, list(ARMS).index(arm)])
    recovered = rng.random() < ARMS[arm]
    stays_away = 0.01 if recovered else 0.15 if arm == "new drug" else 0.05
    return None if rng.random() < stays_away else float(recovered)


def visits(patient: int) -> int:
    """Return the number of days until a patient is seen again."""
    return int(np.random.default_rng([patient, 99]).integers(1, FOLLOW_UP))


def clinic(folder: Path) -> None:
    """Treat a patient a day; it never asks whether it has done so before."""
    with uli.Study.open(folder / "trial.db", LEARNER, arms=list(ARMS)) as study:
        due: dict[int, list[tuple[int, float | None]]] = {}
        for day in range(PATIENTS + 2 * FOLLOW_UP):
            if day < PATIENTS:
                decision = study.ask(request_id=f"patient-{day}", ward="B2")
                seen = outcome(day, str(decision.arm))
                back = day + (FOLLOW_UP if seen is None else visits(day))
                due.setdefault(back, []).append((decision.id, seen))
            for id, seen in due.pop(day, []):
                if seen is None:  # nobody knows why, and nothing is assumed about it
                    study.tell_missing(id, "not seen again within the follow-up")
                else:
                    study.tell(id, seen)
            print(f"day {day} is done", flush=True)


def run(folder: Path, last_day: int | None = None) -> None:
    """Start the clinic's program; kill it at the end of the last day, if one is given."""
    command = [sys.executable, __file__, str(folder), "clinic"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line == f"day {last_day} is done\n":
                process.send_signal(signal.SIGKILL)


def finish(folder: Path) -> None:
    """Say what was found, audit the file and write the page."""
    from uli_fast.report.live import write_audit

    path = folder / "trial.db"
    with uli.Study.open(path) as study:  # the file knows its learner and arms
        study.export(folder / "trial.csv")
        counts = study.counts()
        for arm, (low, high) in study.intervals().items():
            print(f"{arm}: recovery between {low:.2f} and {high:.2f}, {counts[arm]}")
        certificate = study.certificate()
        print(
            f"in play: {', '.join(map(str, study.active))}, {certificate.bound:.2f} from the best"
        )
    audit = uli.Study.audit(path)
    print(f"audit: {audit.events} events, {len(audit.history)} decisions, chain ends {audit.head}")
    write_audit(audit, folder / "trial.html", "Three arms, two crashes")
    print(f"page: {folder / 'trial.html'}")


def main(folder: Path) -> None:
    """Run the clinic through two crashes to the end."""
    folder.mkdir(parents=True, exist_ok=True)
    run(folder, last_day=150)
    run(folder, last_day=420)
    run(folder)
    finish(folder)


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "clinic")
    clinic(target) if sys.argv[2:] == ["clinic"] else main(target)
