"""Campaigns: who takes part, what is to be run, and the file that keeps it."""
