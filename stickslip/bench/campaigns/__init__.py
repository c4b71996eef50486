"""Campaigns: contestants, runs, and the results file."""
