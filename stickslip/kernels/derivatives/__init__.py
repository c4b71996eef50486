"""Derivatives of steps: kernels of steps along directions, laws to first order, and products with rows."""
