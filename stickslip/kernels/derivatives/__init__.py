"""Derivatives of steps: kernels of steps along directions, linearised laws, and products with rows."""
