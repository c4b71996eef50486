"""The problem that a step of Moreau-Jean poses, along directions: what `schemes/bodies.py` makes, once more.

With a fixed set of active contacts and stops it is a smooth function of all inputs. The rows of joints are
multiplied by lengths of the world as it is: they scale impulses of joints and move nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from stickslip.detection.contacts import ContactSet
from stickslip.gradients import moreau_jean_contacts as touch
from stickslip.gradients.charts import to_displacements
from stickslip.gradients.moreau_jean_forces import central, forces_along
from stickslip.gradients.moreau_jean_inputs import EPSILON, Complex, Inputs, changes, inputs_along
from stickslip.gradients.moreau_jean_joints import JointBlocks, Jointed, joints_along
from stickslip.gradients.moreau_jean_motion import dot, freely, inverses, moved, times
from stickslip.gradients.solution_exact import ACROSS, DOUBT
from stickslip.kernels.bodies.joint_geometry import LOWER, UPPER
from stickslip.mechanics.motions import velocities
from stickslip.mechanics.parameters import Parameters
from stickslip.mechanics.world import World
from stickslip.rotations import conjugate, turned
from stickslip.schemes.body_world import Bodies
from stickslip.state import Array, BoolArray, IntArray, State


@dataclass(frozen=True, eq=False, slots=True)
class Middle:
    """The middle of a step along directions."""

    given: Inputs
    J: Complex
    """Of the dynamic bodies [kg m²], shape (k, nd, 3, 3)."""
    J_inverse: Complex
    """[1/(kg m²)], shape (k, nd, 3, 3)."""
    q: Complex
    """[m, -], shape (k, n, 7)."""
    v_start: Complex
    """Before the forces [m/s, rad/s], shape (k, n, 6)."""
    v_free: Complex
    """After them, and what is prescribed [m/s, rad/s], shape (k, n, 6)."""
    f: Complex
    """Momenta of the dynamic bodies [N s, N m s], shape (k, nd, 6)."""


@dataclass(frozen=True, eq=False, slots=True)
class Posed:
    """The data of a problem along directions, as `GlobalProblem` and its set have them."""

    rows: Complex
    """Of H' over both sides, of those too that do not answer [-, m], shape (k, p, 2, 6)."""
    u_bias: Complex
    """[m/s], shape (k, p)."""
    coefficient: Complex
    """[-, m], shape (k, ng)."""
    lower: Complex
    """Of each block, where it is finite and not 0 [N s], shape (k, nb)."""
    upper: Complex
    """As `lower` [N s], shape (k, nb)."""
    gap: Complex
    """Of the contacts [m], shape (k, nc)."""


@dataclass(frozen=True, eq=False, slots=True)
class Changed:
    """How a problem changes at fixed v and r, or weights of such changes."""

    momentum: Array
    """f - M v + H r [N s, N m s], shape (6 nd, k)."""
    velocity: Array
    """H' v + u_bias [m/s, rad/s], shape (p, k)."""
    coefficient: Array
    """Of the groups of friction [-, m], shape (ng, k)."""
    lower: Array
    """Bounds of the blocks [N s, N m s], shape (nb, k)."""
    upper: Array
    """As `lower` [N s, N m s], shape (nb, k)."""

    def dotted(self, weights: "Changed") -> Array:
        """Products of all columns with those of weights of the same things, shape (k, m)."""
        total: Array = self.momentum.T @ weights.momentum + self.velocity.T @ weights.velocity
        total += self.coefficient.T @ weights.coefficient
        return total + self.lower.T @ weights.lower + self.upper.T @ weights.upper


class Assembly:
    """One step of a world, whose active contacts and joint blocks are known."""

    def __init__(
        self, world: World, state: State, h: float, theta: float, newton: bool, contacts: ContactSet,
        bears: BoolArray, joints: JointBlocks,
    ):  # fmt: skip
        """bears: which contacts must have a closed form, shape (nc,)."""
        self.world, self.state, self.h, self.theta, self.newton = world, state, h, theta, newton
        self.bodies = Bodies.of(world)
        self.given = Parameters.of(world)
        self.contacts, self.joints = contacts, joints
        self.slot, self.group = _layout(contacts.law)
        self.base = self.middle(self.inputs({}))
        self.features = touch.features_of(world, contacts, bears, self.base.q[0].real)
        self.touching = touch.contacts_along(world, contacts, self.features, self.base.given, self.base.q)
        touch.check_agreement(world, contacts, self.features, self.touching)

    def inputs(self, tangents: Mapping[str, Array]) -> Inputs:
        """All inputs along the columns of `tangents`."""
        return inputs_along(self.state, self.h, self.given, tangents)

    @cached_property
    def sides(self) -> IntArray:
        """Bodies of the two sides of each row [-], shape (p, 2)."""
        joints = self.world.joints.body[self.joints.joint].reshape(-1, 2)
        rows = np.repeat(joints, np.diff(self.joints.start), axis=0)
        return np.concatenate([self.contacts.body[self.slot // 6], rows])

    @cached_property
    def unit(self) -> Array:
        """What rows are multiplied by, 1 for contacts and `Blocks.unit` for joints [-, m], shape (p,)."""
        turns = np.logical_not(self._at_rest[0][:, :, :3].any(axis=(1, 2)))
        length = np.repeat(self.bodies.joint_length[self.joints.joint], np.diff(self.joints.start))
        unit = np.ones(turns.size)
        unit[self.slot.size :] = length
        unit[~turns] = 1.0
        return unit

    @cached_property
    def bounces(self) -> BoolArray:
        """Rows that restitution acts on, if there is any: normals and stops that are approached [-],
        shape (p,)."""
        _, _, approach, near = self._at_rest
        return (approach < 0.0) & ~near

    @cached_property
    def _normals(self) -> BoolArray:
        """Rows that are normals of contacts [-], shape (p,)."""
        normal = np.zeros(len(self.sides), bool)
        normal[: self.slot.size] = self.slot % 6 == 0
        return normal

    @cached_property
    def grazes(self) -> BoolArray:
        """Rows with restitution whose approach is 0, so that it has a kink there [-], shape (p,)."""
        _, e, _, near = self._at_rest
        return (e > 0.0) & near

    @cached_property
    def _at_rest(self) -> tuple[Array, Array, Array, BoolArray]:
        """Where nothing changes: rows, restitution, rates before the impulses, and whether these are 0."""
        at = self.base
        rows, _, e, _ = self._raw(at, self.touching)
        approach = _over_sides(rows, self.sides, at.v_start)[0].real
        size = sum(_over_sides(abs(rows.real), self.sides, abs(v.real))[0] for v in (at.v_start, at.v_free))
        normal = np.flatnonzero(self._normals)
        size[normal] = np.maximum(size[normal], ACROSS * np.maximum(size[normal + 1], size[normal + 2]))
        return rows[0].real, e[0].real, approach, np.abs(approach) <= DOUBT * size

    @cached_property
    def _scatter(self) -> sp.csr_array:
        """From both sides of all rows, (2 p,), to dynamic bodies."""
        row = np.where(self.sides >= 0, self.bodies.row[self.sides], -1).reshape(-1)
        moves = np.flatnonzero(row >= 0)
        entries = (np.ones(moves.size), (row[moves], moves))
        return sp.coo_array(entries, shape=(self.bodies.dynamic.size, row.size)).tocsr()

    def middle(self, given: Inputs) -> Middle:
        """Half way, with the forces of the step."""
        bodies, world, dynamic, theta = self.bodies, self.world, self.bodies.dynamic, self.theta
        h, first = given.h, (1.0 - theta) * given.h
        J = given.J[:, dynamic]
        J_inverse = inverses(J)
        q, v = freely(given.q, given.v, first, J, J_inverse, dynamic)
        F = forces_along(world, self.state.t + first, q, v, given.effort, given.wrench)[:, dynamic]
        mass = given.mass[:, dynamic, None]
        h3 = h[:, None, None]
        linear = v[:, dynamic, :3] + h3 * given.gravity[:, None] + h3 * F[..., :3] / mass
        spin = v[:, dynamic, 3:] + times(J_inverse, h3 * F[..., 3:])
        f = np.concatenate(np.broadcast_arrays(mass * linear, times(J, spin)), axis=-1)
        k = max(len(linear), len(spin), len(given.v), len(q))
        v_free = np.array(np.broadcast_to(given.v, (k, *given.v.shape[1:])))
        v_free[:, dynamic, :3], v_free[:, dynamic, 3:] = linear, spin
        if bodies.driven:
            back = conjugate(moved(q, given.v, theta * h)[..., 3:])
            driven = world.motions
            for name, body, motion in zip(driven.names, driven.body, driven.motions, strict=True):
                shift, turn = _prescribed(name, motion, self.state.t + h)
                v_free[:, body, :3], v_free[:, body, 3:] = shift, turned(back[:, body], turn)
        return Middle(given, J, J_inverse, q, v, v_free, f)

    def joints_along(self, at: Middle) -> Jointed:
        """The rows of the joints, in their own units."""
        dynamic = self.bodies.dynamic
        _, ahead = freely(at.q, at.v_start, self.theta * at.given.h, at.J, at.J_inverse, dynamic)
        return joints_along(self.world.joints, self.joints, at.q, at.v_start, ahead, at.given.h, self.theta)

    def posed(self, at: Middle, left: float = 0.0) -> Posed:
        """The problem, contacts first; left: share of the change of approached normal velocities that is not
        yet made, where an impact is made in parts."""
        nc = len(self.contacts)
        found = touch.contacts_along(self.world, self.contacts, self.features, at.given, at.q)
        rows, bias, e, bound = self._raw(at, found)
        before = _over_sides(rows, self.sides, at.v_start)
        bias = bias + e * np.where(self.bounces, before, 0.0)
        if left:
            bias = bias - left * (1.0 + e) * np.where(self.bounces & self._normals, before, 0.0)
        coefficient = found.law.reshape(len(found.law), 4 * nc)[:, self.group]
        if not self.joints.joint.size:
            return Posed(rows, bias, coefficient, bound, bound, found.gap)
        unit = self.unit
        bound = _joined(np.zeros((1, nc)), bound / unit[self.slot.size :][self.joints.start[:-1]])
        return Posed(rows * unit[:, None, None], bias * unit, coefficient, -bound, bound, found.gap)

    def momenta_before(self, at: Middle) -> Complex:
        """Momenta of the dynamic bodies before forces and impulses [N s, N m s], shape (k, nd, 6)."""
        v, dynamic = at.v_start[:, self.bodies.dynamic], self.bodies.dynamic
        linear, turning = at.given.mass[:, dynamic, None] * v[..., :3], times(at.J, v[..., 3:])
        return np.concatenate(np.broadcast_arrays(linear, turning), axis=-1)

    def _raw(self, at: Middle, found: touch.Touching) -> tuple[Complex, Complex, Complex, Complex]:
        """Rows without units, biases without restitution, restitution, and bounds of joints' friction."""
        nc = len(self.contacts)
        rows = found.rows.reshape(len(found.rows), 6 * nc, 2, 6)[:, self.slot]
        e = np.where(self.slot % 6 == 0, found.law[:, self.slot // 6, 3] * self.newton, 0.0)
        bias: Complex = np.zeros((1, self.slot.size))
        bound: Complex = np.zeros((1, nc))
        if self.joints.joint.size:
            held = self.joints_along(at)
            part, size = self.joints.part, np.diff(self.joints.start)
            stops = np.where(np.isin(part % 3, (LOWER, UPPER)), self.world.joints.e[self.joints.joint], 0.0)
            rows, bias = _joined(rows, held.rows), _joined(bias, held.bias)
            e, bound = _joined(e, np.repeat(stops, size)[None]), held.bound
        still = (self.sides >= 0) & (self.bodies.row[self.sides] < 0)
        return rows, bias + _over_sides(rows * still[:, :, None], self.sides, at.v_free), e, bound

    def changed(self, at: Middle, f: Complex, v: Array, r: Array, left: float, k: int) -> Changed:
        """How the problem with momenta f, shape (k, nd, 6), changes along k directions at v, shape (6 nd,),
        and r, shape (p,)."""
        posed, nd = self.posed(at, left), self.bodies.dynamic.size
        drows = changes(posed.rows, k)
        pushed = (drows * r[:, None, None]).transpose(1, 2, 0, 3).reshape(2 * r.size, 6 * k)
        pushed = (self._scatter @ pushed).reshape(nd, k, 6)
        own = self._own_momentum(at, f, v, k)
        turned = np.einsum("kpsi,psi->pk", drows, self._of_sides(v.reshape(-1, 6)))
        return Changed(
            own.transpose(1, 2, 0).reshape(-1, k) + pushed.transpose(0, 2, 1).reshape(-1, k),
            turned + changes(posed.u_bias, k).T, changes(posed.coefficient, k).T,
            changes(posed.lower, k).T, changes(posed.upper, k).T,
        )  # fmt: skip

    def weighed(
        self, at: Middle, f: Complex, v: Array, r: Array, left: float, weights: Changed, k: int
    ) -> tuple[Array, Array]:
        """`changed` times weights with m columns, by where it is: of rows, shape (p, k, m), and of dynamic
        bodies, shape (nd, k, m); without coefficients and bounds, which belong to no body."""
        posed, p, m = self.posed(at, left), r.size, weights.momentum.shape[1]
        on_momentum = weights.momentum.reshape(-1, 6, m)
        on_rows = r[:, None, None, None] * self._of_sides(on_momentum)
        on_rows += self._of_sides(v.reshape(-1, 6))[..., None] * weights.velocity[:, None, None]
        drows = changes(posed.rows, k).transpose(1, 0, 2, 3).reshape(p, k, 12)
        of_rows: Array = drows @ on_rows.reshape(p, 12, m)
        of_rows += changes(posed.u_bias, k).T[:, :, None] * weights.velocity[:, None]
        return of_rows, np.einsum("kni,nim->nkm", self._own_momentum(at, f, v, k), on_momentum)

    def _own_momentum(self, at: Middle, f: Complex, v: Array, k: int) -> Array:
        """How f - M v changes [N s, N m s], shape (k, nd, 6)."""
        dynamic, own = self.bodies.dynamic, v.reshape(-1, 6)
        momentum = np.array(np.broadcast_to(f, (k, *f.shape[1:])))
        momentum[..., :3] -= at.given.mass[:, dynamic, None] * own[:, :3]
        momentum[..., 3:] -= times(at.J, own[:, 3:])
        return changes(momentum, k)

    def _of_sides(self, x: Array) -> Array:
        """Numbers of dynamic bodies, (nd, ...), at both sides of every row; 0 where one is not dynamic."""
        row = np.where(self.sides >= 0, self.bodies.row[self.sides], -1)
        return np.concatenate([x, np.zeros((1, *x.shape[1:]))])[row]

    def arrival(self, at: Middle, v_after: Array, k: int, dv: Array | None = None) -> tuple[Array, Array]:
        """Changes of q (displacements) and v at the end, each (6 n, k), from v after the impulses, shape
        (6 nd,), which changes by dv, shape (6 nd, k), 0 unless given."""
        dynamic, n = self.bodies.dynamic, self.bodies.count
        v = np.array(np.broadcast_to(at.v_free, (k, *at.v_free.shape[1:])))
        v[:, dynamic] = v_after.reshape(-1, 6)
        if dv is not None:
            v[:, dynamic] += 1j * EPSILON * dv.T.reshape(k, dynamic.size, 6)
        q_end, v_end = freely(at.q, v, self.theta * at.given.h, at.J, at.J_inverse, dynamic)
        moved_q = changes(q_end, k).reshape(k, 7 * n).T
        return to_displacements(q_end[0].real, moved_q), changes(v_end, k).reshape(k, 6 * n).T

    def arrival_by_v(self, v_after: Array) -> tuple[Array, Array]:
        """Blocks of the derivatives of q and v of each dynamic body at the end by its v after the impulses,
        each (nd, 6, 6): bodies do not see each other on the way."""
        nd, dynamic = self.bodies.dynamic.size, self.bodies.dynamic
        dv = np.tile(np.eye(6), (nd, 1))
        q, v = self.arrival(self.base, v_after, 6, dv)
        return q.reshape(-1, 6, 6)[dynamic], v.reshape(-1, 6, 6)[dynamic]


def _layout(law: Array) -> tuple[IntArray, IntArray]:
    """Which of the six numbers of contacts are components, and which of their four coefficients groups."""
    used = np.ones((len(law), 6), bool)
    used[:, 3:5], used[:, 5] = law[:, 1:2] > 0.0, law[:, 2] > 0.0
    groups = np.zeros((len(law), 4), bool)
    groups[:, 0], groups[:, 1:3] = True, law[:, 1:3] > 0.0
    return np.flatnonzero(used), np.flatnonzero(groups)


def _over_sides(rows: Complex, sides: IntArray, v: Complex) -> Complex:
    """Rows times the velocities of their sides, shape (k, p); rows of the inertial frame are 0."""
    return dot(rows[:, :, 0], v[:, sides[:, 0]]) + dot(rows[:, :, 1], v[:, sides[:, 1]])


def _joined(first: Complex, second: Complex) -> Complex:
    k = max(len(first), len(second))
    return np.concatenate([np.broadcast_to(x, (k, *x.shape[1:])) for x in (first, second)], axis=1)


def _prescribed(name: str, motion: object, t: Complex) -> tuple[Complex, Complex]:
    """Velocity and spin of a kinematic body, inertial, each of shape (k, 3); in time by differences."""
    owner, when = f"body {name!r}", t[0].real

    def both(at: Array) -> Array:
        return np.stack(velocities(owner, motion, float(at)))  # type: ignore[arg-type]

    value = both(when)[None].astype(complex)
    if callable(motion) and t.imag.any():
        slope = central(both, np.asarray(when), np.ones(1))
        value = value + 1j * t.imag[:, None, None] * slope
    return value[:, 0], value[:, 1]
