"""Kernels of the block factorisations: ordering, symbolic, numeric, each arrays in, arrays out."""
