"""Waiting for what must happen: as long as it takes, and not for ever.

No test looks at a clock to see whether something was quick enough, and none waits by a limit of
its own: on a slow or a busy machine everything takes longer. What hangs is given up in the end.
"""

import time

PATIENCE = 1800.0  # seconds


def wait_until(there, missing=lambda: "it did not happen"):
    """Wait until a function returns something, and return that; missing says what else is wrong."""
    end = time.monotonic() + PATIENCE
    while not (found := there()):
        assert time.monotonic() < end, missing()
        time.sleep(0.005)
    return found
