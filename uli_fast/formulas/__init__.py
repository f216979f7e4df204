"""What the pages say, each formula once: sizes of phases, widths, thresholds, levels.

A file per algorithm, of plain functions on numbers that import neither Numba nor SciPy. Kernels
compile the very same code (``formula`` of kernels/_jit.py), learners and F call it as it is. What
has no branches is written with NumPy and takes arrays too.
"""
