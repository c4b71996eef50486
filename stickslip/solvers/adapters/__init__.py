"""Adapters of third-party conic solvers, one per file; each imports its package when it is called."""
