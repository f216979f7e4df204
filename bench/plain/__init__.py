"""The tightest plain loops: what the package has to beat, by family.

Each plays the same algorithm with the same law, one reward per round, and draws
rewards from the same words in the same order as the package's round engine, so both
play the same arms (test_plain.py). A loop keeps what a careful author would keep
(means, 1/sqrt(N), the extreme bounds, the words of its stream in registers), and nothing
else: no record, no last plays, no events, no loss estimates. It returns the pulls
of each arm. What is all linear algebra is in NumPy, and so are replications side by side:
they draw from a NumPy generator.
"""
