"""One step of rigid bodies as a nonlinear cone complementarity problem: geometry, linear algebra, solver.

They call kernels of `kernels/bodies/` too; so they are compiled through `compiled.py`, which knows of it.
"""
