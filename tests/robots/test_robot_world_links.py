"""Joints, forces, inputs and kinematic bodies of worlds around robots: closed forms, and the world alone."""

import numpy as np
import pytest
from robot_differences import differences, matrix
from robot_models import pendulum

import stickslip as ss
from stickslip import Robot

G, H = 9.81, 1e-3
Y = (0, 1, 0)
FREE = pendulum()


def around(world, **how):
    """The world around a pendulum, and alone."""
    return ss.simulate(Robot.load(FREE).with_world(world), **how), ss.simulate(world, **how)


def distance(world, names, **how):
    """How far bodies are from where they are in the world alone at the end [m, -], shape (names, 2)."""
    run, alone = around(world, **how)
    assert run.missed == 0
    return np.array([
        [np.abs(getattr(run.body(one), what)[-1] - getattr(alone.body(one), what)[-1]).max()
         for what in ("position", "quaternion")]
        for one in names
    ])  # fmt: skip


def check_order(world, names, most, until=0.4):
    """The scheme here and that of worlds differ by O(h)."""
    coarse, fine = (distance(world, names, until=until, h=h) for h in (H, H / 4))
    assert coarse.max() < most
    assert (fine < 0.3 * coarse + 1e-9).all()


def links():
    """A chain of two hinges, a bead on a rail, a screw, a ball joint, a fixed pair, a rod and a rope."""
    b = ss.WorldBuilder()
    b.body("one", ss.Cuboid((0.1, 0.1, 0.4)), position=(2, 0, -0.2), mass=1.0)
    b.body("two", ss.Cuboid((0.4, 0.1, 0.1)), position=(2.2, 0, -0.4), mass=2.0)
    b.joint("low", "hinge", "one", "two", point=(2, 0, -0.4), axis=Y)
    b.joint("top", "hinge", "one", point=(2, 0, 0), axis=Y)
    b.body("bead", ss.Sphere(0.1), position=(4, 0, 0), mass=1.0)
    b.joint("rail", "slider", "bead", point=(4, 0, 0), axis=(1, 0, -1), friction=2.0)
    b.body("nut", ss.Cuboid((0.1, 0.1, 0.1)), position=(6, 0, 0), spin=(0, 0, 3), mass=1.0)
    b.joint("screw", "cylindrical", "nut", point=(6, 0, 0), axis=(0, 0, 1), turn_friction=0.001)
    b.body("bob", ss.Cuboid((0.1, 0.2, 0.1)), position=(8, 0.5, 0), mass=1.0)
    b.joint("socket", "ball", "bob", point=(8, 0, 0))
    b.body("lump", ss.Sphere(0.1), position=(8, 0.5, 0.2), mass=0.5)
    b.joint("glue", "fixed", "lump", "bob", point=(8, 0.5, 0.1))
    b.body("end", ss.Sphere(0.1), position=(10, 0.5, 0), mass=1.0)
    b.joint("stick", "distance", "end", point=(10, 0.5, 0), second_point=(10, 0, 0))
    b.body("weight", ss.Sphere(0.1), position=(12, 0, -0.5), velocity=(0.5, 0, 0), mass=1.0)
    b.joint("rope", "distance", "weight", point=(12, 0, -0.5), second_point=(12, 0, 0), limits=(None, 0.6))
    return b.build()


def test_joints_move_as_in_the_world_alone():
    world = links()
    names = ("one", "two", "bead", "nut", "bob", "lump", "end", "weight")
    check_order(world, names, 5e-3)
    run, alone = around(world, until=0.4, h=H)
    for name in ("low", "top", "screw/turn"):
        own = alone.joint(name.removesuffix("/turn"))
        assert run.joint(name).position[-1] == pytest.approx(own.angle[-1], abs=2e-2)
    assert run.opening.max() < 1e-9
    assert set(run.source.names("joint")) >= {"low", "top", "rail", "screw", "screw/turn", "socket", "weight"}


def test_a_bead_on_a_rail_has_the_acceleration_of_the_closed_form():
    """g sin 45° - F / m along the rail."""
    run = ss.simulate(Robot.load(FREE).with_world(links()), until=0.4, h=H)
    a = G * np.sqrt(0.5) - 2.0
    assert run.joint("rail").speed[-1] == pytest.approx(a * 0.4, rel=1e-9)
    assert run.joint("rail").effort[-1] == pytest.approx(-2.0, rel=1e-9)


def test_stops_bounce_with_their_restitution():
    b = ss.WorldBuilder(gravity=(0, 0, 0))
    b.body("door", ss.Cuboid((1.0, 0.1, 1.0)), position=(2.5, 0, 0), mass=3.0, spin=(0, 0, 2.0),
           velocity=(0, 1, 0))  # fmt: skip
    b.joint("pivot", "hinge", "door", point=(2, 0, 0), axis=(0, 0, 1), limits=(-1.0, 0.5), e=0.6)
    world = b.build()
    robot = Robot.load(FREE.replace("<option ", '<option gravity="0 0 0" ')).with_world(world)
    assert robot.start.v == pytest.approx([0.0, 2.0], abs=1e-12)
    run = ss.simulate(robot, until=0.6, h=H)
    assert run.joint("pivot").speed[-1] == pytest.approx(-1.2, rel=1e-9)
    assert run.joint("pivot").position.max() == pytest.approx(0.5, abs=2 * H * 2.0)


def test_momentum_of_a_start_that_joints_do_not_allow_is_what_they_leave():
    """A rod that is thrown across and held at its end turns with m v l / (J + m l²)."""
    b = ss.WorldBuilder()
    b.body("beam", ss.Cuboid((1.0, 0.1, 0.1)), position=(2.5, 0, 0), mass=3.0, velocity=(1, 2, 0))
    b.joint("pivot", "hinge", "beam", point=(2, 0, 0), axis=(0, 0, 1))
    world = b.build()
    robot = Robot.load(FREE).with_world(world)
    J = world.inertia[0][2, 2]
    assert robot.start.v[1] == pytest.approx(3.0 * 2.0 * 0.5 / (J + 3.0 * 0.25), rel=1e-12)


def loop():
    """Four bars of hinges, with a push, whose last hinge closes the loop."""
    b = ss.WorldBuilder()
    for name, size, x, z in (("a", (0.1, 0.1, 0.4), 2, -0.2), ("b", (0.4, 0.1, 0.1), 2.2, -0.4),
                             ("c", (0.1, 0.1, 0.4), 2.4, -0.2)):  # fmt: skip
        b.body(name, ss.Cuboid(size), position=(x, 0, z), mass=1.0, group="bars")
    b.apart_groups("bars", "bars")
    for name, first, second, x, z in (("1", "a", None, 2, 0), ("2", "a", "b", 2, -0.4),
                                      ("3", "b", "c", 2.4, -0.4), ("4", "c", None, 2.4, 0)):  # fmt: skip
        b.joint(name, "hinge", first, second, point=(x, 0, z), axis=Y)
    b.force(ss.forces.BodyForce("push", "b", force=(3.0, 0, 0)))
    return b


def test_closed_chains_stay_closed():
    world = loop().build()
    check_order(world, "abc", 2e-4)
    robot = Robot.load(FREE).with_world(world)
    run = ss.simulate(robot, until=0.4, h=H)
    assert len(robot.names("equality")) == 2
    assert 0.0 < run.opening.max() < 1e-9
    ends = run.body("c").position[:, [0, 2]] - [2.4, 0.0]
    assert np.abs(np.linalg.norm(ends, axis=1) - 0.2).max() < 1e-9


@pytest.mark.parametrize("what", [{"limits": (-1.0, 1.0)}, {"friction": 0.1}])
def test_a_joint_with_stops_or_friction_has_a_coordinate_in_a_loop(what):
    """The tree is made of those that need one; bodies are cut where a tree cannot hold all of them."""
    b = loop()
    b.body("d", ss.Sphere(0.05), position=(2, 0, 0.5), group="bars")
    b.joint("5", "hinge", "d", "a", point=(2, 0, 0.5), axis=Y, **what)
    b.joint("6", "hinge", "d", point=(2, 0, 0.5), axis=Y)
    robot = Robot.load(FREE).with_world(b.build())
    assert "5" in robot.names("joint")
    b.joint("7", "slider", "d", point=(2, 0, 0.5), axis=(1, 0, 0))
    b.joint("8", "slider", "d", point=(2, 0, 0.5), axis=(1, 0, 0))
    robot = Robot.load(FREE).with_world(b.build())
    assert {"5", "7", "8"} <= set(robot.names("joint"))
    run = ss.simulate(robot, until=0.1, h=H)
    assert run.opening.max() < 1e-9
    assert run.joint("7").position == pytest.approx(run.joint("8").position, abs=1e-9)


def kinematic():
    """A crank with an arm, a body on a wavering hand, a box on a belt, a spring to a body that moves."""
    b = ss.WorldBuilder()
    b.material("rubber", mu=0.3)
    b.body("crank", ss.Sphere(0.1), position=(6, 0, 0), motion=((0, 0, 0), (0, 2.0, 0)))
    b.body("arm", ss.Cuboid((0.1, 0.1, 0.4)), position=(6.5, 0, -0.2), mass=1.0)
    b.joint("pin", "hinge", "arm", "crank", point=(6.5, 0, 0), axis=Y)
    b.body("hand", ss.Sphere(0.1), position=(9, 0, 0), motion=lambda t: ((0, np.cos(3 * t), 0), (0, 0, 1)))
    b.body("cup", ss.Cuboid((0.1, 0.1, 0.4)), position=(9.5, 0, -0.2), mass=1.0)
    b.joint("grip", "fixed", "cup", "hand", point=(9.5, 0, 0))
    b.body("belt", ss.Cuboid((4, 1, 0.1)), position=(2, 3, 0), motion=((0.5, 0, 0), (0, 0, 0)),
           material="rubber")  # fmt: skip
    b.body("box", ss.Cuboid((0.2, 0.2, 0.2)), position=(2, 3, 0.15), mass=2.0, material="rubber")
    b.body("kite", ss.Sphere(0.1), position=(2.0, 3, 1.0), mass=1.0)
    b.force(ss.forces.Spring("string", "kite", "belt", stiffness=50.0, damping=1.0))
    return b.build()


def test_kinematic_bodies_carry_what_is_on_them():
    world = kinematic()
    check_order(world, ("crank", "arm", "hand", "cup", "belt", "box", "kite"), 1e-3)
    run, alone = around(world, until=0.4, h=H)
    # The box is pulled with mu g until it has the speed of the belt, at t = 0.17 s.
    t = run.t
    expected = np.minimum(0.3 * G * t, 0.5)
    assert run.body("box").velocity[:, 0] == pytest.approx(expected, abs=2 * G * H)
    assert run.body("belt").position[-1] == pytest.approx([2.2, 3.0, 0.0], abs=1e-12)
    for name in ("belt", "hand"):
        for what in ("velocity", "spin"):
            mine, theirs = (getattr(one.body(name), what) for one in (run, alone))
            assert mine == pytest.approx(theirs, abs=1e-9)
    assert run.opening.max() < 1e-9


def test_a_fast_kinematic_body_does_not_pass_through():
    """A hammer of 8 m/s goes 8 cm in a step of h = 1e-2: the ball leaves with its speed."""
    b = ss.WorldBuilder(gravity=(0, 0, 0))
    b.body("hammer", ss.Cuboid((0.04, 1, 1)), position=(2, 0, 0), motion=((8.0, 0, 0), (0, 0, 0)))
    b.body("ball", ss.Sphere(0.02), position=(3.001, 0, 0), mass=1.0)
    still = FREE.replace("<option ", '<option gravity="0 0 0" ')
    run = ss.simulate(Robot.load(still).with_world(b.build()), until=0.5, h=1e-2)
    assert run.body("ball").velocity[-1] == pytest.approx([8.0, 0.0, 0.0], abs=1e-9)
    assert run.penetration.max() < 1e-9


def forces():
    b = ss.WorldBuilder()
    for k, name in enumerate(("hung", "drag", "blown", "servo", "motor")):
        b.body(name, ss.Sphere(0.1), position=(6 + 2 * k, 0, 0), mass=1.0, velocity=(0.1, 0, 0))
    b.joint("line", "slider", "servo", point=(12, 0, 0), axis=(1, 0, 0))
    b.joint("track", "slider", "motor", point=(14, 0, 0), axis=(1, 0, 0))
    f = ss.forces
    b.force(f.Spring("coil", "hung", stiffness=50.0, length=0.4, damping=1.0, second_point=(6, 0, 0.5)))
    b.force(f.Damper("oil", "drag", linear=2.0, angular=0.01))
    b.force(f.BodyForce("wind", "blown", force=lambda t: (np.sin(5 * t), 0, 0), moment=(0, 0.01, 0)))
    b.force(f.Actuator("pd", "line", lambda position, velocity: 3 - 10 * position - velocity))
    b.force(f.Actuator("drive", "track", f.Input(2.0)))
    return b.build()


def test_forces_act_as_in_the_world_alone():
    world = forces()
    check_order(world, ("hung", "drag", "blown", "servo", "motor"), 3e-3)
    errors = [np.abs(around(world, until=0.4, h=h)[0].balance).max() for h in (H, H / 4)]
    assert errors[1] < 0.3 * errors[0]


def test_inputs_are_controls_and_forces_of_the_user_stay():
    robot = Robot.load(FREE).with_world(forces())
    live = robot.live(h=H)
    assert live.inputs["drive"] == 2.0
    body = robot.model.body("blown").id
    live.data.xfrc_applied[body] = [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    while live.t < 0.1 - 1e-9:
        live.step()
    assert live.data.joint("track").qvel[0] == pytest.approx(0.1 + 2.0 * 0.1, rel=1e-9)
    assert live.data.body("blown").cvel[4] == pytest.approx(0.1, rel=1e-6)
    assert live.data.xfrc_applied[body].tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    live.inputs["drive"] = 0.0
    while live.t < 0.2 - 1e-9:
        live.step()
    assert live.data.joint("track").qvel[0] == pytest.approx(0.3, rel=1e-9)
    assert "belt" not in Robot.load(FREE).with_world(kinematic()).live().inputs


def test_a_control_function_may_leave_out_inputs_of_the_world():
    text = FREE.replace("</mujoco>", '<actuator><motor name="m" joint="hinge"/></actuator></mujoco>')
    robot = Robot.load(text).with_world(forces())
    run = ss.simulate(robot, until=0.1, h=H, control=lambda data: (1.0,))
    assert run.z[-1].tolist() == [1.0, 2.0]
    run = ss.simulate(robot, until=0.1, h=H, control=lambda data: (1.0, 0.0))
    assert run.joint("track").speed[-1] == pytest.approx(0.1, abs=1e-12)


def test_bodies_on_one_joint_touch_where_they_may():
    """A bar on a hinge falls on the base that it hangs on."""
    for collide in (True, False):
        b = ss.WorldBuilder()
        b.body("base", ss.Cuboid((0.4, 0.4, 0.2)), position=(2, 0, 0), mass=5.0)
        b.body("floor", ss.Plane(), position=(2, 0, -0.1), fixed=True)
        b.body("bar", ss.Cuboid((0.3, 0.1, 0.1)), position=(2.35, 0, 0.3), mass=1.0)
        b.joint("pivot", "hinge", "bar", "base", point=(2.2, 0, 0.3), axis=Y, collide=collide)
        run = ss.simulate(Robot.load(FREE).with_world(b.build()), until=1.5, h=H)
        assert ("base" in set(run.contact_table("bar").other)) == collide


def test_defaults_of_the_robots_file_do_not_reach_the_world():
    text = FREE.replace("<option ", '<default><geom margin="0.1"/><joint damping="3" armature="2"'
                        ' frictionloss="1"/><tendon stiffness="9"/></default><option ')  # fmt: skip
    robot = Robot.load(text).with_world(links())
    plain = Robot.load(FREE).with_world(links())
    n, t = 1, robot.model.ntendon
    assert robot.model.dof_damping[n:].tolist() == plain.model.dof_damping[n:].tolist()
    assert robot.model.dof_armature[n:].tolist() == plain.model.dof_armature[n:].tolist()
    assert robot.model.dof_frictionloss[n:].tolist() == plain.model.dof_frictionloss[n:].tolist()
    assert robot.model.tendon_stiffness[:t].tolist() == plain.model.tendon_stiffness[:t].tolist()
    own = robot.model.geom_bodyid > 2
    assert not robot.model.geom_margin[own].any()


@pytest.mark.parametrize("make", [links, lambda: loop().build()])
def test_runs_go_on_bit_for_bit(make, tmp_path):
    robot = Robot.load(FREE).with_world(make())
    whole = ss.simulate(robot, until=0.04, h=H)
    path = tmp_path / "run.h5"
    ss.simulate(robot, until=0.02, h=H, out=path)
    found = ss.read_trajectory(path)
    assert found.source.limit_restitution.tolist() == robot.limit_restitution.tolist()
    rest = ss.simulate(found.source, until=0.04, start=found.checkpoint())
    assert rest.q[-1].tobytes() == whole.q[-1].tobytes()
    assert rest.work[-1] == whole.work[-1]


def test_kinematic_bodies_go_on_bit_for_bit():
    robot = Robot.load(FREE).with_world(kinematic())
    whole = ss.simulate(robot, until=0.04, h=H)
    half = ss.simulate(robot, until=0.02, h=H)
    rest = ss.simulate(robot, until=0.04, start=half.checkpoint())
    assert rest.q[-1].tobytes() == whole.q[-1].tobytes()
    assert rest.z[-1].tobytes() == whole.z[-1].tobytes()


def checked_derivatives(robot, state, by):
    """Derivatives of a step against differences of whole steps."""
    found = ss.differentiate(robot, state, h=H, tolerance=1e-13)
    for name in by:
        expected = differences(robot, state, H, name, found.by[name][0])
        np.testing.assert_allclose(matrix(found, name), expected, atol=1e-5 * np.abs(expected).max())
    return found


def test_derivatives_of_joints():
    robot = Robot.load(FREE).with_world(links())
    state = robot.state(qvel=np.linspace(-0.5, 0.7, robot.model.nv))
    assert checked_derivatives(robot, state, ("q", "v", "force")).exists


def test_derivatives_of_forces():
    robot = Robot.load(FREE).with_world(forces())
    state = ss.simulate(robot, until=0.02, h=H).checkpoint().state
    assert checked_derivatives(robot, state, ("q", "v", "force", "mass", "h")).exists


def test_derivatives_beside_kinematic_bodies():
    """Joints, a spring and a contact with bodies that move; the box overlaps the belt by 10 µm."""
    robot = Robot.load(FREE).with_world(kinematic())
    begun = ss.simulate(robot, until=0.02, h=H).checkpoint().state
    q = np.array(begun.q)
    q[robot.model.joint("box").qposadr[0] + 2] -= 1e-5
    state = ss.State(begun.t, q, begun.v, begun.z)
    found = checked_derivatives(robot, state, ("v", "force", "h"))
    expected = differences(robot, state, H, "q", robot.model.nv)
    # The correction of four corners at once is swept only so far.
    np.testing.assert_allclose(matrix(found, "q"), expected, atol=2e-3 * np.abs(expected).max())


def test_derivatives_of_a_ball_that_a_kinematic_hammer_hits():
    """v⁺ = (1 + e) V - e v, and in the run the way after that."""
    b = ss.WorldBuilder(gravity=(0, 0, 0))
    b.material("steel", mu=0.0, e=0.5)
    b.body("hammer", ss.Cuboid((0.1, 1, 1)), position=(2, 0, 0), motion=((2.0, 0, 0), (0, 0, 0)),
           material="steel")  # fmt: skip
    b.body("ball", ss.Sphere(0.1), position=(2.1505, 0, 0), velocity=(-1, 0, 0), mass=1.0, material="steel")
    robot = Robot.load(FREE.replace("<option ", '<option gravity="0 0 0" ')).with_world(b.build())
    found = ss.differentiate(robot, h=H)
    own = robot.model.joint("ball").dofadr[0]
    assert found.step.state.v[own] == pytest.approx(1.5 * 2.0 + 0.5 * 1.0, rel=1e-9)
    assert found.jacobian("v", "v")[own, own] == pytest.approx(-0.5, rel=1e-9)
    assert found.jacobian("v", "q")[own] == pytest.approx(0.0, abs=1e-9)
    end = ss.gradients.AtEnd(lambda state: (state.q[own], np.eye(state.q.size)[own], None))
    run = ss.gradient(robot, end, until=0.02, h=H, by=("v",))
    assert run.value == pytest.approx(2.1505 + 0.02 * 3.5, abs=1e-9)
    assert run.gradient["v"][own] == pytest.approx(-0.5 * 0.02, rel=1e-9)


def test_lengths_of_steps_are_no_number_of_runs_with_kinematic_bodies():
    """What the world does would come at other times."""
    robot = Robot.load(FREE).with_world(kinematic())
    with pytest.raises(ss.ModelError, match="by 'h'; known"):
        ss.gradient(robot, lambda k, state: None, until=0.01, h=H, by=("h",))
