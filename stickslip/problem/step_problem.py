"""StepProblem: one step of rigid bodies as a nonlinear cone complementarity problem in its velocities.

With z the configuration at the start, v the velocities over the step, constant in it, and z₊ = z ⊕ h v
(straight motion, and Cayley's map of h Ω), find v and impulses r = (γ, b) with

    P(v) = p + H(z) r + G(z) lam                      P: momentum that leaves the start of the step
    0 <= γ ⟂ s = φ(z₊) - bounce >= 0                  gaps of the new configuration
    b opposes u_T = H_T(z)' v, |b| <= mu γ            Coulomb's law; groups of rolling and torsion alike
    g(z₊) = 0                                         joints; their stops as gaps, dry friction as intervals

where P(v) = (m ẋ, J Ω + (h/2) Ω × J Ω + (h²/4)(Ω·J Ω) Ω): the discrete Euler-Lagrange equations of a body
with Cayley's map (Bou-Rabee & Marsden 2009), which with p = P₋(v of the step before) + h F(z) are of second
order and keep momentum. The law with smoothing kappa: γ s = κ, (mu γ, b) ∘ (η, u_T) = κ (1, 0, 0) with the
product of the second-order cone.
"""

from dataclasses import dataclass

from stickslip.kernels.bodies import gaps
from stickslip.kernels.bodies.layout import JointArrays
from stickslip.kernels.variational.layout import ContactArrays
from stickslip.problem.checks import Array, IntArray

POINT_PLANE, SPHERES, LINEARISED = gaps.POINT_PLANE, gaps.SPHERES, gaps.LINEARISED
POINT_LINE, LINES = gaps.POINT_LINE, gaps.LINES
ROUND_PLANE, ROUND_LINE, ROUNDS = gaps.ROUND_PLANE, gaps.ROUND_LINE, gaps.ROUNDS
"""Kinds of contacts: a point or ball of the first body above a plane of the second; two balls; one whose gap
is given at the start and is forecast by its rows; a ball and a line; two lines; and something round, such as
an ellipsoid or a rim, above a plane, beside a line, and beside a ball or something round."""
MODELS = ("cone", "pyramid", "impact")
"""Contact models by name: the nonlinear friction cone, four facets in its place, and no friction at all."""
RELAXATIONS = {
    "pyramid": "pyramids in place of friction cones",
    "impact": "contacts without their friction",
}
"""What those models that are not Coulomb's law put in its place where there is friction."""
SMOOTHED = "the law smoothed with kappa = {:g}"
"""What a solver of steps that stops on the central path puts in the place of the exact law."""
SPRINGS = "springs in place of the laws"
"""What compliant contact puts in the place of the exact law."""


@dataclass(frozen=True, eq=False, slots=True)
class StepProblem:
    """One step of bodies as a nonlinear cone complementarity problem."""

    h: float
    """Length of the step [s]."""
    row: IntArray
    """Number of a body among those that move by forces, -1 for the others [-], shape (n,)."""
    q: Array
    """At the start: place and unit quaternion [m, -], shape (n, 7)."""
    v: Array
    """Of bodies with row -1 prescribed over the step, of the others those before it [m/s, rad/s], shape
    (n, 6)."""
    mass: Array
    """[kg], shape (n,)."""
    J: Array
    """In the frames of the bodies [kg m²], shape (n, 3, 3)."""
    p: Array
    """Momentum with the forces of the step, moments in the frames of the bodies at the start [N s, N m s],
    shape (n, 6)."""
    contacts: ContactArrays
    """Places that may touch at the end of the step."""
    joints: JointArrays
    """Those of the world, dry friction as its largest impulse in the step [N s, N m s]."""
    model: str = "cone"
    """One of MODELS."""


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
