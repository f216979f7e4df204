"""What tests of live betting share."""

import json
import math

import uli_fast as uli

FREE = {"low": -math.inf, "high": math.inf}
FAR = {"low": 1e12, "high": 1e12 + 1.0}


def restored(player):
    return uli.restore(json.loads(json.dumps(player.state())))
