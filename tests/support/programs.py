"""Programs that some tests need, and that need not be installed.

ULI_TESTS_WITHOUT="postgresql chromium" lets tests believe that these are not: as ``tests.portable``
does, to see that the others are green without them.
"""

import os


def hidden(name):
    """Return whether tests have to do without a program."""
    return name in os.environ.get("ULI_TESTS_WITHOUT", "").split()
