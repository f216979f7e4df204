"""``python -m tests.golden [show NAME | write]``."""

import json
import sys

from tests.golden.facts import computed, digest, facts
from tests.golden.test_golden import KEPT


def main(what="check", name=""):
    """Compare, show or write digests."""
    if what == "show":
        print(json.dumps(computed(name), indent=1, sort_keys=True))
        return 0
    found = {each: digest(computed(each)) for each in facts()}
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    differ = sorted(each for each in found | kept if found.get(each) != kept.get(each))
    print(*differ, f"{len(differ)} of {len(found)} differ", sep="\n")
    if what == "write":
        KEPT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        return 0
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
