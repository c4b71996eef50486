"""Data of a robot for its kernels: addresses in MuJoCo's model and data, views of their arrays, settings."""

from typing import NamedTuple

from stickslip.kernels.steps.guard import Guard
from stickslip.kernels.steps.tables import ContactTable, JointTable
from stickslip.state import Array, IntArray

EQUALITY, DRY_FRICTION, LIMIT, CONTACT = range(4)
"""Types of the blocks of a robot's contact problem."""
(
    NATURAL, NATURAL_SCALED, ITERATIONS, PENETRATION, OPENING, CORRECTION, KINETIC, POTENTIAL, DISSIPATED,
    WORK, LIFTED, BALANCE,
) = range(12)  # fmt: skip
"""Columns of `Room.numbers`, one row per step: residuals of the judge [-], iterations; deepest overlap and
largest opening at the end of the step, largest correction [m, rad]; terms of the energy balance [J]."""
NUMBERS = 12
"""Number of these columns."""
LAW_RESTITUTION, LAW_CONDIM, LAWS = 5, 6, 7
"""Columns of `Laws.law` after the five coefficients of friction, and the number of columns."""


class Functions(NamedTuple):
    """Addresses of MuJoCo's C functions."""

    kinematics: int
    com_pos: int
    camlight: int
    tendon: int
    make_m: int
    factor_m: int
    collision: int
    make_constraint: int
    reference: int
    transmission: int
    sensor_pos: int
    energy_pos: int
    fwd_velocity: int
    sensor_vel: int
    fwd_actuation: int
    fwd_acceleration: int
    smooth_vel: int
    sensor_acc: int
    euler: int
    solve_m: int
    integrate_pos: int


class Places(NamedTuple):
    """Addresses of members of mjData (integers and pointers), and byte offsets of members of mjContact.

    Members without a docstring have the meaning of MuJoCo's members of the same name.
    """

    ncon: int
    ne: int
    nf: int
    nefc: int
    efc_type: int
    efc_id: int
    efc_J_rownnz: int
    efc_J_rowadr: int
    efc_J_colind: int
    efc_J: int
    efc_pos: int
    efc_margin: int
    efc_frictionloss: int
    efc_force: int
    contact: int
    narena: int
    """Size of the arena, which holds contacts, constraints and MuJoCo's stack [bytes]."""
    parena: int
    """Number of bytes of the arena in use."""
    maxuse_arena: int
    """Largest number of bytes of the arena that have been in use."""
    pstack: int
    """Number of bytes of the stack in use."""
    pbase: int
    """Start of the current stack frame."""
    time: int
    """Time of the state [s], a double."""
    flags: int
    """Four bytes: flags of energies, momenta and body forces that are up to date."""
    stride: int
    """Size of an mjContact [bytes]."""
    dist: int
    pos: int
    frame: int
    includemargin: int
    friction: int
    surfacevel: int
    dim: int
    geom: int


class Laws(NamedTuple):
    """Contact laws that the user sets for pairs of geoms."""

    kind: IntArray
    """Kind of each geom, an index into `law`; empty if no law is set [-], shape (ngeom,)."""
    law: Array
    """Coefficients of friction along the two tangents, about the normal and about the two tangents,
    restitution, condim; NaN where MuJoCo's value holds [-, -, m, m, m, -, -], shape (kinds, kinds, LAWS)."""


class Margins(NamedTuple):
    """Margins within which contacts and limits are detected, and the data they are computed from.

    `geom`, `pair`, `joint`, `tendon` and `body` are arrays of MuJoCo's model, which kernels overwrite.
    """

    look: Array
    """Smallest margin [m, rad], time step [s], and 1 if margins follow the velocities, else 0 [-], shape
    (3,)."""
    geom: Array
    """Margins of geoms [m], shape (ngeom,)."""
    pair: Array
    """Margins of predefined pairs of geoms [m], shape (npair,)."""
    joint: Array
    """Margins of the limits of joints [m, rad], shape (njnt,)."""
    tendon: Array
    """Margins of the limits of tendons [m, rad], shape (ntendon,)."""
    body: Array
    """Largest margin plus gap of the geoms of each body [m], shape (nbody,)."""
    own_geom: Array
    """Margins of geoms in the user's model [m], shape (ngeom,)."""
    own_pair: Array
    """Margins of pairs in the user's model [m], shape (npair,)."""
    own_joint: Array
    """Margins of joints in the user's model [m, rad], shape (njnt,)."""
    own_tendon: Array
    """Margins of tendons in the user's model [m, rad], shape (ntendon,)."""
    more: Array
    """Amounts by which `geom` exceeds `own_geom` [m], shape (ngeom,)."""
    more_joint: Array
    """Amounts by which `joint` exceeds `own_joint` [m, rad], shape (njnt,)."""
    more_tendon: Array
    """Amounts by which `tendon` exceeds `own_tendon` [m, rad], shape (ntendon,)."""
    gap: Array
    """MuJoCo's gaps of geoms [m], shape (ngeom,)."""
    geoms: IntArray
    """Geoms of the predefined pairs [-], shape (npair, 2)."""
    speed: Array
    """Approximate largest speeds of points of the bodies that mocap bodies carry [m/s], shape (nbody,)."""
    mover: IntArray
    """Bodies that can move and have geoms [-], shape (m,)."""
    size: Array
    """Largest distances of points of these bodies from their centres of mass [m], shape (m,)."""
    first_geom: IntArray
    """First geom of each of these bodies [-], shape (m,)."""
    last_geom: IntArray
    """One past the last geom of each of these bodies [-], shape (m,)."""
    limited: IntArray
    """Joints with limits [-], shape (k,)."""
    dof: IntArray
    """First dof of each of these joints [-], shape (k,)."""
    dofs: IntArray
    """Number of dofs of each of these joints [-], shape (k,)."""


class Engine(NamedTuple):
    """MuJoCo's model and data, which must live as long as this tuple."""

    model: int
    """Address of the mjModel."""
    data: int
    """Address of the mjData."""
    call: Functions
    at: Places
    sparse: bool
    """Whether Jacobians of constraints are stored as sparse matrices."""
    sensors: bool
    """Whether the model has sensors."""
    laws: Laws
    margins: Margins
    guard: Guard


class Motion(NamedTuple):
    """Views of the arrays of MuJoCo's mjData, mostly with its names."""

    qpos: Array
    """Positions [m, -, rad], shape (nq,)."""
    qvel: Array
    """Velocities [m/s, rad/s], shape (nv,)."""
    qacc: Array
    """Accelerations [m/s², rad/s²], shape (nv,)."""
    qfrc_smooth: Array
    """Generalised forces without those of constraints [N, N m], shape (nv,)."""
    qacc_smooth: Array
    """Accelerations without constraints [m/s², rad/s²], shape (nv,)."""
    qfrc_constraint: Array
    """Generalised forces of constraints [N, N m], shape (nv,)."""
    qfrc_actuator: Array
    """Generalised forces of actuators [N, N m], shape (nv,)."""
    qfrc_passive: Array
    """Generalised forces of springs, dampers, gravity compensation and fluid [N, N m], shape (nv,)."""
    qfrc_damper: Array
    """Generalised forces of dampers [N, N m], shape (nv,)."""
    qfrc_fluid: Array
    """Generalised forces of fluid [N, N m], shape (nv,)."""
    qfrc_gravcomp: Array
    """Generalised forces of gravity compensation [N, N m], shape (nv,)."""
    qfrc_bias: Array
    """Coriolis, centrifugal and gravity forces, with MuJoCo's sign [N, N m], shape (nv,)."""
    M: Array
    """Entries of the inertia matrix, its lower rows one after another [kg, kg m²], shape (nC,)."""
    derivative: Array
    """Entries of the derivative of the smooth forces with respect to velocity [N s/m, ...], shape (nD,)."""
    factor: Array
    """L of M = L' D L with a unit diagonal, on the entries of M [-], shape (nC,)."""
    inverse: Array
    """Reciprocals of the entries of D [1/kg, ...], shape (nv,)."""
    energy: Array
    """Potential and kinetic energy [J], shape (2,)."""
    actuator_force: Array
    """Forces of actuators [N, N m], shape (nactuator,)."""
    moment: Array
    """Moment arms of actuators, sparse rows [-, m, ...], shape (nJmom,)."""
    moment_count: IntArray
    """Number of entries of each of these rows [-], shape (nactuator,), int32."""
    moment_start: IntArray
    """Index of the first entry of each row [-], shape (nactuator,), int32."""
    moment_column: IntArray
    """Columns of the entries [-], shape (nJmom,), int32."""
    tendon: Array
    """Jacobians of tendons, sparse rows [-, m], shape (nJten,)."""
    tendon_length: Array
    """Lengths of tendons [m, rad], shape (ntendon,)."""
    xpos: Array
    """Origins of the frames of bodies [m], shape (nbody, 3)."""
    xquat: Array
    """Orientations of bodies, quaternions, scalar first [-], shape (nbody, 4)."""
    xipos: Array
    """Centres of mass of bodies [m], shape (nbody, 3)."""
    cvel: Array
    """Angular velocities of bodies, and velocities of their points at the centre of mass of the tree
    [rad/s, m/s], shape (nbody, 6)."""
    subtree_com: Array
    """Centres of mass of subtrees [m], shape (nbody, 3)."""
    sensordata: Array
    """Values of sensors [any], shape (nsensordata,)."""
    qfrc_applied: Array
    """Generalised forces that the user applies [N, N m], shape (nv,)."""
    xfrc_given: Array
    """Forces and moments that the user applies to bodies (`xfrc_applied`) [N, N m], shape (nbody, 6)."""
    act: Array
    """Activations of actuators [any], shape (na,)."""
    ctrl: Array
    """Controls [any], shape (nu,)."""
    mocap_pos: Array
    """Positions of mocap bodies [m], shape (nmocap, 3)."""
    mocap_quat: Array
    """Orientations of mocap bodies [-], shape (nmocap, 4)."""


class Carried(NamedTuple):
    """Motion of mocap bodies in the next step; at its end they have the poses of the data."""

    moving: bool
    """Whether any mocap body moves."""
    velocity: Array
    """Velocities at the origins, and angular velocities, of the bodies that mocap bodies carry
    [m/s, rad/s], shape (nbody, 6)."""
    rate: Array
    """Rates of the errors of equalities due to mocap bodies [m/s, rad/s], shape (ne,)."""


class Traits(NamedTuple):
    """Constants of the model and of the structure of M."""

    row_count: IntArray
    """Number of entries of each row of M [-], shape (nv,), int32."""
    row_start: IntArray
    """Index of the first entry of each row of M [-], shape (nv,), int32."""
    column: IntArray
    """Columns of the entries of M [-], shape (nC,), int32."""
    of_derivative: IntArray
    """Index of each entry of M in `Motion.derivative` [-], shape (nC,), int32."""
    stiffness: Array
    """Stiffness of joints at each dof [N/m, N m/rad], shape (nv,)."""
    damping: Array
    """Damping of joints at each dof [N s/m, N m s/rad], shape (nv,)."""
    actuator_stiffness: Array
    """Gains kp of servos [N/m, ...], shape (nactuator,)."""
    actuator_lower: Array
    """Lower limits of forces of actuators; -inf if unlimited [N, N m], shape (nactuator,)."""
    actuator_upper: Array
    """Upper limits of forces of actuators; inf if unlimited [N, N m], shape (nactuator,)."""
    tendon_stiffness: Array
    """Stiffness of tendons [N/m, ...], shape (ntendon,)."""
    tendon_lower: Array
    """Lengths below which springs of tendons act [m, rad], shape (ntendon,)."""
    tendon_upper: Array
    """Lengths above which springs of tendons act [m, rad], shape (ntendon,)."""
    tendon_count: IntArray
    """Number of entries of each row of `Motion.tendon` [-], shape (ntendon,), int32."""
    tendon_start: IntArray
    """Index of the first entry of each row [-], shape (ntendon,), int32."""
    tendon_column: IntArray
    """Columns of the entries [-], shape (nJten,), int32."""
    body_of_geom: IntArray
    """Body of each geom [-], shape (ngeom,)."""
    root_of_body: IntArray
    """Root of the kinematic tree of each body [-], shape (nbody,)."""
    restitution: Array
    """Coefficients of restitution of geoms [-], shape (ngeom,)."""
    joint_restitution: Array
    """Coefficients of restitution at limits of joints and tendons [-], shape (njnt + ntendon,)."""
    joints: int
    """Number of joints."""
    trees: int
    """Number of kinematic trees with dofs."""
    carried_start: IntArray
    """Index in `carried` of the first dof that each dof carries, and the size of `carried` [-], shape
    (nv + 1,)."""
    carried: IntArray
    """Dofs that each dof carries: its descendants in the tree [-], shape (nC - nv,)."""
    carried_entry: IntArray
    """Index of the entry of M of both dofs [-], shape (nC - nv,)."""


class Settings(NamedTuple):
    """Settings that all steps of a run share."""

    h: float
    """Time step [s]."""
    tolerance: float
    """Tolerance of the judge's residuals [-]."""
    separate: bool
    """Whether sliding, torsion and rolling friction have separate limits; else one ellipsoid bounds all
    three."""


class Rows(NamedTuple):
    """The contact problem of a step without W.

    Its n rows are the active rows of MuJoCo's constraints, its nb blocks are in the order of these.
    """

    J: Array
    """Jacobian, scaled. Each row has its entries from its first to its last nonzero one; rows are stored one
    after another [-, m], shape (nJ,)."""
    begin: IntArray
    """Index in `J` of the first entry of each row [-], shape (n,)."""
    K: tuple[IntArray, IntArray, Array, Array, IntArray, IntArray, Array]
    """The cones of the blocks: the fields of `Cones` as a plain tuple."""
    u_free: Array
    """Velocities u without impulses [m/s, rad/s], shape (n,)."""
    bias: Array
    """The terms of u besides J v [m/s, rad/s], shape (n,)."""
    gap: Array
    """Gaps, in the first row of a block and in all rows of an equality [m, rad], shape (n,)."""
    along: Array
    """Velocities of mocap bodies along the normals of contacts; 0 for other blocks [m/s], shape (nb,)."""
    scale: Array
    """Factors of the rows [-], shape (n,)."""
    what: IntArray
    """Types of the blocks: EQUALITY, ... [-], shape (nb,)."""
    key: IntArray
    """Identifiers of the blocks, the same in every step [-], shape (nb,)."""
    row: IntArray
    """Number of MuJoCo's constraint row of each row [-], shape (n,)."""
    contact: IntArray
    """Number of MuJoCo's contact of each block, -1 for none [-], shape (nb,)."""
    left: IntArray
    """First constraint row of each inactive block [-], shape (m,)."""
    left_gap: Array
    """Gaps of the inactive blocks after the motion of mocap bodies in the step [m, rad], shape (m,)."""
    first: IntArray
    """First column with an entry, for each row [-], shape (n,)."""
    last: IntArray
    """One past the last column with an entry, for each row [-], shape (n,)."""
    root: IntArray
    """First dof of the kinematic tree that the first column belongs to: Y of `delassus` has its entries
    from there on [-], shape (n,)."""
    trees: int
    """Number of kinematic trees with dofs."""


class Parts(NamedTuple):
    """Decoupled parts of the problem of a step: W has no entries between them."""

    start: IntArray
    """Index in `component` of the first component of each part, and n [-], shape (parts + 1,)."""
    component: IntArray
    """Components of the problem, part by part [-], shape (n,)."""
    block_start: IntArray
    """Index in `block` of the first block of each part, and nb [-], shape (parts + 1,)."""
    block: IntArray
    """Blocks, part by part [-], shape (nb,)."""
    W_start: IntArray
    """Index in `W` of the first entry of each part [-], shape (parts,)."""
    W: Array
    """The matrix of each part, row by row. Rows are padded to a multiple of eight entries, and their number
    to a multiple of four [1/kg, ...], shape (nW,)."""


class Free(NamedTuple):
    """Motion over a step without impulses."""

    v: Array
    """Velocities without impulses [m/s, rad/s], shape (nv,)."""
    shift: Array
    """h K v, which is subtracted from the forces [N, N m], shape (nv,)."""
    more: Array
    """D + h K on the entries of M [N s/m, ...], shape (nC,)."""


class LastImpulses(NamedTuple):
    """Impulses of the previous step, by block."""

    key: IntArray
    """Identifiers of the blocks: four times `Rows.key` plus the type [-], shape (nb,)."""
    offset: IntArray
    """Index in `r` of the first impulse of each block, and the end of the last [-], shape (nb + 1,)."""
    r: Array
    """Impulses [N s, N m s], shape (n,)."""


class Room(NamedTuple):
    """Output buffers of a march: states by row, contacts, and impulses of the other blocks."""

    t: Array
    """Times [s], shape (steps + 1,)."""
    q: Array
    """Positions; row 0 is the initial state [m, -, rad], shape (steps + 1, nq)."""
    v: Array
    """Velocities [m/s, rad/s], shape (steps + 1, nv)."""
    z: Array
    """Activations, controls, positions and quaternions of mocap bodies [any, m, -], shape
    (steps + 1, na + nu + 7 nmocap)."""
    poses: Array
    """Centres of mass and orientations of bodies [m, -], shape (steps + 1, nbody, 7)."""
    twists: Array
    """Velocities of the centres of mass, and angular velocities in body frames [m/s, rad/s], shape
    (steps + 1, nbody, 6)."""
    sensors: Array
    """Values of sensors [any], shape (steps + 1, nsensordata)."""
    pushed: IntArray
    """Whether the user applied forces in the step that ends at the row [-], shape (steps + 1,)."""
    applied: Array
    """These forces, set only where `pushed`: generalised forces, then force and moment of each body [N, N m],
    shape (steps + 1, nv + 6 nbody)."""
    numbers: Array
    """Residuals, iterations, gaps and energies, see KINETIC, ... [-, m, rad, J], shape (steps, NUMBERS)."""
    contacts: ContactTable
    joints: JointTable
    """Impulses of all blocks that are not contacts."""
    block_offset: IntArray
    """Index in `key` of the first block of the step before the first one and of each step, and the number of
    all blocks [-], shape (steps + 2,)."""
    key: IntArray
    """Identifiers of all blocks, as in `LastImpulses` [-], shape (most_blocks,)."""
    first: IntArray
    """Index in `impulse` of the first impulse of each block; one more entry after the blocks of each step
    for the end of its last block [-], shape (most_blocks + steps + 1,)."""
    impulse: Array
    """Impulses of all blocks [N s, N m s], shape (most_impulses,)."""
