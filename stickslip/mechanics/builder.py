"""`WorldBuilder`: collects bodies, joints, forces and sensors, and builds a frozen `World` of them."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.laws import COEFFICIENTS, NewtonImpact
from stickslip.mechanics import materials, placement
from stickslip.mechanics.forces import Force, Forces, bound
from stickslip.mechanics.given import Call, Given, new_name, numbers, recorded
from stickslip.mechanics.inputs import declared_inputs
from stickslip.mechanics.joint_start import JointRow, PlacedJoint, joint_row, joint_table, kind_and_places
from stickslip.mechanics.joints import JointKind
from stickslip.mechanics.motions import Motion, Motions, velocities
from stickslip.mechanics.placement import ORIGIN, STILL, UPRIGHT, Placed, Solid
from stickslip.mechanics.sensors import Reading, Sensing
from stickslip.mechanics.shapes import Shape
from stickslip.mechanics.world import BodyKind, Filters, Shapes, World
from stickslip.names import LISTED, alternatives
from stickslip.rotations import matrices
from stickslip.state import Array, BoolArray, IntArray, ModelError, State

GROUPS = 15
"""Largest number of groups of shapes, set by the number of filter bits of MuJoCo's narrow phase."""
SENSORS = (
    "PositionSensor", "VelocitySensor", "JointSensor", "DistanceSensor", "ForceSensor", "TorqueSensor",
    "ContactSensor", "Accelerometer", "Gyroscope", "Sensor",
)  # fmt: skip
"""Names of the sensor classes."""


class WorldBuilder:
    """Builder of worlds: place bodies, joints, forces and sensors, then call `build`.

    Positions and orientations are those at the start, in the inertial frame. Names are unique; every method
    returns the name.

    Example:

        b = ss.WorldBuilder()
        b.body("floor", ss.Plane(), fixed=True)
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 1))
        world = b.build()
    """

    def __init__(self, gravity: ArrayLike = (0.0, 0.0, -9.81)):
        self._gravity = numbers("the world", "gravity", gravity, (3,))
        self._materials = {"default": NewtonImpact(mu=0.5)}
        self._given_materials: set[str] = set()
        self._pairs: dict[tuple[str, str], dict[str, float]] = {}
        self._groups: dict[str, int] = {"default": 0}
        self._bodies: dict[str, Placed] = {}
        self._numbers: dict[str, int] = {}
        self._solids: dict[int, tuple[Any, Solid]] = {}
        self._kinds: set[type] = set()
        self._apart: set[tuple[int, int]] = set()
        self._apart_groups: list[tuple[str, str]] = []
        self._joints: dict[str, JointRow] = {}
        self._forces: dict[str, Force] = {}
        self._sensors: dict[str, Sensing] = {}
        self.calls: list[Call] = [("gravity", (self._gravity,), {})]
        """Calls of the methods of this builder, in order, which model files store."""

    @recorded
    def material(
        self, name: str, *, mu: float = 0.5, mu_roll: float = 0.0, mu_spin: float = 0.0, e: float = 0.0
    ) -> str:
        """Add a material, and return its name.

        mu        coefficient of friction [-]
        mu_roll   coefficient of rolling friction [m]
        mu_spin   coefficient of torsional friction [m]
        e         coefficient of restitution [-]

        A contact of two materials has the geometric mean of each of mu, mu_roll and mu_spin, and the smaller
        e,
        unless `pair` sets them. The material "default" exists from the start and may be redefined once.
        """
        new_name("material", name, self._given_materials)
        owner = f"material {name!r}"
        coefficients = materials.given_coefficients(owner, mu=mu, mu_roll=mu_roll, mu_spin=mu_spin, e=e)
        self._materials[name] = NewtonImpact.of([coefficients[key] for key in COEFFICIENTS])
        self._given_materials.add(name)
        return name

    @recorded
    def pair(
        self, first: str, second: str, *, mu: float | None = None, mu_roll: float | None = None,
        mu_spin: float | None = None, e: float | None = None, law: NewtonImpact | None = None,
    ) -> None:  # fmt: skip
        """Set the contact law of two materials, or of a material with itself.

        Give some coefficients (None keeps the default rule) or a complete `law`.
        """
        owner = f"pair {first!r}, {second!r}"
        for name in (first, second):
            if name not in self._materials:
                raise ModelError(
                    f"{owner}: unknown material {name!r}; {alternatives(name, self._materials, most=LISTED)}"
                )
        if (first, second) in self._pairs or (second, first) in self._pairs:
            raise ModelError(f"{owner} is defined twice")
        coefficients = materials.given_coefficients(owner, mu=mu, mu_roll=mu_roll, mu_spin=mu_spin, e=e)
        if law is not None:
            if coefficients:
                raise ModelError(f"{owner}: give its law or {', '.join(coefficients)}, not both")
            coefficients = materials.law_coefficients(owner, law)
        self._pairs[first, second] = coefficients

    @recorded
    def body(
        self, name: str, shape: Shape | None = None, *,
        position: ArrayLike = ORIGIN, quaternion: ArrayLike = UPRIGHT,
        velocity: ArrayLike = ORIGIN, spin: ArrayLike = ORIGIN,
        density: float = 1000.0, mass: float | None = None, inertia: ArrayLike | None = None,
        centre: ArrayLike | None = None,
        material: str = "default", group: str = "default", fixed: bool = False, motion: Motion | None = None,
    ) -> str:  # fmt: skip
        """Add a body, and return its name.

        `position` [m] and `quaternion` (scalar first) define the initial pose of the frame of the shape.
        `velocity` [m/s] is the velocity of the origin of this frame, `spin` [rad/s] the angular velocity in
        the inertial frame.

        Mass [kg] and inertia [kg m²] are computed from the shape and `density` [kg/m³], or from the shape and
        `mass`, or both are given. `inertia` is about the centre of mass in the axes of the shape's frame: 3
        principal moments or a 3 x 3 matrix. The centre of mass is the centroid of the shape, or `centre` [m]
        in the shape's frame, which requires mass and inertia (for example of a loaded die).

        fixed    whether the body never moves
        motion   prescribed motion of the origin of the frame: a function t -> (velocity, spin), a constant
                 pair, or an `Input` of six numbers; the pose is integrated from `position` and `quaternion`
        """
        new_name("body", name, self._bodies)
        owner = f"body {name!r}"
        stored = self._solids.get(id(shape))
        if stored is None or stored[0] is not shape:
            stored = self._solids[id(shape)] = (shape, placement.solid(owner, shape, self._kinds))
        solid = stored[1]
        if material not in self._materials:
            raise ModelError(
                f"{owner}: unknown material {material!r};"
                f" {alternatives(material, self._materials, most=LISTED)}"
            )
        x, p = placement.place(owner, "position", position), placement.turn(owner, quaternion)
        v, w = placement.place(owner, "velocity", velocity), placement.place(owner, "spin", spin)
        if fixed or motion is not None:
            kind = BodyKind.FIXED if fixed else BodyKind.KINEMATIC
            self._check_driven(owner, kind, motion, bool(v.any() or w.any()), mass, inertia, centre)
            if motion is not None:
                v, w = velocities(owner, motion, 0.0)
            m, J, com = 0.0, STILL, placement.NO_POSITION
        else:
            kind = BodyKind.DYNAMIC
            m, J = placement.mass_and_inertia(owner, solid, density, mass, inertia)
            com = placement.centre_of_mass(owner, solid, inertia, centre)
        self._numbers[name] = len(self._bodies)
        self._bodies[name] = Placed(
            kind, m, J, com, x, p, v, w, solid.parts,
            list(self._materials).index(material), self._group(owner, group), motion,
        )  # fmt: skip
        return name

    @recorded
    def joint(
        self, name: str, kind: str | JointKind | PlacedJoint, first: str, second: str | None = None, *,
        point: ArrayLike | None = None, axis: ArrayLike | None = None,
        limits: tuple[float | None, float | None] | None = None,
        turn_limits: tuple[float | None, float | None] | None = None,
        friction: float = 0.0, turn_friction: float = 0.0, e: float = 0.0,
        second_point: ArrayLike | None = None, collide: bool = False,
    ) -> str:  # fmt: skip
        """Add a joint of body `first` to body `second`, or to the inertial frame if that is None.

        `kind` is fixed, ball, hinge, slider, cylindrical or distance, or a joint object with its own point
        and axis, such as `HingeJoint(point, axis)`.

        `point` [m] and `axis` are in the inertial frame at the start. There the coordinates of hinges [rad]
        and sliders [m] are zero; they increase as the first body turns about the axis, or slides along it,
        relative to the second body.

        `limits` (lower, upper) are stops of the coordinate with restitution `e`; None is no stop. `friction`
        is the dry friction of the coordinate [N m for a hinge, N for a slider]. For a cylindrical joint these
        apply to sliding, and `turn_limits` and `turn_friction` to turning. A distance joint keeps the
        distance from `point` to `second_point` constant, or within `limits` [m].

        Contacts between the two bodies are excluded unless `collide`. Return the name.
        """
        new_name("joint", name, self._joints)
        owner = f"joint {name!r}"
        numbers = self._number(owner, first), -1 if second is None else self._number(owner, second)
        if numbers[0] == numbers[1]:
            raise ModelError(f"{owner}: a joint cannot connect body {first!r} to itself")
        sides = [None if side is None else self._bodies[side] for side in (first, second)]
        if not any(side is not None and side.kind == BodyKind.DYNAMIC for side in sides):
            raise ModelError(
                f"{owner}: neither {first!r} nor {second!r} is dynamic; at least one body must be dynamic"
            )
        places = {"point": point, "axis": axis, "second_point": second_point}
        known, places = kind_and_places(owner, kind, places)
        self._joints[name] = joint_row(
            name, known, numbers, sides, limits=limits, turn_limits=turn_limits, friction=friction,
            turn_friction=turn_friction, e=e, **places,
        )  # fmt: skip
        if not collide and second is not None:
            self._apart.add((min(numbers), max(numbers)))
        return name

    @recorded
    def force(self, force: Force) -> str:
        """Add a force besides gravity: a `Spring`, `Damper`, `Actuator` or `BodyForce`. Return its name."""
        if not isinstance(force, Force):
            raise ModelError(f"{force!r} is not a force; known: Spring, Damper, Actuator, BodyForce")
        self._forces[new_name("force", force.name, self._forces)] = force
        return force.name

    @recorded
    def sensor(self, sensor: Sensing) -> str:
        """Add a sensor: one of `SENSORS`, such as a `PositionSensor`, or a user-defined `Sensor`. Return its
        name."""
        if not isinstance(sensor, Sensing):
            raise ModelError(f"{sensor!r} is not a sensor; known: {', '.join(SENSORS)}")
        self._sensors[new_name("sensor", sensor.name, self._sensors)] = sensor
        return sensor.name

    @recorded
    def apart(self, first: str, second: str) -> None:
        """Exclude contacts between two bodies."""
        i, j = self._number("apart", first), self._number("apart", second)
        if i == j:
            raise ModelError(f"apart: {first!r} is given twice; a body never touches itself")
        self._apart.add((min(i, j), max(i, j)))

    @recorded
    def apart_groups(self, first: str, second: str) -> None:
        """Exclude contacts between two groups of bodies, or within a group if it is given twice."""
        self._apart_groups.append((first, second))

    def build(self) -> World:
        """Return a frozen world of all that was added; the builder may be used further."""
        # 1. Bodies, shapes, materials and joints.
        names, bodies = tuple(self._bodies), list(self._bodies.values())
        kind = np.array([body.kind for body in bodies], np.int64)
        dynamic = kind == BodyKind.DYNAMIC
        mass = np.array([body.mass for body in bodies], float)
        inertia = np.array([body.inertia for body in bodies]).reshape(-1, 3, 3)
        placement.check_inertias([names[i] for i in np.flatnonzero(dynamic)], inertia[dynamic])
        centre = np.array([body.centre for body in bodies]).reshape(-1, 3)
        M = np.zeros((int(dynamic.sum()), 6, 6))
        M[:, range(3), range(3)] = mass[dynamic, None]
        M[:, 3:, 3:] = inertia[dynamic]
        world = World(
            names=names,
            kind=_frozen(kind),
            row=_frozen(np.where(dynamic, np.cumsum(dynamic) - 1, -1)),
            mass=_frozen(mass),
            inertia=_frozen(inertia),
            origin=_frozen(0.0 - centre),
            M=_frozen(M),
            shapes=_shapes(bodies, centre),
            materials=materials.tables(self._materials, self._pairs),
            filters=self._filters(),
            gravity=self._gravity,
            motions=_motions(self._bodies),
            joints=joint_table(self._joints.values()),
            forces=Forces(),
            sensors=(),
            start=_start(bodies, centre),
        )
        # 2. Forces, which refer to bodies and joints of the world, and inputs.
        forces = bound(world, self._forces.values())
        world = replace(world, forces=forces, inputs=declared_inputs(forces, world.motions))
        # 3. Sensors; reading them at the start checks them.
        sensors = tuple(sensor.bind(world) for sensor in self._sensors.values())
        for sensor in sensors:
            sensor.read(Reading.at(world, world.start))
        world = replace(world, sensors=sensors)
        return replace(world, given=Given(tuple(self.calls), dict(vars(world))))

    def _check_driven(
        self, owner: str, kind: BodyKind, motion: Motion | None, moving: bool, mass: Any, inertia: Any,
        centre: Any,
    ) -> None:  # fmt: skip
        """Raise a ModelError if a fixed or kinematic body has an initial velocity, mass, inertia or
        centre."""
        kind_name = kind.name.lower()
        if kind == BodyKind.FIXED and motion is not None:
            raise ModelError(f"{owner}: it is fixed and has a motion; give only one of them")
        if moving:
            raise ModelError(f"{owner}: it is {kind_name}; its velocity and spin cannot be given")
        if mass is not None or inertia is not None:
            raise ModelError(f"{owner}: it is {kind_name}; its mass and inertia cannot be given")
        if centre is not None:
            raise ModelError(f"{owner}: it is {kind_name}; its centre of mass cannot be given")

    def _group(self, owner: str, group: str) -> int:
        """Return the index of a group, which is created if it is new."""
        if group not in self._groups:
            if len(self._groups) == GROUPS:
                raise ModelError(
                    f"{owner}: group {group!r} exceeds the limit of {GROUPS} groups:"
                    f" {', '.join(self._groups)}"
                )
            self._groups[new_name("group", group, ())] = len(self._groups)
        return self._groups[group]

    def _number(self, owner: str, name: str) -> int:
        """Return the index of a body."""
        if name not in self._numbers:
            raise ModelError(
                f"{owner}: unknown body {name!r}; {alternatives(name, self._bodies, most=LISTED)}"
            )
        return self._numbers[name]

    def _filters(self) -> Filters:
        """Return the pairs of groups and of bodies whose contacts are excluded."""
        collide: BoolArray = np.ones((len(self._groups), len(self._groups)), np.bool_)
        for pair in self._apart_groups:
            for name in pair:
                if name not in self._groups:
                    raise ModelError(
                        f"apart_groups: unknown group {name!r};"
                        f" {alternatives(name, self._groups, most=LISTED)}"
                    )
            i, j = (self._groups[name] for name in pair)
            collide[i, j] = collide[j, i] = False
        apart: IntArray = np.array(sorted(self._apart), np.int64).reshape(-1, 2)
        return Filters(tuple(self._groups), _frozen(collide), _frozen(apart))


def _frozen(array: Any) -> Any:
    array.flags.writeable = False
    return array


def _shapes(bodies: list[Placed], centre: Array) -> Shapes:
    """Return one row per shape part, in the frames of the bodies, whose origins are the centres of mass."""
    rows = [(i, *part) for i, body in enumerate(bodies) for part in body.parts]
    body_of_row = np.array([i for i, _, _, _ in rows], np.int64)
    position = np.array([place for _, _, place, _ in rows]).reshape(-1, 3) - centre[body_of_row]
    return Shapes(
        shape=tuple(shape for _, shape, _, _ in rows),
        body=_frozen(body_of_row),
        position=_frozen(position),
        quaternion=_frozen(np.array([turn for _, _, _, turn in rows]).reshape(-1, 4)),
        material=_frozen(np.array([bodies[i].material for i in body_of_row], np.int64)),
        group=_frozen(np.array([bodies[i].group for i in body_of_row], np.int64)),
    )


def _motions(bodies: dict[str, Placed]) -> Motions:
    moved = [(i, name, b.motion) for i, (name, b) in enumerate(bodies.items()) if b.motion is not None]
    numbers = tuple(i for i, _, _ in moved)
    return Motions(tuple(name for _, name, _ in moved), numbers, tuple(motion for _, _, motion in moved))


def _start(bodies: list[Placed], centre: Array) -> State:
    """Return the state at t = 0 in terms of the centres of mass.

    With c the centre of mass in the user's frame: x = x_user + R c, ẋ = ẋ_user + ω × R c, Ω = R'ω.
    """
    q, v = np.zeros((len(bodies), 7)), np.zeros((len(bodies), 6))
    q[:, 3:] = np.array([body.quaternion for body in bodies]).reshape(-1, 4)
    R = matrices(q[:, 3:])
    arm = np.einsum("nij,nj->ni", R, centre)
    spin = np.array([body.spin for body in bodies]).reshape(-1, 3)
    q[:, :3] = np.array([body.position for body in bodies]).reshape(-1, 3) + arm
    v[:, :3] = np.array([body.velocity for body in bodies]).reshape(-1, 3) + np.cross(spin, arm)
    v[:, 3:] = np.einsum("nij,ni->nj", R, spin)
    return State(0.0, _frozen(q.ravel()), _frozen(v.ravel()))
