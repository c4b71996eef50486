"""Adapters of other people's conic solvers, one per file; each imports its package when it is called."""
