"""Redundant joints: two or more joints between the same two bodies that constrain the same motion.

A door on two hinges has ten rows for five constrained motions; a hinge and a slider between the same bodies
have ten for six. Closed joints of this kind are consistent: their rows are linearly dependent. In the middle
of a step joints are open by O(h²), and the rows become independent. As equations they then constrain one
motion more, which stops the bodies or throws them.

Rows of joints that are open by ε are known to ε. So the rows A, in one unit and over the dynamic bodies, are
replaced by the nearest rows of lower rank, without the singular values up to ε (Golub and Van Loan 2013,
2.4.2). With the left singular vectors U of the other values these rows are U U' A, and their right side is
U U' b in place of b.

Redundant joints around a loop of bodies are not changed, and driven bodies may pull joints apart. A step that
fails for such a reason names the joints (`conflict_reason`).
"""

import numpy as np

from stickslip.kernels.bodies import redundancy as kernels
from stickslip.kernels.bodies.redundancy import ROUNDING
from stickslip.mechanics.world import World
from stickslip.schemes.body_joints import JointRows
from stickslip.schemes.body_world import Bodies
from stickslip.state import Array, IntArray

ASKED = 1e-7
"""Largest contradictory part of the prescribed velocities, relative to these velocities [-] (heuristic)."""
SAME = 1e-12
"""Singular value, relative to the largest, below which rows are linearly dependent to rounding; steps can
solve these [-]."""
TO_BLAME = 0.1
"""Share of a row in the fault, relative to the largest share, from which its joint is named [-]
(heuristic)."""
MOST_ROWS = 1000
"""Largest number of rows that are searched for contradictions; the cost grows with its cube."""


def project_redundant_rows(
    bodies: Bodies, sides: IntArray, joint: IntArray, part: IntArray, size: IntArray, rows: Array,
    bias: Array, error: Array,
) -> None:  # fmt: skip
    """Replace rows and biases of redundant joints by consistent ones of lower rank, and their derivatives
    along k directions.

    It repeats the computation of the kernel of steps, with the derivative of the projection U U' in the
    imaginary part. sides, joint, part, size: arrays of blocks as in `JointRows`, (m, 2) and (m,); error: how
    far rows are open [m], shape (n,); rows (k, n, 2, 6) and bias (k, n) are complex; all in one unit.
    """
    linkage = bodies.linkage
    for k in range(0 if linkage is None else linkage.pair_start.size - 1):
        held, turned, pair, length = kernels.held_rows(linkage, sides, joint, part, size, k)
        dynamic = (pair >= 0) & (bodies.row[pair] >= 0)
        A = np.stack([kernels.pair_matrix(one, held, turned, dynamic, length) for one in rows])
        U, sigma = kernels.left_vectors(np.ascontiguousarray(A[0].real))
        rank = kernels.rank_of(sigma, float(np.abs(error[held]).max()), length)
        square, side = sigma * sigma, np.where(turned[:, None], [[1, 0]], [[0, 1]])
        P = _projector(U[:, :rank], U[:, rank:], square[:rank], square[rank:], A)
        rows[:, held[:, None], side] = np.einsum("kij,kjsc->kisc", P, rows[:, held[:, None], side])
        bias[:, held] = np.einsum("kij,kj->ki", P, bias[:, held])


def conflict_reason(
    world: World, bodies: Bodies, joints: JointRows, rows: Array, bias: Array, unit: Array
) -> str:
    """Return why joints made a step fail: they prescribe contradictory motions, or their rows are nearly
    dependent around a loop of bodies. Empty if neither is the case.

    rows, bias: of the joints in a step, multiplied by `unit`: [-, m], shape (n, 2, 6), and [m/s], shape (n,).
    """
    block = np.repeat(np.arange(len(joints)), joints.size)
    held = np.flatnonzero(joints.part[block] == 0)
    if not 0 < held.size <= MOST_ROWS:
        return ""
    owner, sides = joints.joint[block[held]], joints.bodies[block[held]]
    length = float(bodies.joint_length[owner].mean())
    A = np.zeros((held.size, 1 + bodies.dynamic.size, 6))
    for side in range(2):
        body = np.where(sides[:, side] >= 0, bodies.row[sides[:, side]], -1)  # -1: last column, dropped below
        A[np.arange(held.size), body] += rows[held, side]
    A[:, :, 3:] /= length
    U, singular, _ = np.linalg.svd(A[:, :-1].reshape(held.size, -1))
    sigma = np.zeros(held.size)
    sigma[: singular.size] = singular
    small = sigma <= float(np.abs(joints.error[held] * unit[held]).max()) / length + ROUNDING
    vain = np.abs(U[:, small] @ (U[:, small].T @ bias[held]))
    most = float(vain.max())
    almost = small & (sigma > SAME * sigma[0])
    if most > ASKED * float(np.abs(bias[held]).max()):
        blame, fault = vain, f"prescribe contradictory motions, by {most:.3g} m/s"
    elif almost.any():
        blame = np.abs(U[:, almost]).max(axis=1)
        fault = (
            'constrain the same motion twice around a loop of bodies: remove one, or use scheme="variational"'
        )
    else:
        return ""
    guilty = np.unique(owner[blame >= TO_BLAME * blame.max()])
    return f"joints {', '.join(repr(world.joints.names[j]) for j in guilty)} {fault}"


def _projector(U: Array, others: Array, square: Array, small: Array, A: Array) -> Array:
    """Return U U', shape (k, m, m), with its derivative along each direction of A in the imaginary part. The
    eigenvectors of A A' are U, with eigenvalues `square`, and `others`, with eigenvalues `small`."""
    change = others.T @ (A @ np.swapaxes(A, 1, 2)).imag @ U / (square - small[:, None])
    turned = others @ change @ U.T
    return (U @ U.T)[None] + 1j * (turned + np.swapaxes(turned, 1, 2))
