"""Break the package on purpose and show which test notices: ``make sabotage``.

Each sabotage is applied to a copy, with a kernel cache of its own; the named
test must fail there. It must also pass on the untouched copy, run first.
The lists are in tests/sabotage/lists, a file per topic; anchors.py says how one names its place.
"""
