"""A browser for the tests of this folder."""

from browser import chromium

__all__ = ["chromium"]
