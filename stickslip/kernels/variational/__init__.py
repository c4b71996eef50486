"""One step of rigid bodies as a nonlinear cone complementarity problem: geometry, linear algebra, solver, and
what comes before and after it."""
