"""Named tuples of arrays: the arguments of the kernels of bodies."""

from typing import NamedTuple

from stickslip.kernels.cones import Cones
from stickslip.state import Array, IntArray


class BodyArrays(NamedTuple):
    """Bodies of a world: constants of a run."""

    row: IntArray
    """Index among the dynamic bodies, -1 for other bodies [-], shape (n,)."""
    mass: Array
    """Masses [kg], shape (n,)."""
    J: Array
    """Inertia in the body frame [kg m²], shape (n, 3, 3)."""
    J_inverse: Array
    """Inverse of J; 0 for bodies without dynamics [1/(kg m²)], shape (n, 3, 3)."""
    gravity: Array
    """Acceleration of gravity [m/s²], shape (3,)."""
    radius: Array
    """Radii of bounding balls about the centres of mass; inf for planes [m], shape (n,)."""
    M: Array
    """Mass matrices of the dynamic bodies [kg, kg m²], shape (nd, 6, 6)."""
    root: Array
    """F with M⁻¹ = F F' of each dynamic body [1/√kg, 1/(√kg m)], shape (nd, 6, 6)."""


class Blocks(NamedTuple):
    """Rows of H' over pairs of bodies, in blocks: contacts, and constraints of joints."""

    sides: IntArray
    """First and second body, -1 for the inertial frame [-], shape (nb, 2)."""
    offset: IntArray
    """Index of the first row of each block, and the number of rows [-], shape (nb + 1,)."""
    rows: Array
    """Rows over both sides, including bodies without dynamics [-, m], shape (p, 2, 6)."""


class Span(NamedTuple):
    """Time interval of a step."""

    h: float
    """Time step [s]."""
    reach: float
    """θ h, from the configuration of contact detection to the end of the step [s]."""


class FreeMotion(NamedTuple):
    """Motion to the middle of a step, and the velocity there after all forces but without impulses."""

    q: Array
    """Poses at the start [m, -], shape (n, 7)."""
    v: Array
    """Velocities at the start [m/s, rad/s], shape (n, 6)."""
    q_m: Array
    """Poses at the middle, where contacts are detected [m, -], shape (n, 7)."""
    v_start: Array
    """Velocities there, after the first part of the free motion [m/s, rad/s], shape (n, 6)."""
    v_free: Array
    """Velocities there, after the forces of the whole step [m/s, rad/s], shape (n, 6)."""
    F: Array
    """Forces other than gravity, by kind; (3, 0, 6) for none [N, N m], shape (3, n, 6)."""


class Energies(NamedTuple):
    """Energies at both ends of a step, and work during the step [J]."""

    kinetic_before: float
    kinetic: float
    weight_before: float
    """Potential energy of gravity."""
    weight: float
    lost: float
    """Energy that contacts and joints dissipated."""
    driven: float
    """Work of bodies without dynamics through contacts, joints, springs and dampers."""
    damped: float
    """Energy that dampers dissipated."""
    worked: float
    """Work of other forces."""


class Overlaps(NamedTuple):
    """Overlaps of contacts at the end of a step, and the shifts that a correction must make."""

    depth: Array
    """Overlap of each contact; negative for a gap [m], shape (nc,)."""
    need: Array
    """Required shift of each contact [m], shape (nc,)."""
    deepest: float
    """Largest overlap [m], >= 0."""
    largest: float
    """Largest required shift [m], >= 0."""


class Budget(NamedTuple):
    """Limits of a position correction."""

    reserve: float
    """Largest energy that it may add [J]."""
    sweeps: int
    """Largest number of sweeps; 0 for no correction."""
    size: float
    """Radius of the smallest shape [m]."""
    least_weight: float
    """Smallest weight of a dynamic body [N]."""


class SpringArrays(NamedTuple):
    """Springs, with dampers in parallel."""

    body: IntArray
    """First and second body, -1 for the inertial frame [-], shape (ns, 2)."""
    point: Array
    """Attachment points in body frames [m], shape (ns, 2, 3)."""
    stiffness: Array
    """Stiffness [N/m], shape (ns,)."""
    length: Array
    """Lengths at rest [m], shape (ns,)."""
    damping: Array
    """Damping coefficients [N s/m], shape (ns,)."""


class DamperArrays(NamedTuple):
    """Dampers of the relative velocity and the relative angular velocity of two bodies."""

    body: IntArray
    """First and second body, -1 for the inertial frame [-], shape (nd, 2)."""
    point: Array
    """Points of action in the frame of the first body [m], shape (nd, 3)."""
    linear: Array
    """Coefficients of relative velocity [N s/m], shape (nd,)."""
    angular: Array
    """Coefficients of relative angular velocity [N m s], shape (nd,)."""


class PushArrays(NamedTuple):
    """Constant forces on bodies."""

    body: IntArray
    """Bodies [-], shape (np,)."""
    point: Array
    """Points of action in body frames [m], shape (np, 3)."""
    wrench: Array
    """Force and moment in the inertial frame [N, N m], shape (np, 6)."""


class ForceArrays(NamedTuple):
    """Forces other than gravity that are computed in kernels, from `mechanics.forces.Forces`."""

    springs: SpringArrays
    dampers: DamperArrays
    pushes: PushArrays


class JointArrays(NamedTuple):
    """Joints, from `mechanics.joints.Joints`."""

    kind: IntArray
    """Types of joints [-], shape (nj,)."""
    body: IntArray
    """First and second body, -1 for the inertial frame [-], shape (nj, 2)."""
    point: Array
    """Points in the frames of the bodies [m], shape (nj, 2, 3)."""
    frame: Array
    """Rows n, t1, t2 in the frames of the bodies [-], shape (nj, 2, 3, 3)."""
    length: Array
    """Lengths of distance joints [m], shape (nj,)."""
    lower: Array
    """Lower stops of the displacement s and of the angle [m, rad], shape (nj, 2)."""
    upper: Array
    """Upper stops [m, rad], shape (nj, 2)."""
    friction: Array
    """Dry friction of sliding and turning [N, N m], or its impulse in a step [N s, N m s], shape (nj, 2)."""
    bounce: Array
    """Restitution of stops [-], shape (nj,); in steps of the variational scheme the smallest opening of stops
    at the end of the step [m, rad], shape (nj, 2, 2)."""


class EffortArrays(NamedTuple):
    """Constant efforts of actuators."""

    joint: IntArray
    """Joints [-], shape (k,)."""
    column: IntArray
    """0 for a force along the joint, 1 for a moment about its axis [-], shape (k,)."""
    effort: Array
    """Forces and moments [N, N m], shape (k,)."""


class Linkage(NamedTuple):
    """Joints of a world and the efforts in them."""

    joints: JointArrays
    efforts: EffortArrays
    length: Array
    """Characteristic length: turning a joint is about as hard as shifting it [m], shape (nj,)."""
    reach: Array
    """Distance from the centres of mass of the dynamic sides to beyond the points [m], shape (nj,)."""
    pair_start: IntArray
    """Index in `paired` of the first joint of each pair of bodies that several joints connect, and the
    number of all [-], shape (k + 1,)."""
    paired: IntArray
    """Joints whose bodies are connected by other joints as well [-], shape (pair_start[-1],)."""


class LastJoints(NamedTuple):
    """Blocks of joints in the previous step: initial impulses of a step."""

    id: Array
    """Identifiers, whole numbers, increasing [-], shape (m,)."""
    size: Array
    """Rows of each block, whole numbers [-], shape (m,)."""
    r: Array
    """Impulses [N s, N m s], shape (sum of `size`,)."""


class JointRowArrays(NamedTuple):
    """Blocks of joints in a step, as in `schemes.body_joints.JointRows`, and work arrays for them."""

    bodies: IntArray
    """First and second body of each block, -1 for the inertial frame [-], shape (m, 2)."""
    rows: Array
    """Rows over both sides [-, m], shape (n, 2, 6)."""
    size: IntArray
    """Number of rows of each block [-], shape (m,)."""
    kind: IntArray
    """Types of the cones of the blocks [-], shape (m,)."""
    low: Array
    """Lower bounds of impulses [N s, N m s], shape (m,)."""
    high: Array
    """Upper bounds of impulses [N s, N m s], shape (m,)."""
    bias: Array
    """Bias of each row [m/s, rad/s], shape (n,)."""
    bounce: Array
    """Part of the bias due to restitution [m/s, rad/s], shape (n,)."""
    error: Array
    """Error of a constraint or gap of a stop [m, rad], shape (n,)."""
    forecast: Array
    """Predicted gap of a stop at the end of the step; -inf for other rows [m, rad], shape (n,)."""
    joint: IntArray
    """Joint of each block [-], shape (m,)."""
    part: IntArray
    """Part of the joint that the block is of [-], shape (m,)."""


class Contacts(NamedTuple):
    """Contacts between shapes, as in `detection.contacts.ContactSet`."""

    id: IntArray
    """Identifiers, increasing [-], shape (nc,)."""
    shape: IntArray
    """First and second shape [-], shape (nc, 2)."""
    body: IntArray
    """First and second body [-], shape (nc, 2)."""
    point: Array
    """Points midway between the surfaces [m], shape (nc, 3)."""
    frame: Array
    """Contact frames: rows n, t1, t2 [-], shape (nc, 3, 3)."""
    gap: Array
    """Signed distances along n [m], shape (nc,)."""
    law: Array
    """Parameters mu, mu_roll, mu_spin, e [-, m, m, -], shape (nc, 4)."""


class LastContacts(NamedTuple):
    """Contacts of the previous step: identifiers and initial impulses of a step."""

    id: Array
    """Identifiers, whole numbers, increasing [-], shape (m,)."""
    local: Array
    """Points in the frames of the two bodies [m], shape (m, 2, 3)."""
    frame: Array
    """Contact frames: rows n, t1, t2 [-], shape (m, 3, 3)."""
    r: Array
    """Impulses N, T1, T2, rolling about t1, t2, torsion about n [N s, N m s], shape (m, 6)."""


class Active(NamedTuple):
    """Active contacts of a step, as blocks of a contact problem with p components."""

    contacts: Contacts
    """The active contacts."""
    local: Array
    """Their points in the frames of the two bodies [m], shape (nc, 2, 3)."""
    rows_of_M: IntArray
    """Indices of both bodies among the dynamic ones, -1 for other bodies [-], shape (nc, 2)."""
    K: Cones
    """Cones of the impulses."""
    u_bias: Array
    """Bias due to restitution, gaps and bodies without dynamics [m/s, rad/s], shape (p,)."""
    guess: Array
    """Initial impulses, from the previous step [N s, N m s], shape (p,)."""
    approach: Array
    """Normal velocities before the step [m/s], shape (nc,)."""
    rows: Array
    """Rows of H' over both sides, including bodies without dynamics [-, m], shape (p, 2, 6)."""


class Acting(NamedTuple):
    """Blocks of the contact problem of a step with p components: pc of contacts, then those of joints."""

    sides: IntArray
    """First and second body, -1 for the inertial frame [-], shape (nb, 2)."""
    rows_of_M: IntArray
    """Indices of both bodies among the dynamic ones, -1 for other bodies [-], shape (nb, 2)."""
    K: Cones
    """Cones of the impulses."""
    u_bias: Array
    """Bias [m/s], shape (p,)."""
    guess: Array
    """Initial impulses [N s], shape (p,)."""
    rows: Array
    """Rows of H' over both sides [-, m], shape (p, 2, 6)."""
    unit: Array
    """Factors of the rows of joints: a length for rotations, so that all components have the same unit and
    residuals weigh rotations as translations [-, m], shape (p - pc,)."""


class Carried(NamedTuple):
    """Data that a step takes over from the previous one."""

    contacts: LastContacts
    joints: LastJoints
    reserve: float
    """Energy that position corrections may add [J]."""
