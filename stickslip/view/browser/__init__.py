"""Worlds in the browser: a stage of what is drawn, and those who draw it with viser."""
