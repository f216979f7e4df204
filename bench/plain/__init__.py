"""The tightest plain loops: what the package has to beat, by family.

Each plays the same algorithm with the same law, one reward per round, and draws
``rng.random() < p[a]`` in the same order as the package's round engine, so both
play the same arms from the same generator (test_plain.py). A loop keeps what a
careful author would keep (means, 1/sqrt(N), the extreme bounds), and nothing
else: no record, no last plays, no events, no loss estimates. It returns the pulls
of each arm. What is all linear algebra is in NumPy.
"""
