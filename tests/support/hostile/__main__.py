"""Run the campaign; ``--child`` is the process with little memory."""

import sys

from tests.support.hostile.campaign import child, run

if __name__ == "__main__":
    if "--child" in sys.argv:
        sys.exit(child("--quick" in sys.argv))
    done = run("--quick" in sys.argv, 1200.0)
    print(done.stdout, done.stderr[-2000:] if done.returncode else "", sep="", end="")
    sys.exit(done.returncode)
