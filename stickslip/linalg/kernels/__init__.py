"""Kernels of the block factorisations: ordering, symbolic and numeric factorisation, solves."""
