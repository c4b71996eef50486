"""Solvers: one method family per file, by name in the registry."""
