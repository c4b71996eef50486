"""StepPoint: an answer of a step with everything that its equations speak of, for those who differentiate
it."""

from dataclasses import dataclass

from stickslip.problem.checks import Array


@dataclass(frozen=True, eq=False, slots=True)
class StepPoint:
    """A point on (kappa > 0) or at the end of (kappa = 0) the central path of a StepProblem.

    Components are those of r in `step_tangent`. With u the slip velocities at v:
    gaps γ s = kappa; groups of friction (mu γ, b) ∘ (η, u_T) = kappa (1, 0, 0); dry friction of joints
    (f, b) ∘ (η, u) = kappa (1, 0): one number kappa, in N s m for gaps (N m s rad for turning stops) and in
    N s m/s for friction.
    """

    v: Array
    """Velocities of the moving bodies, in the order of `row` [m/s, rad/s], shape (6 nd,)."""
    r: Array
    """Impulses: γ of contacts and stops, b of their groups and of dry friction, λ of what joints hold
    [N s, N m s], shape (n,)."""
    slack: Array
    """At the component of γ its gap s = φ(z₊) - bounce [m, rad]; at the first component of a group of
    friction, and of dry friction, its η [m/s, rad/s]; elsewhere 0; shape (n,)."""
    facets: Array
    """Of the model `pyramid`, at the first component of a group of two: β (4) [N s], their slacks ψ + d·u (4)
    [m/s], ψ [m/s] and mu γ - Σβ [N s]; otherwise of no rows; shape (n, 10) or (0, 10)."""
    kappa: float
    """On the central path [N s m, N s m/s]; 0 at its end."""
