"""Numba kernels: plain arrays in, plain arrays changed.

A kernel checks nothing, chooses no default, seeds nothing and allocates
nothing per round. Letters are the paper's; shapes are glossed where a state is
declared.
"""
