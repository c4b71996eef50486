"""Recipes of the standard collection."""

from stickslip.bench.recipes import Recipe

VERSION = 1
"""Of the collection; another one has other recipes or other numbers."""

RECIPES: tuple[Recipe, ...] = (
    Recipe("stack", "boxes-5", "small", "stack", {"bodies": 5}, every=5, most=2, quick=True),
)
"""The collection, in its order."""
