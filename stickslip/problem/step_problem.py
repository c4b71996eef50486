"""StepProblem: one step of rigid bodies as a nonlinear cone complementarity problem in its velocities.

With the configuration z at the start, velocities v that are constant over the step, and z₊ = z ⊕ h v
(translation, and Cayley's map of h Ω), find v and impulses r = (γ, b) with

    P(v) = p + H(z) r + G(z) lam                      P: discrete momentum at the start of the step
    0 <= γ ⟂ s = φ(z₊) - bounce >= 0                  gaps of the new configuration
    b opposes u_T = H_T(z)' v, |b| <= mu γ            Coulomb's law; groups of rolling and torsion alike
    g(z₊) = 0                                         joints; their stops as gaps, dry friction as intervals

where P(v) = (m ẋ, J Ω + (h/2) Ω × J Ω + (h²/4)(Ω·J Ω) Ω): the discrete Euler-Lagrange equations of a body
with Cayley's map (Bou-Rabee & Marsden 2009). With p = P₋(v of the previous step) + h F(z) they are of second
order and conserve momentum. The law with smoothing kappa: γ s = κ, (mu γ, b) ∘ (η, u_T) = κ (1, 0, 0) with
the product of the second-order cone.
"""

from dataclasses import dataclass

from stickslip.kernels.bodies import gaps
from stickslip.kernels.bodies.layout import JointArrays
from stickslip.kernels.variational.layout import ContactArrays
from stickslip.problem.checks import Array, IntArray

POINT_PLANE, SPHERES, LINEARISED = gaps.POINT_PLANE, gaps.SPHERES, gaps.LINEARISED
POINT_LINE, LINES = gaps.POINT_LINE, gaps.LINES
ROUND_PLANE, ROUND_LINE, ROUNDS = gaps.ROUND_PLANE, gaps.ROUND_LINE, gaps.ROUNDS
"""Kinds of contacts: a point or ball of the first body and a plane of the second; two balls; a contact with
given gap at the start and linearised gap; a ball and a line; two lines; and a round shape, such as an
ellipsoid or a rim, with a plane, with a line, and with a ball or another round shape."""
MODELS = ("cone", "pyramid", "impact")
"""Names of contact models: the nonlinear friction cone, a pyramid of four facets, and no friction."""
RELAXATIONS = {
    "pyramid": "pyramids in place of friction cones",
    "impact": "contacts without their friction",
}
"""Laws of the models that replace Coulomb's law, if there is friction."""
SMOOTHED = "the law smoothed with kappa = {:g}"
"""Law that replaces the exact one for a solver that stops on the central path."""
SPRINGS = "springs in place of the laws"
"""Law that replaces the exact one for compliant contact."""


@dataclass(frozen=True, eq=False, slots=True)
class StepProblem:
    """One step of bodies as a nonlinear cone complementarity problem."""

    h: float
    """Length of the step [s]."""
    row: IntArray
    """Index of a body among those that move by forces, -1 for the others [-], shape (n,)."""
    q: Array
    """Position and unit quaternion at the start [m, -], shape (n, 7)."""
    v: Array
    """Velocities: prescribed over the step for bodies with row -1, before the step for others [m/s, rad/s],
    shape (n, 6)."""
    mass: Array
    """Mass [kg], shape (n,)."""
    J: Array
    """Inertia in the body frames [kg m²], shape (n, 3, 3)."""
    p: Array
    """Momentum with the forces of the step, moments in the frames of the bodies at the start [N s, N m s],
    shape (n, 6)."""
    contacts: ContactArrays
    """Contacts that may close at the end of the step."""
    joints: JointArrays
    """Joints of the world, dry friction as its largest impulse in the step [N s, N m s]."""
    model: str = "cone"
    """Contact model, one of MODELS."""


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
    """Impulses: γ of contacts and stops, b of their groups and of dry friction, λ of joint constraints
    [N s, N m s], shape (n,)."""
    slack: Array
    """Gap s = φ(z₊) - bounce [m, rad] at the component of γ; η [m/s, rad/s] at the first component of a group
    of friction and of dry friction; 0 elsewhere; shape (n,)."""
    facets: Array
    """For the model `pyramid`, at the first component of a group of two: β (4) [N s], their slacks ψ + d·u
    (4) [m/s], ψ [m/s] and mu γ - Σβ [N s]; without rows for other models; shape (n, 10) or (0, 10)."""
    kappa: float
    """Parameter of the central path [N s m, N s m/s]; 0 at its end."""
