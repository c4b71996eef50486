"""One step of rigid bodies as a nonlinear cone complementarity problem: geometry, linear algebra, interior
point.

The only kernels that call those of other folders, `kernels/` and `kernels/bodies/`; so they are compiled
through `compiled.py`, which knows of it.
"""
