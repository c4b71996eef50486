"""Worlds of bodies around robots: they do there what they do alone, and the robot can touch them."""

import mujoco
import numpy as np
import pytest
from robot_models import ball, pendulum, scene

import stickslip as ss
from stickslip import Robot

G, H = 9.81, 1e-3
PUSHER = scene(
    """<body name="pusher" pos="-.3 0 .1"><joint name="push" type="slide" axis="1 0 0"/>
    <geom name="face" type="box" size=".05 .05 .05" mass="2"/></body>""",
    '<actuator><motor name="push" joint="push"/></actuator>',
    h=H,
)
CUBE = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])


def turned(angle):
    """Quaternion of a turn about y."""
    return (np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0)


def slope_world(angle):
    """Boxes on a slope, whose friction with it is 0.7, the mean 0.3 and, by the table, 0.2."""
    b = ss.WorldBuilder()
    b.material("slope", mu=0.7)
    b.material("rough", mu=0.7)
    b.material("smooth", mu=0.3**2 / 0.7)
    b.material("other", mu=0.9)
    b.pair("slope", "other", mu=0.2)
    up = np.array([np.sin(angle), 0.0, np.cos(angle)])
    b.body("slope", ss.Plane(), position=(0, 0, -3), quaternion=turned(angle), fixed=True, material="slope")
    for k, name in enumerate(("rough", "smooth", "other")):
        b.body(
            name, ss.Cuboid((0.2, 0.2, 0.1)), position=0.05 * up + [0, k, -3], quaternion=turned(angle),
            material=name,
        )  # fmt: skip
    return b.build()


def test_boxes_on_a_slope_stick_and_slide_as_in_the_world_alone():
    """tan 0.5 = 0.546: they slide with g (sin a - mu cos a), or stay."""
    angle, world = 0.5, slope_world(0.5)
    run = ss.simulate(Robot.load(pendulum()).with_world(world), until=0.5, h=H)
    alone = ss.simulate(world, until=0.5, h=H)
    along = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    for name, mu in (("rough", 0.7), ("smooth", 0.3), ("other", 0.2)):
        moved, same = (np.diff(one.body(name).position[[0, -1]], axis=0)[0] for one in (run, alone))
        expected = 0.5 * max(0.0, G * (np.sin(angle) - mu * np.cos(angle))) * 0.25
        assert moved @ along == pytest.approx(expected, abs=3e-3 * expected + 1e-9)
        assert moved == pytest.approx(same, abs=3e-3 * expected + 1e-9)
        speed = run.body(name).velocity[-1] @ along
        assert speed == pytest.approx(alone.body(name).velocity[-1] @ along, abs=1e-8)
    assert run.missed == 0
    # Friction takes what the boxes lose.
    account = run.energy - run.energy[0] + run.dissipated - run.work
    assert np.abs(account).max() < 2 * H * run.dissipated[-1] * G


def test_a_robot_pushes_a_box_of_the_world():
    """Both move with (F - mu m g) / (M + m), and the box feels the rest of the force."""
    b = ss.WorldBuilder()
    b.material("wood", mu=0.4)
    b.body("floor", ss.Plane(), fixed=True, material="wood")
    b.body("box", ss.Cuboid((0.2, 0.2, 0.2)), position=(-0.15, 0, 0.1), mass=3.0, material="wood")
    robot = Robot.load(PUSHER).with_world(b.build()).with_pair("face", "box", friction=0.0)
    run = ss.simulate(robot, until=0.4, control=lambda data: (30.0,))
    a = (30.0 - 0.4 * 3.0 * G) / 5.0
    assert run.joint("push").speed[-1] == pytest.approx(a * 0.4, rel=1e-6)
    assert run.body("box").velocity[-1] == pytest.approx([a * 0.4, 0.0, 0.0], abs=1e-6)
    table = run.contact_table("box")
    last = table.t == run.t[-1]
    assert set(table.other[last]) == {"floor", "pusher"}
    assert run.forces_on("box")[-1] == pytest.approx([3.0 * a, 0.0, 3.0 * G], abs=1e-5)
    assert run.work[-1] == pytest.approx(30.0 * (run.joint("push").position[-1]), rel=5e-3)


def test_momentum_and_energy_of_an_impact():
    """Two spheres without gravity, e = 1: they change their velocities, as closed forms say."""
    b = ss.WorldBuilder(gravity=(0, 0, 0))
    b.material("steel", mu=0.0, e=1.0)
    b.body("a", ss.Sphere(0.1), mass=1.0, velocity=(2, 0, 0), position=(-1, 0, 3), material="steel")
    b.body("b", ss.Sphere(0.1), mass=3.0, position=(0, 0, 3), spin=(0, 0, 5), material="steel")
    free = pendulum().replace("<option ", '<option gravity="0 0 0" ')
    run = ss.simulate(Robot.load(free).with_world(b.build()), until=1.0, h=H)
    assert run.body("a").velocity[-1] == pytest.approx([-1.0, 0.0, 0.0], abs=1e-9)
    assert run.body("b").velocity[-1] == pytest.approx([1.0, 0.0, 0.0], abs=1e-9)
    assert run.body("b").spin[-1] == pytest.approx([0.0, 0.0, 5.0], abs=1e-9)
    assert run.kinetic[-1] == pytest.approx(run.kinetic[0], rel=1e-9)


def test_a_ball_of_the_world_bounces():
    b = ss.WorldBuilder()
    b.material("rubber", e=0.8)
    b.body("floor", ss.Plane(), fixed=True, material="rubber")
    b.body("ball", ss.Sphere(0.05), position=(3, 0, 0.55), material="rubber")
    run = ss.simulate(Robot.load(PUSHER).with_world(b.build()), until=1.0, h=H)
    height = run.body("ball").position[:, 2] - 0.05
    assert height[int(np.argmax(height < 5e-3)) :].max() == pytest.approx(0.64 * 0.5, abs=10 * H)


def test_hulls_and_height_fields_are_what_they_were():
    """A cube given by its corners about another point rests on a field, and carries a sphere on it."""
    b = ss.WorldBuilder()
    b.body("ground", ss.shapes.HeightField(np.full((5, 7), 0.25), (2.0, 3.0)), position=(0, 0, 1), fixed=True)
    b.body("cube", ss.shapes.ConvexHull(CUBE + np.array([0.3, 0.0, 0.0])), position=(-0.3, 0, 1.35), mass=2.0)
    b.body("top", ss.shapes.Capsule(0.1, 0.2), position=(0, 0, 1.65), mass=1.0)
    two = ss.shapes.Compound((ss.Sphere(0.1), (0, 0, 0)), (ss.Sphere(0.1), (0.3, 0, 0)))
    b.body("pair", two, position=(0, 1, 1.35))
    world = b.build()
    robot = Robot.load(pendulum()).with_world(world)
    assert robot.names("geom") == ("ground", "cube", "top", "pair/0", "pair/1")
    run = ss.simulate(robot, until=0.3, h=H)
    assert run.body("cube").position[0] == pytest.approx([-0.3, 0.0, 1.35], abs=1e-12)
    assert run.body("cube").centre[0] == pytest.approx([0.0, 0.0, 1.35], abs=1e-9)
    assert run.body("cube").position[-1] == pytest.approx([-0.3, 0.0, 1.35], abs=1e-6)
    assert run.body("pair").position[-1] == pytest.approx([0.0, 1.0, 1.35], abs=1e-6)
    assert run.forces_on("cube")[-1] == pytest.approx([0.0, 0.0, 2.0 * G], abs=1e-5)
    kinds = {shape.kind for shape in run.model.shapes}
    assert {"height-field", "convex-hull", "capsule", "sphere"} <= kinds


def test_a_spinning_body_of_uneven_inertia_flies_as_in_the_world():
    b = ss.WorldBuilder()
    J = np.array([[2.0, 0.1, 0.0], [0.1, 3.0, 0.2], [0.0, 0.2, 4.0]])
    b.body(
        "top", ss.Cuboid((0.2, 0.3, 0.4)), position=(0, 0, 5), velocity=(1, 2, 3), spin=(3, 2, 1), mass=5.0,
        inertia=J, centre=(0.1, 0.0, 0.0), quaternion=(0.8, 0.6, 0.0, 0.0),
    )  # fmt: skip
    world = b.build()
    run = ss.simulate(Robot.load(pendulum()).with_world(world), until=0.2, h=1e-4)
    alone = ss.simulate(world, until=0.2, h=1e-4)
    for name in ("position", "velocity", "spin", "quaternion", "centre"):
        mine, theirs = (getattr(one.body("top"), name) for one in (run, alone))
        assert mine[0] == pytest.approx(theirs[0], abs=1e-12)
        assert mine[-1] == pytest.approx(theirs[-1], abs=2e-3)
    assert run.model.inertia[run.model.body("top")] == pytest.approx(J, rel=1e-12)


def test_groups_and_pairs_apart_do_not_touch():
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    b.body("lower", ss.Cuboid((0.2, 0.2, 0.2)), position=(1, 0, 0.1))
    b.body("ghost", ss.Cuboid((0.1, 0.1, 0.1)), position=(1, 0, 0.4), group="ghosts")
    b.body("other", ss.Cuboid((0.1, 0.1, 0.1)), position=(1, 0, 0.4))
    b.apart_groups("ghosts", "default")
    b.apart("lower", "other")
    # A geom of the robot that only lets itself be touched.
    robot = Robot.load(PUSHER.replace('mass="2"', 'mass="2" contype="0" conaffinity="4"'))
    run = ss.simulate(robot.with_world(b.build()), until=0.4, h=H)
    fall = run.body("ghost").position[-1, 2] - 0.4
    assert fall == pytest.approx(-0.5 * G * 0.16, rel=5e-3)
    assert run.body("other").position[-1, 2] == pytest.approx(0.05, abs=1e-6)
    assert run.body("lower").position[-1, 2] == pytest.approx(0.1, abs=1e-6)


def test_every_geom_of_the_robot_that_may_touch_touches_the_world():
    """Whatever its filter bits are; one without any touches nothing."""
    for bits, held in (('contype="0" conaffinity="4"', True), ('contype="0" conaffinity="0"', False)):
        text = ball(0.3).replace('size=".05"', f'size=".05" {bits}')
        text = text.replace('type="plane"', 'type="plane" contype="0" conaffinity="0"')
        b = ss.WorldBuilder()
        b.body("table", ss.Cuboid((1, 1, 0.2)), position=(0, 0, 0.1), fixed=True)
        run = ss.simulate(Robot.load(text).with_world(b.build()), until=0.3, h=H)
        assert bool(abs(run.body("ball").position[-1, 2] - 0.25) < 1e-6) is held


def test_keys_and_starts_keep_the_bodies_of_the_world():
    b = ss.WorldBuilder()
    b.body("ball", ss.Sphere(0.1), position=(1, 2, 3), velocity=(4, 5, 6), spin=(7, 8, 9))
    key = '<keyframe><key name="right" qpos="0.2" qvel="0.5"/></keyframe></mujoco>'
    robot = Robot.load(PUSHER.replace("</mujoco>", key)).with_world(b.build())
    for state, x, v in ((robot.key("right"), 0.2, 0.5), (robot.start, 0.0, 0.0)):
        assert state.q.tolist() == [x, 1, 2, 3, 1, 0, 0, 0]
        assert state.v.tolist() == [v, 4, 5, 6, 7, 8, 9]
    assert robot.names("joint") == ("push", "ball")


def test_masses_of_both_are_kept_whatever_the_compiler_does():
    b = ss.WorldBuilder()
    b.body("box", ss.Cuboid((0.2, 0.2, 0.2)), position=(1, 0, 0), mass=7.0)
    world = b.build()
    by_geoms = PUSHER.replace("<mujoco>", '<mujoco><compiler inertiafromgeom="true"/>')
    assert Robot.load(by_geoms).with_world(world).model.body_mass.tolist() == [0.0, 2.0, 7.0]
    urdf = """<robot name="arm"><link name="base"/><link name="tip"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="elbow"
    type="revolute"><parent link="base"/><child link="tip"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="2"/></joint></robot>"""
    b.body("wall", ss.Cuboid((0.2, 0.2, 0.2)), position=(3, 0, 0), fixed=True)
    assert Robot.load(urdf).with_world(b.build()).names("body") == ("world", "tip", "box", "wall")
    scaled = PUSHER.replace("<mujoco>", '<mujoco><compiler settotalmass="20"/>')
    with pytest.raises(ss.ModelError, match="settotalmass"):
        Robot.load(scaled).with_world(world)
    bounded = PUSHER.replace("<mujoco>", '<mujoco><compiler boundmass="9"/>')
    with pytest.raises(ss.ModelError, match="'box' of the world"):
        Robot.load(bounded.replace('mass="2"', 'mass="20"')).with_world(world)


def _with(**what):
    """A world with one thing that cannot stand around a robot."""
    b = ss.WorldBuilder(**({"gravity": (0, 0, -1)} if "gravity" in what else {}))
    b.body("box", ss.Cuboid((0.2, 0.2, 0.2)), position=(1, 0, 0))
    if "name" in what:
        b.body(what["name"], ss.Sphere(0.1), position=(2, 0, 0))
    if "joint" in what:
        b.joint(what["joint"], "ball", "box", point=(1, 0, 0))
    return b.build()


@pytest.mark.parametrize(
    ("world", "said"),
    [
        (_with(joint="push"), r"joint 'push' of the world: the robot has a joint"),
        (_with(gravity=1), r"gravity is \[0.0, 0.0, -9.81\].*-1.0"),
        (_with(name="pusher"), r"'pusher'.*has a body with this name"),
        (_with(name="face"), r"'face'.*has a geom with this name"),
        (ss.WorldBuilder(), r"not WorldBuilder; call .build\(\)"),
    ],
)
def test_what_does_not_carry_over_is_refused_by_name(world, said):
    with pytest.raises(ss.ModelError, match=said):
        Robot.load(PUSHER).with_world(world)


def test_a_model_of_mujocos_and_a_second_world_are_refused():
    world = _with()
    with pytest.raises(ss.ModelError, match="MjModel"):
        Robot.load(mujoco.MjModel.from_xml_string(PUSHER)).with_world(world)
    with pytest.raises(ss.ModelError, match="one WorldBuilder"):
        Robot.load(PUSHER).with_world(world).with_world(world)


def test_a_run_is_saved_with_its_world_and_goes_on_bit_for_bit(tmp_path):
    robot = Robot.load(PUSHER, restitution=0.3).with_world(slope_world(0.5))
    robot = robot.with_pair("pusher", "rough", restitution=0.6, friction=(0.5, 0.01, 0.02), condim=6)
    whole = ss.simulate(robot, until=0.04)
    path = tmp_path / "run.h5"
    ss.simulate(robot, until=0.02, out=path)
    found = ss.read_trajectory(path)
    again = found.source
    assert again.laws.law.tobytes() == robot.laws.law.tobytes()
    assert again.restitution.tolist() == robot.restitution.tolist()
    rest = ss.simulate(again, until=0.04, start=found.checkpoint())
    assert rest.q[-1].tobytes() == whole.q[-1].tobytes()
    assert found.body("rough").position[0].tolist() == whole.body("rough").position[0].tolist()


def _flagged(flags):
    return PUSHER.replace("<worldbody>", f"<option><flag {flags}/></option><worldbody>", 1)


@pytest.mark.parametrize("flag", ["contact", "limit", "equality", "frictionloss", "spring", "actuation"])
def test_flags_that_would_change_the_world_are_refused(flag):
    text = _flagged(f'{flag}="disable"')
    with pytest.raises(ss.ModelError, match=f"the flag {flag} is disabled in the robot's file"):
        Robot.load(text).with_world(_with())


def test_a_flag_of_gravity_is_gravity():
    floating = Robot.load(_flagged('gravity="disable"'))
    with pytest.raises(ss.ModelError, match=r"gravity is \[0.0, 0.0, -?0.0\]"):
        floating.with_world(_with())
    b = ss.WorldBuilder(gravity=(0, 0, 0))
    b.body("cube", ss.Cuboid((0.2, 0.2, 0.2)), position=(1, 0, 3))
    run = ss.simulate(floating.with_world(b.build()), until=0.1)
    assert run.body("cube").position[-1, 2] == 3.0
