"""Runs in warm processes under limits, and executors of many runs."""
