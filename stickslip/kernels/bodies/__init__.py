"""Kernels of bodies: they call only one another, so that a change here compiles nothing else anew."""
