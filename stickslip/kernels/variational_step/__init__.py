"""Compiled parts of a step of the variational scheme beside its solver: its data, and what it leaves."""
