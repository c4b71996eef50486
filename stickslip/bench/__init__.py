"""Comparing solvers on collections of problems."""
