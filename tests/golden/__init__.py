"""What must not change while the house is rebuilt.

Digests of what every registered example does: simulated, live, over the wire and in words.
``python -m tests.golden`` says which differ from digests.json, ``python -m tests.golden show
NAME`` prints what one is of (compare that of two checkouts), and ``python -m tests.golden write``
takes what there is as right, which a change listed under Breaking alone may.
"""
