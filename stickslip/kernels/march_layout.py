"""A mechanical model as a few arrays of whole numbers and one of constants, as the compiled march reads it.

Rows are systems, terms of forces, interactions (`ties`) and blocks; the names below are their columns. An
address is that of a user's function (`callables.py`); where it is 0 the quantity is constant and its `_AT`
says where it begins among the constants, -1 where there is none.
"""

# systems: where their velocities (and coordinates) and parameters stand, their quantities, room for matrices
V0, V1, Z0, Z1, MASS, MASS_AT, UPDATE, TERM0, TERM1, SLOPE0, SLOPE1, MATRIX = range(12)
SYSTEM_COLUMNS = 12

# terms of the forces: sign times a constant, a function, or a constant matrix times q or v
TERM_KIND, TERM_SIGN, TERM, TERM_AT = range(4)
TERM_COLUMNS = 4
GIVEN, TIMES_Q, TIMES_V = range(3)

# slopes: sign times a derivative of a force by q (1) or v (2)
SLOPE_BY, SLOPE_SIGN, SLOPE, SLOPE_AT = range(4)
SLOPE_COLUMNS = 4
BY_Q, BY_V = 1, 2

# ties: where their coordinates and parameters are listed in `index` and their systems in `tied`, their
# components and blocks among all, their quantities, room for their rows
(
    Q0, Q1, P0, P1, S0, S1, C0, C1, B0, B1, Y, Y_AT, Y_LINEAR, Y_BY_Z, GAPS_ONLY,
    ROWS, ROWS_AT, DRIFT, DRIFT_AT, ROOM,
) = range(20)  # fmt: skip
TIE_COLUMNS = 20

# blocks: kind, groups, whose
KIND, G0, G1, OWNER, COMPONENT, COMPONENT_END = range(6)
BLOCK_COLUMNS = 6
LOWER, UPPER, RESTITUTION = range(3)
BLOCK_NUMBERS = 3

# work vectors over velocities
(
    Q, V, Q_END, V_END, V_FREE, BEFORE, F_START, FORCE, RESIDUAL, PUSHED, BUFFER_Q, BUFFER_V, VALUE,
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
