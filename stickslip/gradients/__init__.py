"""Derivatives of a solution, of a step and of a whole run, by the implicit function theorem."""
