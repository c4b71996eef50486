"""A mechanical model as a few arrays of whole numbers and one of constants, as the compiled march reads it.

Rows are systems, terms of forces, interactions (`ties`) and blocks; the names below are their columns. An
address is that of a user's function (`callables.py`); where it is 0 the quantity is constant and its `_AT`
says where it begins among the constants, -1 where there is none.
"""

from typing import NamedTuple

from stickslip.state import Array, BoolArray, IntArray

# systems: where their coordinates, velocities and parameters stand, whether q̇ = v, their quantities, room for
# matrices
(
    X0, X1, V0, V1, Z0, Z1, MOVES_BY, MASS, MASS_AT, UPDATE, TERM0, TERM1, SLOPE0, SLOPE1, MATRIX,
) = range(15)  # fmt: skip
SYSTEM_COLUMNS = 15
VELOCITY, POSE = range(2)
"""How q moves: q̇ = v, or place and quaternion of a body whose angular velocity is in its own frame."""

# terms of the forces: sign times a constant, a function, or a constant matrix times q or v; three rows of the
# wrench of a body from row FORCE or MOMENT on, turned into the other frame or not; Ω × I Ω
TERM_KIND, TERM_SIGN, TERM, TERM_AT = range(4)
TERM_COLUMNS = 4
(
    GIVEN, TIMES_Q, TIMES_V, GYRATION, FORCE, FORCE_TURNED, MOMENT, MOMENT_TURNED, TURN_OF_FORCE,
    TURN_OF_MOMENT,
) = range(10)  # fmt: skip

# slopes: sign times a derivative of a force by q (1) or v (2), of the kinds above; TURN_OF: by the quaternion
# of how it turns a force or moment, which is what is given then
SLOPE_KIND, SLOPE_BY, SLOPE_SIGN, SLOPE, SLOPE_AT = range(5)
SLOPE_COLUMNS = 5
BY_Q, BY_V = 1, 2

# ties: where their coordinates, velocities and parameters are listed in `index` and their systems in `tied`,
# their components and blocks among all, their quantities, room for their rows
(
    Q0, Q1, U0, U1, P0, P1, S0, S1, C0, C1, B0, B1, FORM, Y, Y_AT, Y_BY_Z, ROWS, ROWS_AT, ROWS_BY,
    DRIFT, DRIFT_AT, WITH_TIME, ROOM,
) = range(23)  # fmt: skip
TIE_COLUMNS = 23
WRITTEN, GAPS_ONLY, LINEAR, PLANE, SPHERES = range(5)
"""Form of y: a function, of gaps alone, C q + e + F z, a sphere of a body above a plane, two spheres."""

# blocks: kind, groups, whose
KIND, G0, G1, OWNER, COMPONENT, COMPONENT_END = range(6)
BLOCK_COLUMNS = 6
LOWER, UPPER, RESTITUTION = range(3)
BLOCK_NUMBERS = 3

# work vectors over coordinates or velocities
(
    Q, V, Q_END, V_END, V_FREE, BEFORE, F_START, TOTAL, RESIDUAL, PUSHED, BUFFER_Q, BUFFER_V, VALUE,
) = range(13)  # fmt: skip
V_ROWS = 13
# work vectors over components
Y_NOW, DRIFT_NOW, U_BEFORE, U_FREE, IMPULSE, BIAS, ZERO = range(7)
C_ROWS = 7
# work matrices of the systems, one behind the other
M_NOW, A_NOW = range(2)
M_ROWS = 2
# the problem of one set of coupled ties: rows of its whole numbers and of its numbers
KINDS, OFFSETS, GROUP_OFFSETS, GROUP_SIZES = range(4)
LOWERS, UPPERS, COEFFICIENTS, U_FREES, IMPULSES, VELOCITIES = range(6)

DONE, NOT_FINITE, UNSOLVED, NO_NEWTON, SINGULAR, UNSYMMETRIC, STOPPED = range(7)
"""How a step ends; anything but DONE leaves it to the ordinary step."""


class Values(NamedTuple):
    """Where quantities come from."""

    constants: Array
    """All constants, one after the other [any]."""
    stop: IntArray
    """Whether to stop (`callables.py`), shape (2,)."""


class Dynamics(NamedTuple):
    """Systems, laid out."""

    systems: IntArray
    """Shape (systems, SYSTEM_COLUMNS)."""
    terms: IntArray
    """Shape (terms, TERM_COLUMNS)."""
    slopes: IntArray
    """Shape (slopes, SLOPE_COLUMNS)."""
    values: Values


class Ties(NamedTuple):
    """Interactions, laid out."""

    table: IntArray
    """Shape (ties, TIE_COLUMNS)."""
    tied: IntArray
    """Systems of the ties, one after the other [-]."""
    index: IntArray  # type: ignore[assignment]
    """Coordinates, velocities and parameters of the ties among all [-]."""
    blocks: IntArray
    """Shape (blocks, BLOCK_COLUMNS)."""
    systems: IntArray
    """Those of `Dynamics`."""
    values: Values


class Cones(NamedTuple):
    """Sets of the impulses, block by block."""

    blocks: IntArray
    """Those of `Ties`."""
    numbers: Array
    """Bounds of the impulses [N s] and restitution [-], shape (blocks, BLOCK_NUMBERS)."""
    group_size: IntArray
    """Components of each group of a friction cone [-]."""
    coefficient: Array
    """Its friction [-, or m for rolling]."""


class Model(NamedTuple):
    """A model, laid out: in parts, since what is passed to a function that is not inlined is passed whole."""

    dynamics: Dynamics
    ties: Ties
    cones: Cones


class Method(NamedTuple):
    """How steps are made."""

    thetas: Array
    """θ of each system [-]."""
    explicit: bool
    """Whether forces are those at the start of a step."""
    h: float
    """Length of a step [s]."""
    tolerance: float
    """Of the judge's residuals [-]."""
    newton_tolerance: float
    """On the momentum balance, relative [-]."""
    newton_max: int
    """Most Newton iterations."""


class Moving(NamedTuple):
    """Room for systems on their way."""

    vectors: Array
    """Shape (V_ROWS, coordinates or velocities)."""
    matrices: Array
    """Shape (M_ROWS, entries of all masses)."""
    pivots: IntArray
    """Rows that were exchanged in A [-], shape (velocities,)."""
    known: BoolArray
    """Whether A of a system is factored for good, shape (systems,), bool."""
    spare: Array
    """Room for a matrix."""
    part: Array
    """Room for three of its rows."""


class Tying(NamedTuple):
    """Room for interactions."""

    components: Array
    """Shape (C_ROWS, size)."""
    rows: Array
    """Rows of all ties, each in its room."""
    responses: Array
    """A⁻¹ times these."""
    buffers: Array
    """Arguments of functions, shape (4, any)."""
    spare: Array
    """Room for a matrix."""


class Problem(NamedTuple):
    """Room for the problem of one set of coupled ties."""

    map: IntArray
    """Component among all, and tie, of each of its components [-], shape (2, size)."""
    whole: IntArray
    """Whole numbers, shape (4, any)."""
    reals: Array
    """Numbers, shape (6, any)."""
    W: Array
    """Its matrix, row by row."""
    measures: Array
    """What the solver says of it."""


class Work(NamedTuple):
    """Room for one step."""

    moving: Moving
    tying: Tying
    problem: Problem
    root: IntArray
    """Who leads the systems that a system is coupled with [-], shape (systems,)."""
    counts: IntArray
    """Sweeps and Newton iterations of the step [-], shape (2,)."""


class Record(NamedTuple):
    """Where steps are written to. Row 0 of q, v, z, r, y is the start, of r the guess; row k + 1 is the
    end of step k."""

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
