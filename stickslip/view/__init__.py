"""Plots of what the house computes; nobody but the command line imports this room."""
