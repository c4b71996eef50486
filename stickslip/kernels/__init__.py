"""Numerical kernels: arrays in, arrays out, compiled by Numba or run as plain Python."""
