"""Derivatives of one step of the variational scheme: rows by poses, laws by velocities and impulses."""
