"""A step of rigid bodies as a nonlinear cone complementarity problem: geometry, linear algebra, solver, and
the nodes between steps."""
