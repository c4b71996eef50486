"""Equations you write: dynamics, relations, and the interactions that tie them to laws."""
