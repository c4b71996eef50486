"""`Robot`: a model in reduced coordinates, read from MJCF or URDF."""

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.detection.mujoco_library import Warnings, load_mujoco
from stickslip.mechanics.given import numbers
from stickslip.mechanics.world import World
from stickslip.names import LISTED, alternatives
from stickslip.robots import conventions
from stickslip.robots.laws import PairLaws, law_row
from stickslip.robots.linkage import input_values, limit_restitutions, start_velocity
from stickslip.robots.reading import Source, explained, read_source
from stickslip.state import Array, IntArray, ModelError, State, UnknownNameError

CONES = ("groups", "joint")
"""Friction limits of sliding, torsion and rolling: one for each group, or one ellipsoid for all, as in
MuJoCo."""


@dataclass(frozen=True, eq=False)
class Robot:
    """Robot and its surroundings, loaded from MJCF or URDF: bodies with joints in reduced coordinates.

    Example:

        arm = ss.Robot.load('''<mujoco><worldbody><body><joint name="elbow" axis="0 1 0"/>
          <geom type="capsule" fromto="0 0 0 .4 0 0" size=".03" mass="1"/></body></worldbody></mujoco>''')
        run = ss.simulate(arm, until=0.1)
        print(run.joint("elbow").position[-1])
    """

    model: Any = field(repr=False)
    """MuJoCo's model; must not be modified."""
    name: str
    restitution: Array = field(repr=False)
    """Coefficients of restitution of geoms; a contact has the smaller one of its two [-], shape (ngeom,)."""
    limit_restitution: Array = field(repr=False)
    """Coefficients of restitution at limits of joints, then of tendons [-], shape (njnt + ntendon,)."""
    laws: PairLaws = field(repr=False)
    """Friction and restitution set for pairs of geoms."""
    cone: str = "groups"
    """One of `CONES`."""
    unused: tuple[str, ...] = ()
    """Entries of the model that have no effect with hard contact, one sentence each."""
    source: Source | None = field(default=None, repr=False)
    """Text of the model and its files; None for an MjModel."""
    world: World | None = field(default=None, repr=False)
    """Bodies around the robot, which are also in the model."""

    @classmethod
    def load(
        cls, source: Any, *, search: Sequence[str | PathLike[str]] = (),
        restitution: float | Mapping[str, float] | ArrayLike = 0.0,
        limit_restitution: float | Mapping[str, float] | ArrayLike = 0.0, cone: str = "groups",
    ) -> "Robot":  # fmt: skip
        """Return the robot of the path or the text of an MJCF or URDF file, an MjSpec or an MjModel.

        search              folders in which files and packages (`package://`) are searched, in addition to
                            the folder of the model; no other files are read
        restitution         restitution of geoms, which MJCF lacks: one number, one per geom, or by name
        limit_restitution   restitution at limits of joints and tendons, in the same forms
        cone                `groups`: separate friction limits of sliding, torsion and rolling; `joint`: one
                            ellipsoid for all, as in MuJoCo
        """
        mujoco = load_mujoco()
        name, files = "the model", None
        if isinstance(source, mujoco.MjModel):
            model, notes = copy.copy(source), tuple[str, ...]()
        elif isinstance(source, mujoco.MjSpec):
            model, notes = _compiled(source.copy(), name)
            assets = {key: bytes(value) for key, value in source.assets.items()}
            files = Source(name, source.to_xml(), "MJCF", {}, assets)
        elif isinstance(source, str | PathLike):
            files = read_source(source, search)
            name = files.name
            model, notes = _compiled(files, name)
        else:
            raise ModelError(
                f"Robot.load takes a path, a text, an MjSpec or an MjModel, not {type(source).__name__}"
            )
        return cls._of(model, notes, name, restitution, limit_restitution, cone, files)

    @classmethod
    def of_source(
        cls, source: Source, restitution: Any, limit_restitution: Any, cone: str,
        laws: PairLaws | None = None, world: World | None = None,
    ) -> "Robot":  # fmt: skip
        """Return a robot from a source that was read.

        Restitutions are those of all geoms and limits, including those of the world.
        """
        model, notes = _compiled(source, source.name, world)
        robot = cls._of(model, notes, source.name, restitution, limit_restitution, cone, source, world)
        if laws is None:
            return robot
        if laws.kind.shape != (model.ngeom,):
            raise ModelError(
                f"the table of laws is for {laws.kind.shape} geoms, but the model has {model.ngeom}"
            )
        return replace(robot, laws=laws)

    @classmethod
    def _of(
        cls, model: Any, notes: tuple[str, ...], name: str, restitution: Any, limit_restitution: Any,
        cone: str, files: Source | None, world: World | None = None,
    ) -> "Robot":  # fmt: skip
        """Return the robot of a compiled model; notes: MuJoCo's warnings."""
        mujoco = load_mujoco()
        conventions.check(model, name)
        if cone not in CONES:
            raise ModelError(f"cone is {cone!r}; expected one of {', '.join(CONES)}")
        ignored = () if files is None else files.ignored
        obj = mujoco.mjtObj
        geoms = [mujoco.mj_id2name(model, obj.mjOBJ_GEOM, k) or "" for k in range(model.ngeom)]
        joints = [mujoco.mj_id2name(model, obj.mjOBJ_JOINT, k) or "" for k in range(model.njnt)]
        joints += [mujoco.mj_id2name(model, obj.mjOBJ_TENDON, k) or "" for k in range(model.ntendon)]
        return cls(
            model, name, _values("restitution", "geom", restitution, geoms),
            _values("limit_restitution", "joint", limit_restitution, joints), PairLaws.none(model.ngeom),
            cone, (*conventions.unused(model), *ignored, *notes), files, world,
        )  # fmt: skip

    def with_world(self, world: World) -> "Robot":
        """Return the robot together with the bodies of a world.

        Shapes, masses, materials, names, start poses and velocities are those of the world. Contacts between
        bodies of the world have the laws of its materials. Contacts with the robot have the larger friction
        of both geoms, as in MuJoCo, and the smaller restitution, unless `with_pair` sets them.
        """
        from stickslip.robots import surroundings

        surroundings.check_world(self, world)
        assert self.source is not None
        model, notes = _compiled(self.source, self.name, world)
        surroundings.check_joined(self, model, world)
        material = world.shapes.material[surroundings.shape_order(model, world)]
        e = np.concatenate([self.restitution, np.diagonal(world.materials.e)[material]])
        of_robot = self.names("joint") + self.names("tendon"), self.limit_restitution.tolist()
        limits = limit_restitutions(world) | dict(zip(*of_robot, strict=True))
        robot = self._of(model, notes, self.name, e, 0.0, self.cone, self.source, world)
        names = (*robot.names("joint"), *robot.names("tendon"))
        robot = replace(robot, limit_restitution=np.array([limits.get(name, 0.0) for name in names]))
        return replace(robot, laws=self.laws.joined(world.materials.law, material))

    def with_pair(
        self, first: str, second: str, *, friction: ArrayLike | None = None, restitution: float | None = None,
        condim: int | None = None,
    ) -> "Robot":  # fmt: skip
        """Return the robot with another contact law between two geoms, or between all geoms of two bodies.

        friction      1 number: sliding; 3: sliding, torsion, rolling; 5: along and about both axes
                      [-, -, m, m, m]
        restitution   coefficient of restitution [-]
        condim        number of rows of the contact, as in MJCF: 1, 3, 4 or 6

        Values that are not given are unchanged.
        """
        owner = f"pair {first!r}, {second!r}"
        row = law_row(owner, friction, restitution, condim)
        sets = self._geoms(first), self._geoms(second)
        if friction is not None and row[0] > 0.0 and condim is None:
            dims = np.array(self.model.geom_condim)
            if np.maximum.outer(dims[sets[0]], dims[sets[1]]).min() == 1:
                raise ModelError(f"{owner}: geoms of condim 1 have no friction; give condim=3 too")
        return replace(self, laws=self.laws.with_pair(*sets, row))

    def _geoms(self, name: str) -> IntArray:
        """Return the index of the geom of that name, or the indices of all geoms of the body of that name."""
        geoms, bodies = self.names("geom"), self.names("body")
        if name in geoms:
            return np.array([geoms.index(name)])
        if name not in bodies:
            known = alternatives(name, (*geoms, *bodies), most=LISTED)
            raise UnknownNameError(f"unknown geom or body {name!r}; {known}")
        geoms_of_body = np.flatnonzero(self.model.geom_bodyid == bodies.index(name))
        if not geoms_of_body.size:
            raise ModelError(f"body {name!r} has no geoms")
        return geoms_of_body

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the names of elements of a kind: `body`, `joint`, `geom`, `actuator`, `sensor`, `key`, ...

        An unnamed element is called by its kind and index.
        """
        mujoco = load_mujoco()
        counts = {
            "body": self.model.nbody, "joint": self.model.njnt, "geom": self.model.ngeom,
            "actuator": len(self.model.actuator_trntype), "sensor": self.model.nsensor,
            "key": self.model.nkey, "equality": self.model.neq, "tendon": self.model.ntendon,
        }  # fmt: skip
        if kind not in counts:
            raise UnknownNameError(f"unknown kind {kind!r} of names; {alternatives(kind, counts)}")
        code = getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}")
        return tuple(mujoco.mj_id2name(self.model, code, k) or f"{kind}{k}" for k in range(counts[kind]))

    @property
    def start(self) -> State:
        """Initial state of the model and of the bodies of the world."""
        return self._state(self.model.qpos0, self._velocity)

    @cached_property
    def _velocity(self) -> Array:
        """Velocities at the start [m/s, rad/s], shape (nv,); only bodies of the world may move."""
        return np.zeros(self.model.nv) if self.world is None else start_velocity(self.model, self.world)

    @cached_property
    def _control(self) -> Array:
        """Controls at the start [any], shape (nu,); inputs of the world have their default values."""
        defaults, ctrl = {} if self.world is None else input_values(self.world), np.zeros(self.model.nu)
        ctrl[ctrl.size - len(defaults) :] = list(defaults.values())  # motors of the world are last
        return ctrl

    def key(self, name: str, t: float = 0.0) -> State:
        """Return the state of a keyframe."""
        known = self.names("key")
        if name not in known:
            listed = alternatives(name, known, most=LISTED) if known else "the model has none"
            raise UnknownNameError(f"unknown key {name!r}; {listed}")
        k, m = known.index(name), self.model
        mocap = np.concatenate([m.key_mpos[k].reshape(-1), m.key_mquat[k].reshape(-1)])
        # Keyframes do not include the bodies of the world.
        v, ctrl = m.key_qvel[k] + self._velocity, m.key_ctrl[k] + self._control
        return self._state(m.key_qpos[k], v, m.key_act[k], ctrl, mocap, t)

    def state(
        self, qpos: ArrayLike | None = None, qvel: ArrayLike | None = None, t: float = 0.0,
        ctrl: ArrayLike | None = None,
    ) -> State:  # fmt: skip
        """Return a state from positions, velocities and controls in MuJoCo's order [m, -, rad; m/s, rad/s;
        any]."""
        m = self.model
        q = m.qpos0 if qpos is None else numbers("robot.state", "qpos", qpos, (m.nq,))
        v = self._velocity if qvel is None else numbers("robot.state", "qvel", qvel, (m.nv,))
        controls = None if ctrl is None else numbers("robot.state", "ctrl", ctrl, (m.nu,))
        state = self._state(q, v, t=float(numbers("robot.state", "t", t, ())), ctrl=controls)
        self.check_state(state)
        return state

    def check_state(self, state: State) -> None:
        """Raise a ModelError for an invalid state of this robot: wrong sizes, non-finite values, or
        quaternions that are not of unit length."""
        m = self.model
        nz = m.na + m.nu + 7 * m.nmocap
        if not np.isfinite(state.t):
            raise ModelError(f"start: t is {state.t}; it must be finite")
        for key, size in (("q", m.nq), ("v", m.nv), ("z", nz)):
            value = np.asarray(getattr(state, key), float)
            if value.shape != (size,):
                raise ModelError(f"start: {key} has shape {value.shape}, expected ({size},)")
            if not np.isfinite(value).all():
                raise ModelError(f"start: {key} is not finite: {value}")
        for j in range(m.njnt):
            at = {0: m.jnt_qposadr[j] + 3, 1: m.jnt_qposadr[j]}.get(int(m.jnt_type[j]))
            if at is not None and not abs(np.linalg.norm(state.q[at : at + 4]) - 1.0) < 1e-3:
                raise ModelError(
                    f"start: the quaternion of joint {self.names('joint')[j]!r} is {state.q[at : at + 4]},"
                    " not of unit length"
                )

    def _state(
        self, q: Array, v: Array, act: Array | None = None, ctrl: Array | None = None,
        mocap: Array | None = None, t: float = 0.0,
    ) -> State:  # fmt: skip
        """Return a state with the model's values of the arguments that are None."""
        m = self.model
        act = np.zeros(m.na) if act is None else act
        ctrl = self._control if ctrl is None else ctrl
        if mocap is None:
            bodies = [int(np.flatnonzero(m.body_mocapid == k)[0]) for k in range(m.nmocap)]
            mocap = np.concatenate([m.body_pos[bodies].reshape(-1), m.body_quat[bodies].reshape(-1)])
        arrays = [np.array(part, float) for part in (q, v, np.concatenate([act, ctrl, mocap]))]
        for array in arrays:
            array.flags.writeable = False
        return State(float(t), *arrays)

    def live(self, **how: Any) -> Any:
        """Return a run that is advanced step by step: `ss.live(robot, ...)`."""
        return import_module("stickslip.runs").live(self, **how)

    def __str__(self) -> str:
        m = self.model
        parts = [
            f"robot {self.name}: {m.nbody - 1} bodies, {m.njnt} joints, {m.nv} degrees of freedom,"
            f" {m.nu} controls, {m.ngeom} geoms, {m.nsensor} sensors, {m.neq} equality constraints"
        ]
        if self.world is not None:
            parts.append(f"with {len(self.world.names)} bodies around it")
        if m.nkey:
            parts.append(f"keys: {', '.join(self.names('key'))}")
        parts += [f"not used: {sentence}" for sentence in self.unused]
        return "\n".join(parts)


def _compiled(source: Any, name: str, world: World | None = None) -> tuple[Any, tuple[str, ...]]:
    """Compile a spec or a source; return MuJoCo's model and MuJoCo's warnings, one sentence each.

    Raise a ModelError with MuJoCo's message for an invalid model.
    """
    mujoco, original = load_mujoco(), source
    try:
        # MuJoCo reports a warning twice, and would write it to a file in the working directory.
        with Warnings() as texts, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            if isinstance(source, Source):
                source = mujoco.MjSpec.from_string(source.text, include=source.includes, assets=source.assets)
            model = source.compile()
            if world is not None:
                from stickslip.robots.surroundings import add_world

                add_world(source, world)
                model = source.compile()
            return model, tuple(f"MuJoCo warns: {' '.join(text.split())}" for text in dict.fromkeys(texts))
    except (ValueError, RuntimeError, mujoco.FatalError) as error:
        raise ModelError(explained(str(error), name, original)) from None


def _values(what: str, kind: str, argument: Any, names: Sequence[str]) -> Array:
    """Return one number for each name, from one number for all, a list, or a mapping by name."""
    values = np.zeros(len(names))
    if isinstance(argument, Mapping):
        for name, value in argument.items():
            if name not in names:
                known = [label for label in names if label]
                raise UnknownNameError(
                    f"{what}: no {kind} {name!r}; {alternatives(name, known, most=LISTED)}"
                )
            values[names.index(name)] = numbers(what, repr(name), value, ())
    else:
        try:
            values[:] = np.asarray(argument, float)
        except (TypeError, ValueError):
            raise ModelError(
                f"{what} is {argument!r}; expected a number, {len(names)} of them, or by name"
            ) from None
    if not ((values >= 0.0) & (values <= 1.0)).all():
        raise ModelError(f"{what} is {argument!r}; expected numbers from 0 to 1")
    values.flags.writeable = False
    return values
