"""What the pages say, each formula once: sizes of phases, widths, thresholds, levels.

A file per algorithm, of plain functions on numbers that import neither Numba nor SciPy. A kernel
that names one compiles the very same code (kernels/_jit.py); learners and F call it as it is. What
has no branches is written with NumPy and takes arrays too.
"""
