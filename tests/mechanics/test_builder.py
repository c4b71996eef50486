"""Bodies placed by hand: mass, centre of mass, velocities, joints, materials, and errors with names."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.compounds import Compound
from stickslip.mechanics.given import rotation
from stickslip.mechanics.height_fields import HeightField
from stickslip.mechanics.shapes import Cuboid, Plane, Sphere
from stickslip.mechanics.world import BodyKind
from stickslip.rotations import matrices
from stickslip.state import ModelError, State

DUMBBELL = Compound((Sphere(1.0), (1.0, 0.0, 0.0)), (Sphere(0.5), (-1.0, 0.0, 0.0)))
CENTRE = (8.0 - 1.0) / 9.0
"""Masses are as 8 to 1, at 1 and -1."""


def test_a_body_of_two_balls_turns_about_their_common_centre():
    b = WorldBuilder()
    assert b.body("floor", Plane(), fixed=True) == "floor"
    turn = rotation((0, 0, 2.0), np.pi / 2)
    spin = np.array((0.3, -0.2, 0.5))
    b.body("pair", DUMBBELL, position=(1, 2, 3), quaternion=turn, velocity=(0, 0, 1), spin=spin, density=2.0)
    world = b.build()
    x = world.start.q[7:10]
    np.testing.assert_allclose(x, (1, 2 + CENTRE, 3), atol=1e-15)
    small, large = 2.0 * 4 / 3 * np.pi * 0.5**3, 2.0 * 4 / 3 * np.pi
    assert world.mass[1] == pytest.approx(small + large, rel=1e-15)
    own = 0.4 * (large * 1.0 + small * 0.25)
    across = own + large * (1 - CENTRE) ** 2 + small * (1 + CENTRE) ** 2
    np.testing.assert_allclose(world.inertia[1], np.diag([own, across, across]), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(world.M[0], np.diag([small + large] * 3 + [own, across, across]), atol=1e-12)
    # both parts are where they were placed: the frame of the body stands in the centre of mass
    np.testing.assert_allclose(world.shapes.position[1:], [[1 - CENTRE, 0, 0], [-1 - CENTRE, 0, 0]])
    np.testing.assert_allclose(
        world.start.v[6:9], np.cross(spin, (0, CENTRE, 0)) + np.array((0, 0, 1)), atol=1e-15
    )
    np.testing.assert_allclose(matrices(turn) @ world.start.v[9:12], spin, atol=1e-15)
    position, quaternion = world.pose(world.start, "pair")
    np.testing.assert_allclose(position, (1, 2, 3), atol=1e-15)
    np.testing.assert_allclose(quaternion, turn, atol=1e-15)
    velocity, turning = world.velocity(world.start, "pair")
    np.testing.assert_allclose(velocity, (0, 0, 1), atol=1e-15)
    np.testing.assert_allclose(turning, spin, atol=1e-15)


def test_a_nested_compound_is_the_same_body_as_a_flat_one():
    b = WorldBuilder()
    turn = rotation((1, 1, 0), 0.7)
    inner = Compound((Cuboid((1, 2, 3)), (0.5, 0, 0), turn), (Sphere(0.5), (0, 1, 0)))
    b.body("nested", Compound((inner, (1, 0, 2), turn), (Sphere(1.0), (0, 0, 0))))
    R = matrices(turn)
    twice = rotation((1, 1, 0), 1.4)
    b.body("flat", Compound(
        (Cuboid((1, 2, 3)), R @ (0.5, 0, 0) + (1, 0, 2), twice),
        (Sphere(0.5), R @ (0, 1, 0) + (1, 0, 2), turn),
        (Sphere(1.0), (0, 0, 0)),
    ))  # fmt: skip
    world = b.build()
    assert list(world.shapes.body) == [0, 0, 0, 1, 1, 1]
    np.testing.assert_allclose(world.inertia[0], world.inertia[1], rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(world.origin[0], world.origin[1], atol=1e-14)
    np.testing.assert_allclose(world.shapes.position[:3], world.shapes.position[3:], atol=1e-14)
    np.testing.assert_allclose(world.shapes.quaternion[:3], world.shapes.quaternion[3:], atol=1e-14)


def test_mass_and_inertia_may_be_given():
    b = WorldBuilder()
    b.body("scaled", Cuboid((1, 2, 3)), mass=6.0)
    b.body("moments", Sphere(1.0), mass=2.0, inertia=(1, 2, 2.5))
    b.body("bare", mass=1.0, inertia=np.eye(3))
    world = b.build()
    np.testing.assert_allclose(world.inertia[0], np.diag([6.5, 5.0, 2.5]), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(world.inertia[1], np.diag([1, 2, 2.5]))
    assert len(world.shapes.shape) == 2
    assert "World of 3 bodies: 3 dynamic; 9 kg" in str(world)
    assert "1 Cuboid, 1 Sphere" in str(world)
    assert repr(world) == "<World of 3 bodies>"


def test_kinds_rows_and_motions():
    b = WorldBuilder()
    b.body("a", Sphere(1.0))
    turn = rotation((1, 0, 0), np.pi / 2)
    b.body("belt", Cuboid((1, 1, 1)), quaternion=turn, motion=lambda t: ((t, 0, 0), (0, 0, 2)))
    b.body("wall", HeightField(np.zeros((3, 3)), (1, 1)), fixed=True)
    b.body("b", Sphere(1.0))
    b.body("drum", DUMBBELL, motion=((0, 0, 0), (0, 1, 0)))
    world = b.build()
    assert [BodyKind(k).name for k in world.kind] == ["DYNAMIC", "KINEMATIC", "FIXED", "DYNAMIC", "KINEMATIC"]
    assert list(world.row) == [0, -1, -1, 1, -1]
    assert not world.mass[[1, 2, 4]].any()
    assert not world.origin[4].any()  # a motion is that of the frame in which the shape was given
    v = np.zeros(30)
    world.motions.prescribe(0.5, world.start.q, v)
    np.testing.assert_allclose(v[6:12], (0.5, 0, 0, 0, 2, 0), atol=1e-15)  # inertial z is the body's y
    np.testing.assert_allclose(v[24:], (0, 0, 0, 0, 1, 0))
    np.testing.assert_array_equal(world.start.v[6:12].round(15), (0, 0, 0, 0, 2, 0))

    b.body("bad", Sphere(1.0), motion=lambda t: ((0, 0, np.nan if t > 1 else 0), (0, 0, 0)))
    with pytest.raises(ModelError, match="body 'bad' at t = 2 s: velocity of motion"):
        b.build().motions.prescribe(2.0, np.tile((0, 0, 0, 1.0, 0, 0, 0), 6), np.zeros(36))


def test_pairs_of_materials():
    b = WorldBuilder()
    b.material("wood", mu=0.9, mu_roll=0.04, mu_spin=0.01, e=0.5)
    b.material("steel", mu=0.4, mu_roll=0.01, mu_spin=0.0, e=0.8)
    b.material("default", mu=0.1)
    b.pair("steel", "default", mu=0.7, e=0.3)
    table = b.build().materials
    wood, steel, default = (table.names.index(name) for name in ("wood", "steel", "default"))
    assert table.mu[wood, steel] == table.mu[steel, wood] == pytest.approx(0.6)
    assert table.mu_roll[wood, steel] == pytest.approx(0.02)
    assert table.mu_spin[wood, steel] == 0.0
    assert table.e[wood, steel] == 0.5
    assert (table.mu[wood, wood], table.e[steel, steel]) == (0.9, 0.8)
    assert (table.mu[default, steel], table.e[steel, default]) == (0.7, 0.3)
    assert table.mu_roll[default, steel] == 0.0


def test_who_never_touches_whom():
    b = WorldBuilder()
    for name, group in (("a", "default"), ("b", "dust"), ("c", "dust"), ("d", "default")):
        b.body(name, Sphere(1.0), group=group)
    b.apart("d", "a")
    b.apart_groups("dust", "dust")
    b.joint("j", "ball", "c", "b", point=(0, 0, 0))
    b.joint("k", "ball", "a", "b", point=(0, 0, 0), collide=True)
    filters = b.build().filters
    np.testing.assert_array_equal(filters.apart, [[0, 3], [1, 2]])
    np.testing.assert_array_equal(filters.collide, [[True, True], [True, False]])
    for k in range(13):
        b.body(f"in {k}", Sphere(1.0), group=f"g{k}")
    with pytest.raises(ModelError, match="body 'last': group 'g13' exceeds the limit of 15 groups"):
        b.body("last", Sphere(1.0), group="g13")
    b.apart_groups("dust", "mist")
    with pytest.raises(ModelError, match="unknown group 'mist'; known: default, dust"):
        b.build()


def test_joints_see_one_point_and_one_frame_from_both_sides():
    b = WorldBuilder()
    b.body("arm", DUMBBELL, position=(1, 2, 3), quaternion=rotation((1, 2, 3), 1.0))
    b.body("base", Cuboid((1, 1, 1)), position=(-1, 0, 0), quaternion=rotation((0, 1, 0), 0.3))
    b.joint(
        "h", "hinge", "arm", "base", point=(0.5, 1, 1), axis=(0, 3, 4), limits=(-1, 2), friction=0.1, e=0.5
    )
    b.joint("c", "cylindrical", "arm", point=(0, 0, 1), axis=(1, 0, 0), limits=(None, 1), turn_limits=(-1, 1),
            friction=2.0, turn_friction=3.0)  # fmt: skip
    b.joint("d", "distance", "arm", "base", second_point=(-1, 0, 1), limits=(0, 10))
    b.joint("s", "slider", "base", axis=(0, 0, 1))
    world = b.build()
    joints = world.joints
    q = world.start.q.reshape(-1, 7)
    for j, name in enumerate(joints.names):
        seen, rows = [], []
        for side in (0, 1):
            i = joints.body[j, side]
            x, R = (np.zeros(3), np.eye(3)) if i < 0 else (q[i, :3], matrices(q[i, 3:]))
            seen.append(x + R @ joints.point[j, side])
            rows.append(joints.frame[j, side] @ R.T)
        np.testing.assert_allclose(rows[0], rows[1], atol=1e-15)
        np.testing.assert_allclose(rows[0] @ rows[0].T, np.eye(3), atol=1e-15)
        assert np.linalg.det(rows[0]) > 0.0
        if name == "d":
            assert joints.length[j] == pytest.approx(np.linalg.norm(seen[0] - seen[1]))
            np.testing.assert_allclose(seen, [q[0, :3], (-1, 0, 1)], atol=1e-15)
        else:
            np.testing.assert_allclose(seen[0], seen[1], atol=1e-14)
        if name == "h":
            np.testing.assert_allclose(seen[0], (0.5, 1, 1), atol=1e-15)
            np.testing.assert_allclose(rows[0][0], (0, 0.6, 0.8), atol=1e-15)
    np.testing.assert_array_equal(joints.body, [[0, 1], [0, -1], [0, 1], [1, -1]])
    np.testing.assert_array_equal(joints.lower[:3], [[-np.inf, -1], [-np.inf, -1], [0, -np.inf]])
    np.testing.assert_array_equal(joints.upper[:3], [[np.inf, 2], [1, 1], [10, np.inf]])
    np.testing.assert_array_equal(joints.friction, [[0, 0.1], [2, 3], [0, 0], [0, 0]])
    np.testing.assert_array_equal(joints.e, [0.5, 0, 0, 0])


def placed() -> WorldBuilder:
    b = WorldBuilder()
    b.body("floor", Plane(), fixed=True)
    b.body("box", Cuboid((1, 1, 1)))
    return b


BODIES = {
    "body 'x': mass is 0.0; it must be positive": {"mass": 0.0},
    "body 'x': mass is nan": {"mass": np.nan},
    "body 'x': density is -1.0; it must be positive": {"density": -1.0},
    "body 'x': inertia is given without a mass": {"inertia": (1, 1, 1)},
    "body 'x': inertia is impossible for a rigid body": {"mass": 1.0, "inertia": (1, 1, 3)},
    "body 'x': position": {"position": (0, np.nan, 0)},
    "body 'x': quaternion is zero": {"quaternion": (0, 0, 0, 0)},
    "body 'x': quaternion": {"quaternion": (np.nan, 0, 0, 1)},
    "body 'x': spin has shape": {"spin": (1, 2)},
    "body 'x': unknown material 'wod'; known: default": {"material": "wod"},
    "body 'x': it is fixed; its velocity": {"fixed": True, "velocity": (1, 0, 0)},
    "body 'x': it is fixed and has a motion; give only one of them": {
        "fixed": True,
        "motion": ((0, 0, 0), (0, 0, 0)),
    },
    "body 'x': it is kinematic; its mass": {"motion": ((0, 0, 0), (0, 0, 0)), "mass": 1.0},
    "body 'x' at t = 0 s: motion is 3": {"motion": 3},
    "body 'x': Plane has no mass": {"shape": Plane()},
    "body 'x': .*Plane.* has no mass": {"shape": Compound((Plane(), (0, 0, 0)), (Sphere(1), (0, 0, 1)))},
    "body 'x': 'ball' is not a shape; known: Sphere, Plane": {"shape": "ball"},
    "body 'x': a body without a shape needs a mass": {"shape": None},
}


@pytest.mark.parametrize(("message", "given"), BODIES.items(), ids=list(BODIES))
def test_a_body_that_cannot_be_is_refused_by_name(message, given):
    b = placed()
    with pytest.raises(ModelError, match=message):
        b.body("x", **{"shape": Cuboid((1, 1, 1)), **given})
    b.body("x", Sphere(1.0))  # the name was not taken by the one that was refused
    with pytest.raises(ModelError, match="the name of body 'x' is used twice"):
        b.body("x", Sphere(1.0))


HERE = {"point": (0, 0, 0), "axis": (0, 0, 1)}
JOINTS = {
    "joint 'j': unknown kind 'hing' of joints; known: fixed, ball": ("hing", "box", None, HERE),
    "joint 'j': unknown body 'bx'; known: floor, box": ("hinge", "bx", None, HERE),
    "joint 'j': a joint cannot connect body 'box' to itself": ("hinge", "box", "box", HERE),
    "joint 'j': neither 'floor' nor None is dynamic": ("hinge", "floor", None, HERE),
    "joint 'j': a hinge joint needs an axis": ("hinge", "box", None, {"point": (0, 0, 0)}),
    "joint 'j': a hinge joint needs a point": ("hinge", "box", None, {"axis": (0, 0, 1)}),
    "joint 'j': axis is zero": ("hinge", "box", None, {**HERE, "axis": (0, 0, 0)}),
    "joint 'j': limits is \\(1, -1\\)": ("slider", "box", None, {**HERE, "limits": (1, -1)}),
    "joint 'j': it starts at 0, outside its limits": ("slider", "box", None, {**HERE, "limits": (1, 2)}),
    "joint 'j': limits of an angle need both": ("hinge", "box", None, {**HERE, "limits": (None, 1)}),
    "joint 'j': friction is -1": ("hinge", "box", None, {**HERE, "friction": -1}),
    "joint 'j': e is 2; restitution must lie in \\[0, 1\\]": ("hinge", "box", None, {**HERE, "e": 2}),
    "joint 'j': a hinge joint has no turn_limits": ("hinge", "box", None, {**HERE, "turn_limits": (-1, 1)}),
    "joint 'j': a ball joint has no limits": ("ball", "box", None, {"point": (0, 0, 0), "limits": (-1, 1)}),
    "joint 'j': its two points coincide": ("distance", "box", "floor", {}),
    "joint 'j': second_point is missing": ("distance", "box", None, {}),
}


@pytest.mark.parametrize(("message", "given"), JOINTS.items(), ids=list(JOINTS))
def test_a_joint_that_cannot_be_is_refused_by_name(message, given):
    *sides, more = given
    with pytest.raises(ModelError, match=message):
        placed().joint("j", *sides, **more)


def test_other_names_and_ranges_are_refused():
    b = placed()
    with pytest.raises(ModelError, match="material 'm': mu is -1"):
        b.material("m", mu=-1)
    with pytest.raises(ModelError, match="material 'm': e is 2; restitution must lie in \\[0, 1\\]"):
        b.material("m", e=2)
    b.material("m")
    with pytest.raises(ModelError, match="the name of material 'm' is used twice"):
        b.material("m")
    with pytest.raises(ModelError, match="pair 'm', 'n': unknown material 'n'; known: default, m"):
        b.pair("m", "n")
    with pytest.raises(ModelError, match="apart: unknown body 'lid'; known: floor, box"):
        b.apart("box", "lid")
    with pytest.raises(ModelError, match="gravity"):
        WorldBuilder(gravity=(0, 0, np.inf))
    world = b.build()
    with pytest.raises(KeyError, match="unknown body 'lid'; known: floor, box"):
        world.pose(world.start, "lid")
    with pytest.raises(ModelError, match=r"state.q has shape \(7,\), expected \(14,\)"):
        world.check_state(State(0.0, np.zeros(7), np.zeros(12)))


def test_a_world_does_not_change_when_its_builder_goes_on():
    b = placed()
    world = b.build()
    b.body("late", Sphere(1.0))
    assert world.names == ("floor", "box")
    assert b.build().names == ("floor", "box", "late")
    with pytest.raises(ValueError, match="read-only"):
        world.mass[1] = 2.0


def test_a_centre_of_mass_that_is_given() -> None:
    """The frame of the body stands in it; it needs an inertia, and a body that is dynamic."""
    builder = WorldBuilder()
    builder.body(
        "top", Sphere(1.0), position=(0.0, 0.0, 1.0), spin=(0.0, 2.0, 0.0), mass=1.0, inertia=(1.0, 1.0, 1.0),
        centre=(0.0, 0.0, -0.25),
    )  # fmt: skip
    world = builder.build()
    np.testing.assert_allclose(world.start.q[:3], (0.0, 0.0, 0.75))
    np.testing.assert_allclose(world.start.v[:3], (-0.5, 0.0, 0.0))
    np.testing.assert_allclose(world.shapes.position[0], (0.0, 0.0, 0.25))
    np.testing.assert_allclose(world.pose(world.start, "top")[0], (0.0, 0.0, 1.0))
    with pytest.raises(ModelError, match="body 'a': centre is given without an inertia"):
        builder.body("a", Sphere(1.0), centre=(0.0, 0.0, 0.1))
    with pytest.raises(ModelError, match="body 'b': it is fixed; its centre of mass cannot be given"):
        builder.body("b", Sphere(1.0), fixed=True, centre=(0.0, 0.0, 0.1))


def test_the_law_of_a_pair_is_the_rule_or_what_is_given():
    b = placed()
    b.material("steel", mu=0.2, mu_roll=1e-4, e=0.6)
    b.material("wood", mu=0.8, mu_spin=1e-3, e=0.4)
    b.pair("wood", "default", e=0.1)
    b.pair("steel", "default", law=ss.NewtonImpact(e=0.3, mu=0.7, mu_roll=1e-3))
    b.pair("steel", "steel", law=ss.NewtonImpact(e=0.9))
    world = b.build()
    assert world.law("wood", "wood") == ss.NewtonImpact(e=0.4, mu=0.8, mu_spin=1e-3)
    assert world.law("wood", "steel") == world.law("steel", "wood")
    assert world.law("wood", "steel").coefficients[0] == pytest.approx([0.4, 0.0, 0.0, 0.4])
    assert world.law("wood", "default").coefficients[0] == pytest.approx([0.4**0.5, 0.0, 0.0, 0.1])
    assert world.law("default", "steel") == ss.NewtonImpact(e=0.3, mu=0.7, mu_roll=1e-3)
    assert world.law("steel", "steel") == ss.NewtonImpact(e=0.9, mu=0.0)
    assert world.law("steel", "default", "poisson") == ss.laws.PoissonImpact(e=0.3, mu=0.7, mu_roll=1e-3)
    with pytest.raises(KeyError, match="unknown material 'steal'; known: default, steel, wood"):
        world.law("steal", "wood")
    with pytest.raises(KeyError, match=r"unknown impact 'poison'.*'poisson'"):
        world.law("steel", "wood", "poison")


LAWS = {
    "give a NewtonImpact. Poisson's impact is an option of the scheme": {"law": ss.laws.PoissonImpact(e=0.5)},
    "give a NewtonImpact": {"law": "hard"},
    "give its law or mu, not both": {"law": ss.NewtonImpact(e=0.5), "mu": 0.3},
    "the law of one contact in space": {"law": ss.NewtonImpact(mu=0.5, dimension=2)},
    "give the law of one contact": {"law": ss.NewtonImpact(mu=0.5, contacts=2)},
}


@pytest.mark.parametrize(("message", "given"), LAWS.items(), ids=list(LAWS))
def test_a_law_that_a_pair_cannot_have_is_refused(message, given):
    with pytest.raises(ModelError, match=f"pair 'default', 'default': .*{message}"):
        placed().pair("default", "default", **given)


JOINTS = {
    "fixed": ss.joints.FixedJoint(point=(0, 0, 0.5)),
    "ball": ss.joints.BallJoint(point=(0, 0, 0.5)),
    "hinge": ss.joints.HingeJoint(point=(0, 0, 0.5), axis=(0, 1, 0)),
    "slider": ss.joints.SliderJoint(axis=(0, 1, 0), point=(0, 0, 0.5)),
    "distance": ss.joints.DistanceJoint(first=(0, 0, 0.5), second=(0, 0, 1.5)),
}


@pytest.mark.parametrize("kind", JOINTS)
def test_a_joint_is_one_thing_in_worlds_and_in_equations(kind):
    joint = JOINTS[kind]
    places = {"second_point": (0, 0, 1.5)} if kind == "distance" else {}
    axis = {"axis": joint.axis} if hasattr(joint, "axis") else {}
    found = []
    for given, where in (
        (kind, {"point": (0, 0, 0.5), **axis, **places}),
        (ss.joints.JointKind[kind.upper()], {"point": (0, 0, 0.5), **axis, **places}),
        (joint, {}),
    ):
        b = ss.WorldBuilder()
        b.body("rod", ss.Capsule(0.1, 1.0))
        b.joint("joint", given, "rod", **where)
        found.append(b.build().joints)
    for other in found[1:]:
        for name in ("kind", "point", "frame", "length"):
            np.testing.assert_array_equal(getattr(other, name), getattr(found[0], name))
    body = ss.NewtonEuler("rod", mass=1.0, inertia=np.eye(3))
    size = {"fixed": 6, "ball": 3, "hinge": 5, "slider": 5, "distance": 1}[kind]
    ss.NonsmoothSystem([body], [ss.Interaction("joint", "rod", joint, ss.laws.Equality(size))])


def test_a_placed_joint_has_its_places_itself():
    b = ss.WorldBuilder()
    b.body("rod", ss.Capsule(0.1, 1.0))
    with pytest.raises(
        ss.ModelError, match="joint 'j': HingeJoint determines its point, axis, second_point itself"
    ):
        b.joint("j", JOINTS["hinge"], "rod", point=(0, 0, 0))
    with pytest.raises(ss.ModelError, match="keeps its length at the start, or has limits"):
        b.joint("j", ss.joints.DistanceJoint((0, 0, 0), (0, 0, 1), length=2.0), "rod")
    with pytest.raises(ss.ModelError, match="joint 'j': unknown kind 3 of joints; known: fixed"):
        b.joint("j", 3, "rod")
