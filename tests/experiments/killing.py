"""Run an experiment, killing it at random moments: ``python -m tests.experiments.killing``.

Processes are forked with imports and kernels in memory: what is killed twenty times need not begin
with them each time. So nothing here may start a thread.
"""

import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

from tests.experiments.watching import parts_in
from uli_fast import experiments
from uli_fast.cli import main as uli

LONG = """
horizon = 2_000_000
replications = 60
engine = "rounds"

[problems.tie]
type = "BernoulliBandit"
means = [0.5, 0.5]

[learners.UCB]
type = "UCB"

[learners.SE]
type = "SuccessiveElimination"
"""


def begun(words):
    """Begin a command in a process of its own; return its number."""
    pid = os.fork()
    if not pid:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            uli.main(words)
        except SystemExit as end:
            os._exit(end.code)
        except BaseException:
            traceback.print_exc()
        os._exit(70)
    return pid


def killed_again_and_again(folder, results, kills, rng):
    """Run the experiment to its end; return how often it was killed on the way."""
    words = ["run", str(folder / "experiment.toml"), "--out", str(results), "--resume"]
    words += ["--keep-every", "0.02", "--jobs", "2"]
    killed = 0
    while True:
        before, status = parts_in(results), (0, 0)
        pid = begun(words)
        # Not before something was written: fixed delays may never let it get anywhere.
        while not status[0] and (parts_in(results) <= before or killed == kills):
            time.sleep(0.005)
            status = os.waitpid(pid, os.WNOHANG)
        if not status[0]:
            time.sleep(rng.uniform(0.0, 0.15))
            os.kill(pid, signal.SIGKILL)
            status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status[1])
        if code == 0:
            return killed
        if code != -signal.SIGKILL:
            sys.exit(f"the experiment ended by itself, with {code}")
        killed += 1


def main(folder, kills, seed):
    short = experiments.ExperimentFile.parse(LONG.replace("2_000_000", "1000"))
    experiments.run(short, folder / "short", replications=1, progress=False)
    (folder / "experiment.toml").write_text(LONG)
    rng, killed, runs = random.Random(seed), 0, 0
    while killed < kills:  # a fast machine ends a run before, and begins another one
        killed += killed_again_and_again(folder, folder / f"run-{runs}", kills - killed, rng)
        runs += 1
    print(killed)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
