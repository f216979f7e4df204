"""What Vowpal Wabbit's spanner adds to a prediction over 1000 actions, d = 20.

The same examples with and without --large_action_space; prints the difference in seconds.
"""

import json
import sys
import time

import numpy as np
import vowpalwabbit as vw

K, FEATURES, EXAMPLES = 1000, 20, 60
rng = np.random.default_rng(int(sys.argv[-1]))
points = rng.standard_normal((EXAMPLES, K, FEATURES))
points /= np.linalg.norm(points, axis=2, keepdims=True)
names = "abcdefghijklmnopqrstuvwxyz"[:FEATURES]
texts = [
    [
        "shared |s x",
        *(
            "|a " + " ".join(f"{n}:{v:.5f}" for n, v in zip(names, row, strict=True))
            for row in example
        ),
    ]
    for example in points
]


def seconds(more):
    words = "--cb_explore_adf --squarecb --quiet --noconstant --ignore_linear s "
    learner = vw.Workspace(words + more)
    parsed = [learner.parse(text) for text in texts]
    for example in parsed[:10]:
        learner.predict(example)
    begun = time.perf_counter()
    for example in parsed[10:]:
        learner.predict(example)
    return (time.perf_counter() - begun) / (EXAMPLES - 10)


wide = seconds(f"--large_action_space --max_actions {FEATURES} --thread_pool_size 1")
print(json.dumps({"seconds": wide - seconds(""), "whole": wide}))
