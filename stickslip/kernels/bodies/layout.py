"""Arrays that belong together, as kernels of bodies take them."""

from typing import NamedTuple

from stickslip.kernels.cones import Cones
from stickslip.state import Array, IntArray


class BodyArrays(NamedTuple):
    """Bodies of a world: what does not change from step to step."""

    row: IntArray
    """Place among the dynamic bodies, -1 for the others [-], shape (n,)."""
    mass: Array
    """[kg], shape (n,)."""
    J: Array
    """Inertia in the body's frame [kg m²], shape (n, 3, 3)."""
    J_inverse: Array
    """0 where a body is not dynamic [1/(kg m²)], shape (n, 3, 3)."""
    gravity: Array
    """[m/s²], shape (3,)."""
    radius: Array
    """Of balls about the centres of mass that hold the bodies [m], shape (n,); inf for planes."""
    M: Array
    """Mass matrices of the dynamic bodies [kg, kg m²], shape (nd, 6, 6)."""
    root: Array
    """F with M⁻¹ = F F' of each [1/√kg, 1/(√kg m)], shape (nd, 6, 6)."""


class Blocks(NamedTuple):
    """Rows of H' over pairs of bodies: contacts, and what joints hold, in blocks."""

    sides: IntArray
    """First and second body, -1 for the inertial frame [-], shape (nb, 2)."""
    offset: IntArray
    """First row of each block, and the number of all [-], shape (nb + 1,)."""
    rows: Array
    """Over both sides, whether they are dynamic or not [-, m], shape (p, 2, 6)."""


class Span(NamedTuple):
    """The time of a step."""

    h: float
    """Its length [s]."""
    reach: float
    """θ h, from where contacts are looked for to its end [s]."""


class FreeMotion(NamedTuple):
    """The motion of a step up to its middle, and what forces alone would make of it."""

    q: Array
    """At the start [m, -], shape (n, 7)."""
    v: Array
    """At the start [m/s, rad/s], shape (n, 6)."""
    q_m: Array
    """At the middle, where contacts are looked for [m, -], shape (n, 7)."""
    v_start: Array
    """There, after the first part of the free motion [m/s, rad/s], shape (n, 6)."""
    v_free: Array
    """There, after the forces of the whole step, if nothing touches [m/s, rad/s], shape (n, 6)."""
    F: Array
    """Forces beside gravity by kind [N, N m], shape (3, n, 6); (3, 0, 6) where there are none."""


class Energies(NamedTuple):
    """Energy at both ends of a step, and where it went in it [J]."""

    kinetic_before: float
    kinetic: float
    weight_before: float
    """Potential of gravity."""
    weight: float
    lost: float
    """What blocks took."""
    driven: float
    """What bodies that are not dynamic gave through blocks, springs and dampers."""
    damped: float
    """What dampers took."""
    worked: float
    """What other forces gave."""


class Overlaps(NamedTuple):
    """How deep contacts are at the end of a step, and how far a correction is to move them."""

    depth: Array
    """Negative where there is a gap [m], shape (nc,)."""
    need: Array
    """[m], shape (nc,)."""
    deepest: float
    """[m], >= 0."""
    largest: float
    """Need [m], >= 0."""


class Budget(NamedTuple):
    """What a position correction may cost."""

    reserve: float
    """Energy [J]."""
    sweeps: int
    """Most of them; 0 for no correction."""
    size: float
    """Radius of the smallest shape [m]."""
    least_weight: float
    """Of a dynamic body [N]."""


class SpringArrays(NamedTuple):
    """Springs, with dampers along them."""

    body: IntArray
    """First and second body, -1 for the inertial frame [-], shape (ns, 2)."""
    point: Array
    """In the frames of the bodies [m], shape (ns, 2, 3)."""
    stiffness: Array
    """[N/m], shape (ns,)."""
    length: Array
    """At rest [m], shape (ns,)."""
    damping: Array
    """[N s/m], shape (ns,)."""


class DamperArrays(NamedTuple):
    """Drag against relative velocity and spin."""

    body: IntArray
    """First and second body, -1 for the inertial frame [-], shape (nd, 2)."""
    point: Array
    """In the frame of the first body [m], shape (nd, 3)."""
    linear: Array
    """[N s/m], shape (nd,)."""
    angular: Array
    """[N m s], shape (nd,)."""


class PushArrays(NamedTuple):
    """Constant forces on bodies."""

    body: IntArray
    """[-], shape (np,)."""
    point: Array
    """Where they act, in the frames of the bodies [m], shape (np, 3)."""
    wrench: Array
    """Force and moment, both inertial [N, N m], shape (np, 6)."""


class ForceArrays(NamedTuple):
    """Forces beside gravity that need no Python, as `mechanics.forces.Forces` has them."""

    springs: SpringArrays
    dampers: DamperArrays
    pushes: PushArrays


class JointArrays(NamedTuple):
    """Joints, as `mechanics.joints.Joints` has them."""

    kind: IntArray
    """[-], shape (nj,)."""
    body: IntArray
    """First and second body, -1 for the inertial frame [-], shape (nj, 2)."""
    point: Array
    """In the frames of the bodies [m], shape (nj, 2, 3)."""
    frame: Array
    """Rows n, t1, t2 in the frames of the bodies [-], shape (nj, 2, 3, 3)."""
    length: Array
    """Of distance joints [m], shape (nj,)."""
    lower: Array
    """Stops of s and of the angle [m, rad], shape (nj, 2)."""
    upper: Array
    """[m, rad], shape (nj, 2)."""
    friction: Array
    """Dry friction against sliding and turning [N, N m], or over a step [N s, N m s], shape (nj, 2)."""
    bounce: Array
    """Of stops: restitution [-], shape (nj,), or in a step of the variational scheme how far they must open
    [m, rad], shape (nj, 2, 2)."""


class EffortArrays(NamedTuple):
    """Constant efforts of actuators."""

    joint: IntArray
    """[-], shape (k,)."""
    column: IntArray
    """0 along the joint, 1 about its axis [-], shape (k,)."""
    effort: Array
    """[N, N m], shape (k,)."""


class Linkage(NamedTuple):
    """Joints of a world and what acts along them."""

    joints: JointArrays
    efforts: EffortArrays
    length: Array
    """At which turning a joint is as hard as shifting it, about [m], shape (nj,)."""
    reach: Array
    """Of the dynamic sides of a joint, from their centres of mass to beyond its points [m], shape (nj,)."""
    pair_start: IntArray
    """First in `paired` of the joints between each two bodies that several joints hold, and the number of all
    [-], shape (k + 1,)."""
    paired: IntArray
    """Joints that hold bodies which others hold as well [-], shape (pair_start[-1],)."""


class LastJoints(NamedTuple):
    """Blocks of joints of the step before, from which those of a step take their first impulses."""

    id: Array
    """Whole numbers, increasing [-], shape (m,)."""
    size: Array
    """Rows of each block, whole numbers [-], shape (m,)."""
    r: Array
    """[N s, N m s], shape (sum of `size`,)."""


class JointRowArrays(NamedTuple):
    """Blocks of joints in a step, as `schemes.body_joints.JointRows` has them, and room for more."""

    bodies: IntArray
    """[-], shape (m, 2)."""
    rows: Array
    """[-, m], shape (n, 2, 6)."""
    size: IntArray
    """Rows of each block [-], shape (m,)."""
    kind: IntArray
    """[-], shape (m,)."""
    low: Array
    """[N s, N m s], shape (m,)."""
    high: Array
    """[N s, N m s], shape (m,)."""
    bias: Array
    """[m/s, rad/s], shape (n,)."""
    bounce: Array
    """Its part by restitution [m/s, rad/s], shape (n,)."""
    error: Array
    """[m, rad], shape (n,)."""
    forecast: Array
    """Gap of a stop at the end of the step; -inf for other rows [m, rad], shape (n,)."""
    joint: IntArray
    """[-], shape (m,)."""
    part: IntArray
    """[-], shape (m,)."""


class Contacts(NamedTuple):
    """Where shapes touch, as `detection.contacts.ContactSet` has it."""

    id: IntArray
    """[-], shape (nc,), increasing."""
    shape: IntArray
    """First and second shape [-], shape (nc, 2)."""
    body: IntArray
    """First and second body [-], shape (nc, 2)."""
    point: Array
    """Midway between the surfaces [m], shape (nc, 3)."""
    frame: Array
    """Rows n, t1, t2 [-], shape (nc, 3, 3)."""
    gap: Array
    """Signed distance along n [m], shape (nc,)."""
    law: Array
    """mu, mu_roll, mu_spin, e [-, m, m, -], shape (nc, 4)."""


class LastContacts(NamedTuple):
    """Contacts of the step before, from which those of a step take their names and their first impulses."""

    id: Array
    """Whole numbers, increasing [-], shape (m,)."""
    local: Array
    """Points in the frames of the two bodies [m], shape (m, 2, 3)."""
    frame: Array
    """Rows n, t1, t2 [-], shape (m, 3, 3)."""
    r: Array
    """Impulses N, T1, T2, rolling about t1, t2, torsion about n [N s, N m s], shape (m, 6)."""


class Active(NamedTuple):
    """Contacts that take part in a step, as blocks of a contact problem over p components."""

    contacts: Contacts
    """Those that take part."""
    local: Array
    """Their points in the frames of the two bodies [m], shape (nc, 2, 3)."""
    rows_of_M: IntArray
    """Dynamic bodies that each acts on, -1 for a side that does not answer [-], shape (nc, 2)."""
    K: Cones
    """Where impulses live."""
    u_bias: Array
    """What restitution, gaps and sides that do not answer prescribe [m/s, rad/s], shape (p,)."""
    guess: Array
    """Impulses of the last step [N s, N m s], shape (p,)."""
    approach: Array
    """Normal velocities before the step [m/s], shape (nc,)."""
    rows: Array
    """H' over both sides, of those too that do not answer [-, m], shape (p, 2, 6)."""


class Acting(NamedTuple):
    """Contacts of a step, and after them what joints do, as blocks of one problem over p components."""

    sides: IntArray
    """First and second body, -1 for the inertial frame [-], shape (nb, 2)."""
    rows_of_M: IntArray
    """Dynamic bodies that each acts on, -1 for a side that does not answer [-], shape (nb, 2)."""
    K: Cones
    """Where impulses live."""
    u_bias: Array
    """[m/s], shape (p,)."""
    guess: Array
    """[N s], shape (p,)."""
    rows: Array
    """H' over both sides [-, m], shape (p, 2, 6)."""
    unit: Array
    """What rows of joints are multiplied by: lengths where they turn, so that one problem has one unit and
    residuals weigh turning as they weigh sliding [-, m], of joints alone, shape (p - pc,)."""


class Carried(NamedTuple):
    """What a step takes over from the one before."""

    contacts: LastContacts
    joints: LastJoints
    reserve: float
    """What corrections may cost [J]."""
