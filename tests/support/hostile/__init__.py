"""Hostile and odd files, in a child with 2 GB (``python -m tests.support.hostile``; goal B21).

A case prepares something in a folder and returns a call that must end in an error of the package
within two seconds. All of them run one after the other in a child whose address space is limited;
its peak is printed, too. ``--quick`` leaves out most of the altered states and runs.
"""
