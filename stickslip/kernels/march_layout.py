"""Layout of a mechanical model in the arrays of the compiled march: tables of integers and one of constants.

The tables have one row per system, force term, force derivative (slope), interaction (tie) or block; the
names below are their columns. A column that names a quantity holds the address of a user's function
(`callables.py`). If the address is 0, the quantity is constant, and the column with suffix `_AT` holds its
position in `Values.constants`, or -1 if there is none.
"""

from typing import NamedTuple

from stickslip.state import Array, BoolArray, IntArray

# Columns of systems: ranges of coordinates (X), velocities (V) and parameters (Z), kinematics, mass matrix,
# update of the parameters, ranges of force terms and slopes, position of matrices in `Moving.matrices`
(
    X0, X1, V0, V1, Z0, Z1, MOVES_BY, MASS, MASS_AT, UPDATE, TERM0, TERM1, SLOPE0, SLOPE1, MATRIX,
) = range(15)  # fmt: skip
SYSTEM_COLUMNS = 15
VELOCITY, POSE = range(2)
"""Kinematics: q̇ = v, or position and quaternion of a body with angular velocity in its own frame."""

# Columns of force terms, and their kinds. Each term is a sign times: a constant or a function (GIVEN); a
# constant matrix times q or v; Ω × I Ω (GYRATION); three rows of the wrench of a body (FORCE, MOMENT), with
# _TURNED rotated from the other frame. TURN_OF_FORCE and TURN_OF_MOMENT are kinds of slopes only.
TERM_KIND, TERM_SIGN, TERM, TERM_AT = range(4)
TERM_COLUMNS = 4
(
    GIVEN, TIMES_Q, TIMES_V, GYRATION, FORCE, FORCE_TURNED, MOMENT, MOMENT_TURNED, TURN_OF_FORCE,
    TURN_OF_MOMENT,
) = range(10)  # fmt: skip

# Columns of slopes: sign times the derivative of a force term with respect to q (1) or v (2), of the kinds
# above. TURN_OF_..: derivative of the rotation of a force or moment with respect to the quaternion; the
# quantity of the slope is that force or moment.
SLOPE_KIND, SLOPE_BY, SLOPE_SIGN, SLOPE, SLOPE_AT = range(5)
SLOPE_COLUMNS = 5
BY_Q, BY_V = 1, 2

# Columns of ties: ranges of their coordinates (Q), velocities (U) and parameters (P) in `Ties.index`, of
# their systems (S) in `Ties.tied`, of their components (C) and blocks (B); output, rows, drift; whether the
# rows are evaluated at the end time; position of the rows in `Tying.rows`
(
    Q0, Q1, U0, U1, P0, P1, S0, S1, C0, C1, B0, B1, FORM, Y, Y_AT, Y_BY_Z, ROWS, ROWS_AT, ROWS_BY,
    DRIFT, DRIFT_AT, WITH_TIME, ROOM,
) = range(23)  # fmt: skip
TIE_COLUMNS = 23
WRITTEN, GAPS_ONLY, LINEAR, PLANE, SPHERES = range(5)
"""Form of y: a function, a function that returns gaps only, C q + e + F z, sphere and plane, two spheres."""

# Columns of blocks: kind, range of groups, tie, range of components; columns of their numbers
KIND, G0, G1, OWNER, COMPONENT, COMPONENT_END = range(6)
BLOCK_COLUMNS = 6
LOWER, UPPER, RESTITUTION = range(3)
BLOCK_NUMBERS = 3

# Work vectors over coordinates or velocities
(
    Q, V, Q_END, V_END, V_FREE, BEFORE, F_START, TOTAL, RESIDUAL, PUSHED, BUFFER_Q, BUFFER_V, VALUE,
) = range(13)  # fmt: skip
V_ROWS = 13
# Work vectors over components
Y_NOW, DRIFT_NOW, U_BEFORE, U_FREE, IMPULSE, BIAS, ZERO = range(7)
C_ROWS = 7
# Work matrices of the systems, one system after the other
M_NOW, A_NOW = range(2)
M_ROWS = 2
# Rows of the integers and of the real numbers of the contact problem of one set of coupled ties
KINDS, OFFSETS, GROUP_OFFSETS, GROUP_SIZES = range(4)
LOWERS, UPPERS, COEFFICIENTS, U_FREES, IMPULSES, VELOCITIES = range(6)

DONE, NOT_FINITE, UNSOLVED, NO_NEWTON, SINGULAR, UNSYMMETRIC, STOPPED = range(7)
"""Exit codes of a step; after all but DONE the step needs the full scheme."""


class Values(NamedTuple):
    """Sources of quantities."""

    constants: Array
    """All constants, one after the other [any]."""
    stop: IntArray
    """Stop flag and address of the signal function (`callables.py`), shape (2,)."""


class Dynamics(NamedTuple):
    """Tables of the systems."""

    systems: IntArray
    """Shape (systems, SYSTEM_COLUMNS)."""
    terms: IntArray
    """Shape (terms, TERM_COLUMNS)."""
    slopes: IntArray
    """Shape (slopes, SLOPE_COLUMNS)."""
    values: Values


class Ties(NamedTuple):
    """Tables of the interactions."""

    table: IntArray
    """Shape (ties, TIE_COLUMNS)."""
    tied: IntArray
    """Systems of the ties, one after the other [-]."""
    index: IntArray  # type: ignore[assignment]
    """Indices of the coordinates, velocities and parameters of the ties in the vectors of all systems [-]."""
    blocks: IntArray
    """Shape (blocks, BLOCK_COLUMNS)."""
    systems: IntArray
    """`Dynamics.systems`."""
    values: Values


class Cones(NamedTuple):
    """Sets of the impulses, block by block."""

    blocks: IntArray
    """`Ties.blocks`."""
    numbers: Array
    """Bounds of the impulses [N s] and restitution [-], shape (blocks, BLOCK_NUMBERS)."""
    group_size: IntArray
    """Components of each group of a friction cone [-]."""
    coefficient: Array
    """Friction coefficient of each group [-, or m for rolling]."""


class Model(NamedTuple):
    """Tables of a model, in parts: functions that are not inlined take all fields of their arguments."""

    dynamics: Dynamics
    ties: Ties
    cones: Cones


class Method(NamedTuple):
    """Parameters of the scheme."""

    thetas: Array
    """θ of each system [-]."""
    explicit: bool
    """Whether forces are evaluated at the start of the step."""
    h: float
    """Length of a step [s]."""
    tolerance: float
    """Tolerance of the judge's residuals [-]."""
    newton_tolerance: float
    """Tolerance of the momentum balance, relative [-]."""
    newton_max: int
    """Largest number of Newton iterations."""


class Moving(NamedTuple):
    """Work arrays of the systems."""

    vectors: Array
    """Work vectors Q to VALUE, shape (V_ROWS, coordinates or velocities)."""
    matrices: Array
    """M and A of all systems, shape (M_ROWS, entries of all masses)."""
    pivots: IntArray
    """Row exchanges in the factors of A [-], shape (velocities,)."""
    known: BoolArray
    """Whether A of a system is constant and factored, shape (systems,), bool."""
    spare: Array
    """Work array for a matrix."""
    part: Array
    """Work array for three rows of a matrix."""


class Tying(NamedTuple):
    """Work arrays of the interactions."""

    components: Array
    """Work vectors Y_NOW to ZERO, shape (C_ROWS, size)."""
    rows: Array
    """Rows of all ties; column ROOM of the table holds the position of those of a tie."""
    responses: Array
    """A⁻¹ times the rows."""
    buffers: Array
    """Arguments of functions, shape (4, any)."""
    spare: Array
    """Work array for a matrix."""


class Problem(NamedTuple):
    """Work arrays of the contact problem of one set of coupled ties."""

    map: IntArray
    """Global index and tie of each component of the problem [-], shape (2, size)."""
    integers: IntArray
    """Rows KINDS to GROUP_SIZES, shape (4, any)."""
    reals: Array
    """Rows LOWERS to VELOCITIES, shape (6, any)."""
    W: Array
    """Delassus matrix, row by row."""
    measures: Array
    """Report of the solver (`small_contacts.solve_into`)."""


class Work(NamedTuple):
    """Work arrays of one step."""

    moving: Moving
    tying: Tying
    problem: Problem
    root: IntArray
    """Parent of each system in the forest of coupled systems (`march_contacts.find`) [-], shape
    (systems,)."""
    counts: IntArray
    """Sweeps and Newton iterations of the step [-], shape (2,)."""


class Record(NamedTuple):
    """Results. Row 0 of q, v, z, y is the start, row 0 of r the guess; row k + 1 is the end of step k."""

    q: Array
    """[m, rad], shape (steps + 1, nq)."""
    v: Array
    """[m/s, rad/s], shape (steps + 1, nv)."""
    z: Array
    """[any], shape (steps + 1, nz)."""
    r: Array
    """[N s], shape (steps + 1, size)."""
    y: Array
    """[m, rad], shape (steps + 1, size)."""
    u: Array
    """[m/s], shape (steps, size)."""
    active: BoolArray
    """Shape (steps, blocks), bool."""
    forecast: Array
    """[m], shape (steps, blocks)."""
    natural: Array
    """[-], shape (steps,)."""
    natural_scaled: Array
    """[-], shape (steps,)."""
    iterations: IntArray
    """[-], shape (steps,)."""
    newton: IntArray
    """[-], shape (steps,)."""
