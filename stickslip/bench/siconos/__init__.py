"""Siconos as a peer: its solvers in its own interpreter."""
