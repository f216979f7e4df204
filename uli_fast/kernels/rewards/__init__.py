"""How kernels draw rewards: laws, sums, blocks."""
