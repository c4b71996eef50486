"""A robot as its kernels take it: addresses in MuJoCo's model and data, arrays of theirs, and settings."""

from typing import NamedTuple

from stickslip.kernels.steps.guard import Guard
from stickslip.kernels.steps.tables import ContactTable, JointTable
from stickslip.state import Array, IntArray

EQUALITY, DRY_FRICTION, LIMIT, CONTACT = range(4)
"""What a block of a robot's problem is."""
(
    NATURAL, NATURAL_SCALED, ITERATIONS, PENETRATION, OPENING, CORRECTION, KINETIC, POTENTIAL, DISSIPATED,
    WORK, LIFTED, BALANCE,
) = range(12)  # fmt: skip
"""Numbers of a step: residuals of the judge [-], iterations, deepest overlap and largest opening at the end
and largest correction [m, rad], and the account of energy [J]."""
NUMBERS = 12
LAW_RESTITUTION, LAW_CONDIM, LAWS = 5, 6, 7
"""Of the numbers of the law of a pair, after its five of friction; and how many there are."""


class Functions(NamedTuple):
    """Addresses of C functions of MuJoCo's."""

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
    """Where things are in the data: addresses of ints and of pointers, and offsets in a contact [bytes]."""

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
    efc_diagA: int
    contact: int
    narena: int
    """Bytes for contacts, constraints and MuJoCo's stack."""
    parena: int
    """How many are used now."""
    maxuse_arena: int
    """How many were used at most."""
    pstack: int
    """Where its stack ends."""
    pbase: int
    """Where its last part begins."""
    time: int
    """A number: of the state [s]."""
    solver_fwdinv: int
    """Two numbers that steps have no use for."""
    flags: int
    """Four bytes: energies, momenta and forces on bodies that are up to date."""
    stride: int
    """From one contact to the next."""
    dist: int
    pos: int
    frame: int
    includemargin: int
    friction: int
    surfacevel: int
    dim: int
    geom: int


class Laws(NamedTuple):
    """Laws of pairs of geoms that are given."""

    kind: IntArray
    """Of the geoms [-], shape (ngeom,); none where no law is given."""
    law: Array
    """Friction along two axes, about the normal, about two axes, restitution, rows; NaN where MuJoCo's
    holds [-, -, m, m, m, -, -], shape (kinds, kinds, LAWS)."""


class Margins(NamedTuple):
    """How far contacts and limits are looked for: arrays of the model, and what they are made of."""

    look: Array
    """Least [m, rad], length of a step [s], and 1 where velocities count [-], shape (3,)."""
    geom: Array
    """[m], shape (ngeom,)."""
    pair: Array
    """[m], shape (npair,)."""
    joint: Array
    """[m, rad], shape (njnt,)."""
    tendon: Array
    """[m, rad], shape (ntendon,)."""
    body: Array
    """The widest of their geoms, with gaps [m], shape (nbody,)."""
    own_geom: Array
    """As the file has it [m], shape (ngeom,)."""
    own_pair: Array
    """[m], shape (npair,)."""
    own_joint: Array
    """[m, rad], shape (njnt,)."""
    own_tendon: Array
    """[m, rad], shape (ntendon,)."""
    more: Array
    """What geoms have beside [m], shape (ngeom,)."""
    more_joint: Array
    """[m, rad], shape (njnt,)."""
    more_tendon: Array
    """[m, rad], shape (ntendon,)."""
    gap: Array
    """Of geoms, as MuJoCo has it [m], shape (ngeom,)."""
    geoms: IntArray
    """Of pairs [-], shape (npair, 2)."""
    speed: Array
    """Of the fastest points of bodies that mocap bodies carry, about [m/s], shape (nbody,)."""
    mover: IntArray
    """Bodies that may move and have geoms [-], shape (m,)."""
    size: Array
    """Of these: the largest distance of their points from their centres of mass [m], shape (m,)."""
    first_geom: IntArray
    """Their first geoms [-], shape (m,)."""
    last_geom: IntArray
    """The first geoms that are not theirs any more [-], shape (m,)."""
    limited: IntArray
    """Joints with limits [-], shape (k,)."""
    dof: IntArray
    """Their first dofs [-], shape (k,)."""
    dofs: IntArray
    """How many of these they have [-], shape (k,)."""


class Engine(NamedTuple):
    """A model and data of MuJoCo's, which live as long as the arrays below."""

    model: int
    """Address."""
    data: int
    """Address."""
    call: Functions
    at: Places
    sparse: bool
    """Whether Jacobians of constraints are sparse."""
    sensors: bool
    """Whether there are any."""
    laws: Laws
    margins: Margins
    guard: Guard


class Motion(NamedTuple):
    """Arrays of the data; see MuJoCo's mjData."""

    qpos: Array
    """[m, -, rad], shape (nq,)."""
    qvel: Array
    """[m/s, rad/s], shape (nv,)."""
    qacc: Array
    """[m/s², rad/s²], shape (nv,)."""
    qfrc_smooth: Array
    """Forces without constraints [N, N m], shape (nv,)."""
    qacc_smooth: Array
    """Their accelerations [m/s², rad/s²], shape (nv,)."""
    qfrc_constraint: Array
    """Forces of constraints [N, N m], shape (nv,)."""
    qfrc_actuator: Array
    """[N, N m], shape (nv,)."""
    qfrc_passive: Array
    """Springs, dampers, gravity compensation, fluid [N, N m], shape (nv,)."""
    qfrc_damper: Array
    """[N, N m], shape (nv,)."""
    qfrc_fluid: Array
    """[N, N m], shape (nv,)."""
    qfrc_gravcomp: Array
    """[N, N m], shape (nv,)."""
    qfrc_bias: Array
    """[N, N m], shape (nv,)."""
    M: Array
    """Inertia, lower rows one after another [kg, kg m²], shape (nC,)."""
    derivative: Array
    """Of the smooth forces by velocity [N s/m, ...], shape (nD,)."""
    factor: Array
    """L of M = L' D L, unit rows below D, on the entries of M, shape (nC,)."""
    inverse: Array
    """Of D, shape (nv,)."""
    energy: Array
    """Potential and kinetic [J], shape (2,)."""
    actuator_force: Array
    """[N, N m], shape (nactuator,)."""
    moment: Array
    """Of actuators, sparse, shape (nJmom,)."""
    moment_count: IntArray
    """Shape (nactuator,), int32."""
    moment_start: IntArray
    """Shape (nactuator,), int32."""
    moment_column: IntArray
    """Shape (nJmom,), int32."""
    tendon: Array
    """Jacobians of tendons, sparse, shape (nJten,)."""
    tendon_length: Array
    """[m, rad], shape (ntendon,)."""
    xpos: Array
    """Of bodies [m], shape (nbody, 3)."""
    xquat: Array
    """Scalar first [-], shape (nbody, 4)."""
    xipos: Array
    """Their centres of mass [m], shape (nbody, 3)."""
    cvel: Array
    """Spin, and velocity at the centre of mass of the tree [rad/s, m/s], shape (nbody, 6)."""
    subtree_com: Array
    """[m], shape (nbody, 3)."""
    sensordata: Array
    """[any], shape (nsensordata,)."""
    qfrc_applied: Array
    """Generalised forces that the user applies [N, N m], shape (nv,)."""
    xfrc_given: Array
    """Forces and moments that the user applies to bodies [N, N m], shape (nbody, 6)."""
    act: Array
    """Activations [any], shape (na,)."""
    ctrl: Array
    """Controls [any], shape (nu,)."""
    mocap_pos: Array
    """Of mocap bodies [m], shape (nmocap, 3)."""
    mocap_quat: Array
    """[-], shape (nmocap, 4)."""
    eq_active: IntArray
    """Whether each equality constraint holds [-], shape (neq,), bytes."""


class Carried(NamedTuple):
    """What mocap bodies do in the next step, after which they are where the data has them."""

    moving: bool
    """Whether they move at all."""
    velocity: Array
    """Of the bodies that they carry, at their origins, and spins [m/s, rad/s], shape (nbody, 6)."""
    rate: Array
    """By which they change the errors of equalities [m/s, rad/s], shape (ne,)."""


class Traits(NamedTuple):
    """Numbers of the model that steps need."""

    row_count: IntArray
    """Entries of a row of M [-], shape (nv,), int32."""
    row_start: IntArray
    """[-], shape (nv,), int32."""
    column: IntArray
    """[-], shape (nC,), int32."""
    of_derivative: IntArray
    """Where the entries of M are in the derivative [-], shape (nC,), int32."""
    stiffness: Array
    """Of joints [N/m, N m/rad], shape (nv,)."""
    damping: Array
    """Of joints [N s/m, N m s/rad], shape (nv,)."""
    actuator_stiffness: Array
    """kp of servos [N/m, ...], shape (nactuator,)."""
    actuator_lower: Array
    """Limits of their forces, -inf for none [N, N m], shape (nactuator,)."""
    actuator_upper: Array
    """inf for none [N, N m], shape (nactuator,)."""
    tendon_stiffness: Array
    """[N/m, ...], shape (ntendon,)."""
    tendon_lower: Array
    """Springs of tendons act below it [m, rad], shape (ntendon,)."""
    tendon_upper: Array
    """And above it [m, rad], shape (ntendon,)."""
    tendon_count: IntArray
    """Shape (ntendon,), int32."""
    tendon_start: IntArray
    """Shape (ntendon,), int32."""
    tendon_column: IntArray
    """Shape (nJten,), int32."""
    body_of_geom: IntArray
    """[-], shape (ngeom,)."""
    root_of_body: IntArray
    """[-], shape (nbody,)."""
    restitution: Array
    """Of geoms [-], shape (ngeom,)."""
    joint_restitution: Array
    """At limits of joints and tendons [-], shape (njnt + ntendon,)."""
    joints: int
    """How many there are."""
    trees: int
    """Chains of bodies with dofs that do not carry each other."""
    carried_start: IntArray
    """First dof that each carries in the next field, and the number of all [-], shape (nv + 1,)."""
    carried: IntArray
    """Dofs that a dof carries [-], shape (nC - nv,)."""
    carried_entry: IntArray
    """Where M has the entries of both [-], shape (nC - nv,)."""


class Settings(NamedTuple):
    """What the steps of a run have in common."""

    h: float
    """Length of a step [s]."""
    tolerance: float
    """Of the judge's residuals [-]."""
    separate: bool
    """Whether sliding, torsion and rolling have a limit each; else one ellipsoid for all."""


class Rows(NamedTuple):
    """The problem of a step before W: blocks in the order of MuJoCo's constraints."""

    J: Array
    """Rows of those that take part, scaled, from their first to their last columns, one after the other,
    shape (nJ,)."""
    begin: IntArray
    """Where each row begins there [-], shape (n,)."""
    K: tuple[IntArray, IntArray, Array, Array, IntArray, IntArray, Array]
    """Of `Cones`, as a plain tuple."""
    u_free: Array
    """Velocities without impulses [m/s, rad/s], shape (n,)."""
    bias: Array
    """What they have beside J v [m/s, rad/s], shape (n,)."""
    gap: Array
    """Of the first row of a block, all rows of an equality [m, rad], shape (n,)."""
    along: Array
    """Velocities of mocap bodies along the first rows of contacts, else 0 [m/s], shape (nb,)."""
    scale: Array
    """Of the rows [-], shape (n,)."""
    what: IntArray
    """EQUALITY, ... of the blocks [-], shape (nb,)."""
    key: IntArray
    """Names of the blocks [-], shape (nb,)."""
    row: IntArray
    """Number of the constraint of each row [-], shape (n,)."""
    contact: IntArray
    """Number of the contact of a block, -1 for none [-], shape (nb,)."""
    left: IntArray
    """First constraints of what was left out [-], shape (m,)."""
    left_gap: Array
    """Their gaps, after the motion of mocap bodies in the step [m, rad], shape (m,)."""
    first: IntArray
    """First column of each row with an entry [-], shape (n,)."""
    last: IntArray
    """Column behind the last with an entry [-], shape (n,)."""
    root: IntArray
    """First dof of the tree of bodies that the first column is of: those that carry others are from there on
    [-], shape (n,)."""
    trees: int
    """See `Traits`."""


class Parts(NamedTuple):
    """The problem of a step in parts that W does not tie to each other."""

    start: IntArray
    """First component of each part in the next field, and the number of all [-], shape (parts + 1,)."""
    component: IntArray
    """Components, part by part [-], shape (n,)."""
    block_start: IntArray
    """First block of each part in the next field, and the number of all [-], shape (parts + 1,)."""
    block: IntArray
    """Blocks, part by part [-], shape (nb,)."""
    W_start: IntArray
    """Where W of each part begins in the next field [-], shape (parts,)."""
    W: Array
    """Of each part row by row, rows filled up to a multiple of eight, and their number to one of four
    [1/kg, ...], shape (nW,)."""


class Free(NamedTuple):
    """Free motion over a step."""

    v: Array
    """Velocities without impulses [m/s, rad/s], shape (nv,)."""
    shift: Array
    """h K v, which the forces have less [N, N m], shape (nv,)."""
    more: Array
    """D + h K on the entries of M [N s/m, ...], shape (nC,)."""


class LastImpulses(NamedTuple):
    """Impulses of the last step, by name of the block."""

    key: IntArray
    """[-], shape (nb,)."""
    offset: IntArray
    """Where the impulses of a block begin [-], shape (nb + 1,)."""
    r: Array
    """[N s, N m s], shape (n,)."""


class Room(NamedTuple):
    """Where steps are written to: one row a step; contacts and blocks of joints."""

    t: Array
    """[s], shape (steps + 1,)."""
    q: Array
    """[m, -, rad], shape (steps + 1, nq); row 0 is the start."""
    v: Array
    """[m/s, rad/s], shape (steps + 1, nv)."""
    z: Array
    """Activations, controls, positions and quaternions of mocap bodies [any, m, -], shape
    (steps + 1, na + nu + 7 nmocap)."""
    poses: Array
    """Centres of mass and orientations of bodies [m, -], shape (steps + 1, nbody, 7)."""
    twists: Array
    """Their velocities and spins in the frames of the bodies [m/s, rad/s], shape (steps + 1, nbody, 6)."""
    sensors: Array
    """[any], shape (steps + 1, nsensordata)."""
    pushed: IntArray
    """Whether the user applied forces in the step that ended there [-], shape (steps + 1,)."""
    applied: Array
    """Those forces, where there were any: generalised ones, and of each body force and moment [N, N m], shape
    (steps + 1, nv + 6 nbody)."""
    numbers: Array
    """Shape (steps, NUMBERS)."""
    contacts: ContactTable
    joints: JointTable
    """Of all other blocks."""
    block_offset: IntArray
    """First block of all before the first step and of each step, and the number of all [-], shape
    (steps + 2,)."""
    key: IntArray
    """Names of all blocks, for the guess of the next step [-], shape (most_blocks,)."""
    first: IntArray
    """Where the impulses of a block begin; after the blocks of a step where those end [-], shape
    (most_blocks + steps + 1,)."""
    impulse: Array
    """[N s, N m s], shape (most_impulses,)."""
