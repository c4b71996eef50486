"""Description of a simulated robot, with which a trajectory can be read and drawn without the robot."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.detection.mujoco_library import load_mujoco
from stickslip.kernels.robots.layout import DRY_FRICTION, LIMIT
from stickslip.kernels.steps.tables import JointTable
from stickslip.mechanics.world import BodyKind
from stickslip.names import LISTED, alternatives
from stickslip.robots.robot import Robot
from stickslip.rotations import matrices
from stickslip.simulation.world_model import ShapeRecord, WorldModel
from stickslip.state import Array, IntArray, UnknownNameError

KINDS = ("free", "ball", "slide", "hinge")
"""Kinds of joints, in MuJoCo's order."""
SIZES = {"free": (7, 6), "ball": (4, 3), "slide": (1, 1), "hinge": (1, 1)}
"""Number of coordinates and of velocities of each kind."""


@dataclass(frozen=True, eq=False)
class RobotModel(WorldModel):
    """Bodies and shapes of a robot as plain data, and its coordinates."""

    coordinates: tuple[str, ...] = ()
    """Names of the joints."""
    coordinate_kind: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    """Index in `KINDS` of each joint [-], shape (nj,)."""
    coordinate_place: IntArray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    """Index of the first coordinate and of the first velocity of each joint [-], shape (nj, 2)."""
    sensor_names: tuple[str, ...] = ()
    """Names of MuJoCo's sensors."""
    sensor_place: IntArray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    """Index of the first number of each sensor, and their number [-], shape (ns, 2)."""
    input_names: tuple[str, ...] = ()
    """Names of actuators, and of mocap bodies that the user moves."""
    input_place: IntArray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    """Index in z of the first number of each input, and their number [-], shape (ni, 2)."""
    sizes: tuple[int, int, int] = (0, 0, 0)
    """Sizes of q, v and z."""

    @classmethod
    def of_robot(cls, robot: Robot) -> "RobotModel":
        """Return the description of a robot."""
        m = robot.model
        turn = matrices(np.array(m.body_iquat))
        inertia = np.einsum("bij,bj,bkj->bik", turn, m.body_inertia, turn)
        prescribed = m.body_mocapid[m.body_weldid] >= 0
        moved = (m.body_weldid != 0) & ~prescribed
        kind = np.where(moved, int(BodyKind.DYNAMIC), int(BodyKind.FIXED)).astype(np.int64)
        kind[prescribed] = int(BodyKind.KINEMATIC)
        shown = [k for k in range(m.ngeom) if m.geom_rgba[k, 3] > 0.0]
        records = [_shape(m, k) for k in shown]
        pairs = [(k, one) for k, one in zip(shown, records, strict=True) if one is not None]
        geoms = [k for k, _ in pairs]
        body = m.geom_bodyid[geoms].astype(np.int64)
        origin = -np.array(m.body_ipos)
        if robot.world is not None:  # bodies of a world are placed by the frames of their shapes
            origin[[m.body(name).id for name in robot.world.names]] = robot.world.origin
        driven = () if robot.world is None else robot.world.names
        mocap = [
            k for k, name in enumerate(robot.names("body")) if name not in driven and m.body_mocapid[k] >= 0
        ]
        places = [(m.na + k, 1) for k in range(m.nu)]
        places += [(m.na + m.nu + 7 * int(m.body_mocapid[k]), 7) for k in mocap]
        none = np.zeros(0, np.int64)
        return cls(
            robot.names("body"), kind, np.where(moved, m.body_mass, 0.0), inertia, origin,
            tuple(one for _, one in pairs), body, np.array(m.geom_pos[geoms]) - m.body_ipos[body],
            np.array(m.geom_quat[geoms]), np.array(m.opt.gravity), (), none, np.zeros((0, 2), np.int64),
            np.zeros((0, 2, 3)), np.zeros((0, 2, 3, 3)), np.zeros(0), np.zeros((0, 2)), np.zeros((0, 2)),
            robot, robot.names("joint"), m.jnt_type.astype(np.int64),
            np.stack([m.jnt_qposadr, m.jnt_dofadr], axis=1).astype(np.int64), robot.names("sensor"),
            np.stack([m.sensor_adr, m.sensor_dim], axis=1).astype(np.int64),
            (*robot.names("actuator"), *(robot.names("body")[k] for k in mocap)),
            np.array(places, np.int64).reshape(-1, 2),
            (int(m.nq), int(m.nv), int(m.na + m.nu + 7 * m.nmocap)),
        )  # fmt: skip

    def inputs(self, z: Array) -> dict[str, Array]:
        """Return controls [any], shape (n,), and poses of mocap bodies [m, -], shape (n, 7), by name; z: that
        of n records."""
        return {
            name: z[:, k] if count == 1 else z[:, k : k + count]
            for name, (k, count) in zip(self.input_names, self.input_place.tolist(), strict=True)
        }

    def coordinate(self, name: str) -> tuple[str, slice, slice]:
        """Return the kind of a joint by name, and the slices of its coordinates and velocities."""
        if name not in self.coordinates:
            known = alternatives(name, self.coordinates, most=LISTED)
            raise UnknownNameError(f"unknown joint {name!r}; {known}")
        j = self.coordinates.index(name)
        kind, (q, v) = KINDS[int(self.coordinate_kind[j])], self.coordinate_place[j].tolist()
        nq, nv = SIZES[kind]
        return kind, slice(q, q + nq), slice(v, v + nv)


def _shape(m: Any, k: int) -> ShapeRecord | None:
    """Return the record of a geom for viewers; None for other kinds."""
    kinds = load_mujoco().mjtGeom
    size, kind = m.geom_size[k], int(m.geom_type[k])
    if kind == int(kinds.mjGEOM_PLANE):
        return ShapeRecord("plane")
    if kind == int(kinds.mjGEOM_SPHERE):
        return ShapeRecord("sphere", (float(size[0]),))
    if kind in (int(kinds.mjGEOM_CAPSULE), int(kinds.mjGEOM_CYLINDER)):
        name = "capsule" if kind == int(kinds.mjGEOM_CAPSULE) else "cylinder"
        return ShapeRecord(name, (float(size[0]), 2.0 * float(size[1])))
    if kind == int(kinds.mjGEOM_BOX):
        return ShapeRecord("cuboid", tuple((2.0 * size).tolist()))
    if kind == int(kinds.mjGEOM_ELLIPSOID):
        return ShapeRecord("ellipsoid", tuple(size.tolist()))
    if kind == int(kinds.mjGEOM_MESH):
        mesh = int(m.geom_dataid[k])
        first = int(m.mesh_vertadr[mesh])
        points = np.array(m.mesh_vert[first : first + int(m.mesh_vertnum[mesh])], float)
        return ShapeRecord("convex-hull", (), points)
    if kind == int(kinds.mjGEOM_HFIELD):
        field = int(m.geom_dataid[k])
        rows, columns, first = (int(x[field]) for x in (m.hfield_nrow, m.hfield_ncol, m.hfield_adr))
        heights = np.array(m.hfield_data[first : first + rows * columns], float).reshape(rows, columns)
        width, depth, top, _ = m.hfield_size[field].tolist()
        return ShapeRecord("height-field", (2.0 * width, 2.0 * depth), top * heights.T)
    return None


@dataclass(frozen=True, eq=False)
class CoordinateView:
    """One joint of a robot over a trajectory."""

    name: str
    kind: str
    """free, ball, slide or hinge."""
    position: Array
    """Coordinates: for slide and hinge joints [m, rad], shape (n,); for others position and quaternion
    [m, -], shape (n, 4 or 7)."""
    speed: Array
    """Velocities [m/s, rad/s], shape (n,), or (n, 3 or 6)."""
    effort: Array
    """Mean effort of its limits and dry friction over the last step of each record [N, N m], shape (n,)."""

    @property
    def angle(self) -> Array:
        """Angle of a hinge [rad], shape (n,)."""
        if self.kind != "hinge":
            raise AttributeError(f"joint {self.name!r} is of kind {self.kind}, which has no angle")
        return self.position

    @property
    def velocity(self) -> Array:
        """Velocities, an alias of `speed`."""
        return self.speed


def coordinate_view(
    model: RobotModel, name: str, h: Array, q: Array, v: Array, impulses: JointTable
) -> CoordinateView:
    """Return the view of a joint by name; the other arguments are columns of the trajectory."""
    kind, of_q, of_v = model.coordinate(name)
    number, single = model.coordinates.index(name), of_q.stop - of_q.start == 1
    # Blocks of the limits and of the friction of this joint, by their names (`kernels/robots/rows.py`).
    variety, key = impulses.id % 4, impulses.id // 4
    sign = np.zeros(impulses.id.shape)
    sign[(variety == LIMIT) & (key // 4 == number) & (key % 4 == 0)] = -1.0
    sign[(variety == LIMIT) & (key // 4 == number) & (key % 4 == 1)] = 1.0
    friction = (variety == DRY_FRICTION) & (key % 2 == 0) & (key // 2 >= of_v.start) & (key // 2 < of_v.stop)
    sign[friction] = 1.0
    record = np.repeat(np.arange(len(h)), np.diff(impulses.offset))
    effort = np.zeros(len(h))
    if single:
        np.add.at(effort, record, sign * impulses.r)
        effort /= np.where(h > 0.0, h, 1.0)
    pick = (lambda x, part: x[:, part.start]) if single else (lambda x, part: x[:, part])
    return CoordinateView(name, kind, pick(q, of_q), pick(v, of_v), effort)
