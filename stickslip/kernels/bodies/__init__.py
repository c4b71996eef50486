"""Kernels of bodies. They call only one another, so that changes here do not recompile other kernels."""
