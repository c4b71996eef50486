"""Models are read back as they were written: the same numbers, the same runs, bit for bit."""

from dataclasses import replace

import numpy as np
import pytest

import stickslip as ss
from stickslip import forces, joints, laws, scenes, sensors, shapes, systems
from stickslip.files.model_difference import difference
from stickslip.files.model_faults import ModelFileError
from stickslip.files.model_systems import constants
from stickslip.files.model_trees import DYNAMICS, FORCES, LAWS, RELATIONS, SENSORS
from stickslip.mechanics.inputs import with_inputs
from stickslip.mechanics.parameters import Parameters

ENDINGS = (".toml", ".json")
WRITTEN = {"quadruped"}
"""Scenes that are worlds with functions of their own: motors that are controlled."""


def back(model, tmp_path, ending=".toml"):
    """The model after it was written and read."""
    path = tmp_path / f"model{ending}"
    ss.save(model, path)
    return ss.load(path)


def assert_same(model, tmp_path):
    for ending in ENDINGS:
        made = back(model, tmp_path, ending)
        if isinstance(model, ss.World):
            assert difference(made, model) == ""
        else:
            assert difference(constants(made), constants(model)) == ""
            assert [repr(one.law) for one in made.interactions] == [repr(o.law) for o in model.interactions]


def builder():
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True, quaternion=ss.rotation((0, 1, 0), 0.1))
    return b


RAGGED = np.random.default_rng(3).normal(size=(300, 3))
ALL_SHAPES = {
    "sphere": ss.Sphere(0.1),
    "cuboid": ss.Cuboid((0.1, 0.2, 1.0 / 3.0)),
    "capsule": ss.Capsule(0.1, 0.7),
    "cylinder": ss.Cylinder(0.1, 0.7),
    "ellipsoid": shapes.Ellipsoid((0.1, 0.2, 0.3)),
    "hull": ss.ConvexHull(RAGGED[:12]),
    "large hull": ss.ConvexHull(RAGGED),
    "sphere of many corners": ss.ConvexHull(RAGGED / np.linalg.norm(RAGGED, axis=1)[:, None]),
    "compound": shapes.Compound(
        (ss.Sphere(0.1), (0, 0, 1.0 / 3.0)), (ss.ConvexHull(RAGGED[:9]), (1, 0, 0), (0.3, 0.1, 0.7, 0.2))
    ),
}


@pytest.mark.parametrize("shape", ALL_SHAPES)
def test_every_shape(shape, tmp_path):
    b = builder()
    b.body("one", ALL_SHAPES[shape], position=(0.1, 0.2, 0.3), quaternion=(1, 2, 3, 4), spin=(1, 0, 1 / 3))
    assert_same(b.build(), tmp_path)


def test_ground_of_heights(tmp_path):
    b = ss.WorldBuilder()
    b.body("ground", ss.HeightField(0.1 * RAGGED[:30, :2], (2.0, 3.0)), fixed=True)
    assert_same(b.build(), tmp_path)


def test_bodies_share_their_shape(tmp_path):
    b, hull = builder(), ss.ConvexHull(RAGGED)
    for k in range(3):
        b.body(f"stone {k}", hull, position=(0, 0, 5.0 * k + 5))
    world = back(b.build(), tmp_path)
    assert len({id(shape) for shape in world.shapes.shape}) == 2
    assert [path.name for path in tmp_path.glob("*.obj")] == ["model-convex-hull-1.obj"]


def test_bodies_with_all_that_can_be_said_of_them(tmp_path):
    b = ss.WorldBuilder(gravity=(0.0, 0.1, -1.0 / 3.0))
    b.material("default", mu=0.3)
    b.material("ice", mu=0.02, mu_roll=0.001, mu_spin=0.002, e=0.4)
    b.pair("ice", "default", law=ss.NewtonImpact(mu=0.1, e=0.7))
    b.pair("ice", "ice", mu_roll=0.2)
    b.body("loaded", ss.Sphere(0.1), mass=2, inertia=[1.0, 1.5, 2.0], centre=(0.01, 0, 0), material="ice")
    b.body("bare", mass=1.0, inertia=np.diag([1.0, 2.0, 2.5]), group="others", velocity=[1, 2, 3])
    b.body("belt", ss.Plane(), motion=((1, 0, 0), (0, 0, 0.5)))
    b.body("lift", ss.Cuboid((1, 1, 1)), position=(9, 9, 9), motion=forces.Input())
    b.body("hoist", ss.Cuboid((1, 1, 1)), position=(19, 9, 9), motion=forces.Input((0, 0, 1, 0, 0, 0)))
    b.apart("loaded", "bare")
    b.apart_groups("others", "default")
    assert_same(b.build(), tmp_path)


def linkage():
    """A world with every kind of joint, force and sensor."""
    b = ss.WorldBuilder()
    for k, name in enumerate("abcdefgh"):
        turn = ss.rotation((1, 2, 3), 0.3 * k)
        b.body(name, ss.Capsule(0.05, 0.3), position=(k, 0.1 * k, 1 / 3), quaternion=turn)
    b.joint("weld", "fixed", "a")
    b.joint("ball", "ball", "b", "a", point=(0.5, 0, 0.3))
    b.joint("hinge", joints.HingeJoint((1.5, 0, 0.3), (0, 1, 0.1)), "c", "b", limits=(-0.5, 0.7), e=0.5)
    b.joint("slider", "slider", "d", "c", axis=(1, 1, 0), limits=(None, 0.4), friction=0.1)
    b.joint("pipe", joints.JointKind.CYLINDRICAL, "e", "d", point=(3.5, 0, 0.3), axis=(0, 0, 2),
            limits=(-1, None), turn_limits=(-1, 1), turn_friction=0.2)  # fmt: skip
    b.joint("rod", "distance", "f", "e", point=(5, 0.5, 0.3), collide=True)
    b.joint("rope", "distance", "g", "f", limits=(None, 5.0))
    b.force(ss.forces.Spring("spring", "a", "h", stiffness=100.0, damping=0.1, first_point=(0.1, 0, 0)))
    b.force(forces.Spring("tether", "h", stiffness=10, length=0.5, second_point=(7, 0, 1)))
    b.force(forces.Damper("drag", "h", linear=0.1, angular=0.2, point=(7, 0.7, 0.4)))
    b.force(forces.Actuator("motor", "hinge"))
    b.force(forces.Actuator("pull", "pipe", 1.0 / 3.0, turn=True))
    b.force(forces.BodyForce("push", "h", force=(1, 0, 0), moment=forces.Input()))
    b.force(forces.BodyForce("wind", "g", force=forces.Input((0, 1 / 3, 0)), point=(6, 0.6, 0.5)))
    b.sensor(sensors.PositionSensor("where", "h", (7, 0.7, 0.5)))
    b.sensor(sensors.VelocitySensor("how fast", "h"))
    b.sensor(sensors.JointSensor("angle", "pipe", turn=True))
    b.sensor(sensors.DistanceSensor("far", "a", "h"))
    b.sensor(sensors.ForceSensor("pin", joint="hinge"))
    b.sensor(sensors.TorqueSensor("load", body="h", other="a"))
    b.sensor(sensors.ContactSensor("touch", "h"))
    b.sensor(sensors.Accelerometer("felt", "h"))
    b.sensor(sensors.Gyroscope("spin", "h"))
    return b.build()


def test_every_joint_force_and_sensor(tmp_path):
    world = linkage()
    assert {type(call[1][0]) for call in world.given.calls if call[0] in ("force", "sensor")} == {
        *FORCES, *SENSORS,
    }  # fmt: skip
    assert_same(world, tmp_path)
    again = back(world, tmp_path)
    runs = [ss.simulate(one, until=0.02, h=1e-3) for one in (world, again)]
    for name in ("q", "v", "joint_r"):
        assert np.array_equal(*(getattr(run, name) for run in runs))
    for name, values in runs[0].sensors.items():
        assert np.array_equal(values, runs[1].sensors[name]), name


def test_what_was_set_since_is_written_too(tmp_path):
    world = with_inputs(linkage(), {"motor": 0.7, "wind": (1 / 3, 0, 0), "push": (0, 0, 2)})
    assert_same(world, tmp_path)
    p = Parameters.of(world)
    wrench = p.wrench.copy()
    wrench[7, 2] = 1 / 3
    world = p.with_(mass=1.1 * p.mass, size=0.9 * p.size, mu=[1 / 3], wrench=wrench, effort=[3, 4]).applied(
        world
    )
    assert_same(world, tmp_path)
    start = replace(world.start, t=0.5, v=world.start.v + 1 / 3)
    assert_same(replace(world, start=start), tmp_path)


def test_a_world_that_a_file_cannot_describe_is_refused(tmp_path):
    world = replace(linkage(), names=tuple("ABCDEFGH"))
    with pytest.raises(ss.ModelError, match=r"names\[0\] of this world was changed after it was built"):
        ss.save(world, tmp_path / "model.toml")
    with pytest.raises(ss.ModelError, match="not made by a WorldBuilder"):
        ss.save(replace(world, given=None), tmp_path / "model.toml")
    assert not list(tmp_path.iterdir())


def worlds():
    for name in scenes.names(scenes.RUN):
        model = scenes.make(name).system
        if isinstance(model, ss.World):
            yield name


@pytest.mark.parametrize("name", sorted(set(worlds()) - WRITTEN))
def test_every_scene_that_is_a_world(name, tmp_path):
    world = scenes.make(name).system
    path = tmp_path / "model.json"
    ss.save(world, path)
    assert difference(ss.load(path), world) == ""


def falling(relation, law, **given):
    body = ss.NewtonEuler("body", **{"mass": 2, "inertia": (1, 2, 2.5), "q0": (0, 0, 1, 1, 2, 3, 4), **given})
    return ss.NonsmoothSystem([body], [ss.Interaction("tie", "body", relation, law)])


def sliding(relation, law, **given):
    block = ss.LagrangianLinear("block", M=[[2, 0], [0, 3]], K=[[5, 1], [1, 4]], q0=[1, 1 / 3], **given)
    return ss.NonsmoothSystem([block], [ss.Interaction("tie", ["block"], relation, law)])


def flow(relation, law):
    plant = ss.FirstOrderLinear("plant", A=[[0, 1], [-1, 0]], b=[1 / 3, 0], x0=[1, 0], z=[2.0])
    return ss.NonsmoothSystem([plant], [ss.Interaction("tie", "plant", relation, law)])


WALL = ss.NewtonImpact(e=0.3)
DRY = ss.NewtonImpact(e=0.3, mu=0.4, mu_roll=0.01, mu_spin=0.02)
SYSTEMS = {
    "Scleronomous": lambda: sliding(ss.Scleronomous(1.0, dy_dq=[[1, 0]]), WALL),
    "Rheonomous": lambda: sliding(systems.Rheonomous(1.0, [[1, 0]], 0.0), laws.PoissonImpact(e=0.5)),
    "LagrangianLinearRelation": lambda: sliding(
        systems.LagrangianLinearRelation([[1, 0], [0, 1]], e=[1 / 3, 2]), laws.Mixed(1, 1)
    ),
    "CompliantRelation": lambda: sliding(
        systems.CompliantRelation(1.0, [[1, 0]], dy_dlam=[[0.1]]), laws.Complementarity()
    ),
    "LagrangianNonlinear": lambda: sliding(
        systems.LagrangianNonlinear(1.0, [1.0, 0.0], [[1, 0]], dg_dlam=[[1], [0]]), laws.Complementarity()
    ),
    "BodyContact": lambda: falling(
        systems.BodyContact(1.0, (0, 0, 1), (0, 0, 0), surface_velocity=(1 / 3, 0, 0)), DRY
    ),
    "PointOnPlane": lambda: falling(
        systems.PointOnPlane((0.1, 0.2, 1 / 3), normal=(0, 1, 1), offset=-3), DRY
    ),
    "SpherePlane": lambda: falling(systems.SpherePlane(1 / 3, center=(0, 0, 0.1)), DRY),
    "SphereSphere": lambda: falling(systems.SphereSphere(0.1, 0.2, center_second=(0, 0, -3)), WALL),
    "BallJoint": lambda: falling(joints.BallJoint((1, 2, 1 / 3)), laws.Equality(3)),
    "FixedJoint": lambda: falling(joints.FixedJoint(), laws.Equality(6)),
    "HingeJoint": lambda: falling(joints.HingeJoint((1, 2, 3), (0, 1, 1)), laws.Equality(5)),
    "SliderJoint": lambda: falling(joints.SliderJoint((0, 1, 1)), laws.Equality(5)),
    "DistanceJoint": lambda: falling(joints.DistanceJoint((0, 0, 1), (1, 0, 0), 1.5), laws.Equality()),
    "FirstOrderLinearRelation": lambda: flow(
        systems.FirstOrderLinearRelation([[1, 0]], [[0], [1]], D=2.0, F=[[1 / 3]], e=0.5),
        laws.Box(-1 / 3, np.inf),
    ),
    "FirstOrderRelation": lambda: flow(systems.FirstOrderRelation(1.0, [0.0, 1.0]), laws.Relay(0.5)),
    "FirstOrderType1": lambda: flow(
        systems.FirstOrderType1([1.0, 2.0], [0.0, 1.0]), laws.Relay([0.5, 1 / 3], components=2)
    ),
    "FirstOrderType2": lambda: flow(systems.FirstOrderType2(1.0, [0.0, 1.0]), laws.Box([-np.inf], [2.0])),
}


@pytest.mark.parametrize("relation", SYSTEMS)
def test_every_relation_and_law(relation, tmp_path):
    system = SYSTEMS[relation]()
    assert type(system.interactions[0].relation).__name__ == relation
    assert_same(system, tmp_path)


def test_no_relation_and_no_law_is_left_out():
    assert {one.__name__ for one in RELATIONS} == set(SYSTEMS)
    assert {type(make().interactions[0].law) for make in SYSTEMS.values()} == set(LAWS)


def test_every_dynamics(tmp_path):
    made = [
        ss.Lagrangian("a", M=2.0, q0=[1, 1 / 3], v0=3, N=[1, 2], F_int=[0, 1], F_ext=[1 / 3, 0], T=[[1], [0]],
                      u=2.0, z=[1.0], z_update=[2.0], potential=0.5),
        ss.LagrangianLinear("b", M=1, C=0.1, K=[[2.0]], q0=1, F_ext=-9.81),
        ss.NewtonEuler("c", mass=1, inertia=np.eye(3), q0=(1, 2, 3, 1, 1, 1, 2), v0=(1, 2, 3),
                       force=(0, 0, -9.81), moment=(0, 1, 0), force_frame="body", C=0.1),
        ss.FirstOrder("d", f=[1.0, 2.0], x0=[0.0, 1 / 3], M=[[2, 0], [0, 1]], u=[1.0, 2.0]),
        ss.FirstOrderLinear("e", A=[[1 / 3]], x0=1.0, b=2),
    ]  # fmt: skip
    assert {type(one) for one in made} == set(DYNAMICS)
    assert_same(ss.NonsmoothSystem(made), tmp_path)


def test_the_same_run_of_a_system(tmp_path):
    system = scenes.make("rlc-diode").system
    runs = [ss.simulate(one, until=1e-4, h=1e-6) for one in (system, back(system, tmp_path))]
    assert np.array_equal(runs[0].q, runs[1].q)
    assert np.array_equal(runs[0].r, runs[1].r)


def test_what_users_change_later_does_not_matter(tmp_path):
    b, place = builder(), [0.0, 0.0, 1.0]
    b.body("ball", ss.Sphere(0.1), position=place)
    M, q = np.eye(2), np.array([1.0, 2.0])
    system = ss.NonsmoothSystem([ss.Lagrangian("block", M=M, q0=q)])
    place[2], M[0, 0], q[0] = 9.0, 9.0, 9.0
    assert_same(b.build(), tmp_path)
    assert_same(system, tmp_path)


def pushed(t):
    return (1.0, 0.0, 0.0)


def drag(velocity):
    return -0.5 * velocity


def moved(t):
    return (np.sin(t), 0.0, 0.0), (0.0, 0.0, 0.0)


def test_functions_are_written_by_names_and_given_when_a_file_is_read(tmp_path):
    b = builder()
    b.body("belt", ss.Plane(), motion=moved)
    b.body("arm", ss.Sphere(0.1), position=(0, 0, 1))
    b.joint("pin", "hinge", "arm", point=(0, 0, 1.2), axis=(0, 1, 0))
    b.force(forces.Actuator("motor", "pin", drag))
    b.force(forces.BodyForce("push", "arm", force=pushed))
    names = {"motion of the belt": moved, "drag": drag, "wind": pushed}

    def gap(q):
        return np.array([q[0]])

    def falls(t):
        return [-9.81 if t < 0.05 else 0.0]

    ball = ss.Lagrangian("ball", M=1.0, q0=[0.02], F_ext=falls)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(gap), WALL)
    system = ss.NonsmoothSystem([ball], [floor], edges=[0.05])
    for model, given, ending in ((b.build(), names, "toml"), (system, {"gap": gap, "falls": falls}, "json")):
        path = tmp_path / f"model.{ending}"
        ss.save(model, path, functions=given)
        again = ss.load(path, functions=given)
        ours, theirs = (ss.simulate(one, until=0.1, h=1e-2) for one in (model, again))
        assert ours.q.tobytes() == theirs.q.tobytes()
        with pytest.raises(ModelFileError, match=r"is the function .*functions=\{'.*': \.\.\.\}"):
            ss.load(path)
        with pytest.raises(ss.ModelError, match=r"is the function .* give the function a name"):
            ss.save(model, path, functions={"other": len})
    assert again.edges.given.tolist() == [0.05]


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ('F_ext = {function = "os:system"}', "function 'os:system' is missing; known: f"),
        ("F_ext = {function = 3}", "systems[0].F_ext: is a function without a name"),
        ('q0 = {function = "f"}', "systems[0].q0: is not an array of real numbers"),
        ('name = {function = "f"}', "systems[0].name"),
    ],
)
def test_names_of_functions_in_files_import_nothing(tmp_path, key, said):
    path, given = tmp_path / "model.toml", {"M": "M = 1.0", "q0": "q0 = [0.0]", "name": 'name = "a"'}
    given[key.split(" ")[0]] = key
    lines = ["version = 1", 'model = "system"', "[[systems]]", 'kind = "lagrangian"', *given.values()]
    path.write_text("\n".join(lines))
    with pytest.raises(ModelFileError) as error:
        ss.load(path, functions={"f": drag})
    assert said in str(error.value)


def test_functions_are_refused_by_their_names(tmp_path):
    def refused(model, *words):
        with pytest.raises(ss.ModelError) as error:
            ss.save(model, tmp_path / "model.toml")
        assert all(word in str(error.value) for word in words), error.value

    b = builder()
    b.body("box", ss.Sphere(1.0))
    b.force(forces.BodyForce("push", "box", force=pushed))
    refused(b.build(), "'push'", "body 'box'", "the function 'pushed'")
    b = builder()
    b.body("belt", ss.Plane(), motion=lambda t: ((t, 0, 0), (0, 0, 0)))
    refused(b.build(), "body 'belt'", "motion is the function", "lambda")
    b = builder()
    b.sensor(sensors.Sensor("mine", lambda world, state: state.t))
    refused(b.build(), "sensor 'mine'", "Sensor cannot be written to a model file")
    scene = scenes.function("quadruped")()  # not by its name
    refused(scene.system, "motor", "body 'front left hip', 'trunk'", "effort")
    refused(scenes.function("moving-wall")().system, "system 'pendulum'", "F_int is the function")
    ball = ss.LagrangianLinear("ball", M=1.0, q0=1.0)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), WALL)
    refused(ss.NonsmoothSystem([ball], [floor]), "interaction 'floor'", "y is the function")

    class Mine(ss.Lagrangian):
        pass

    refused(ss.NonsmoothSystem([Mine("ball", M=1.0, q0=1.0)]), "system 'ball'", "Mine cannot be written")
    assert not list(tmp_path.iterdir())


# Runs


def test_a_run_goes_on_by_its_file_alone(tmp_path):
    scene = scenes.make("four-bar")
    path = tmp_path / "run.h5"
    ss.simulate(scene.system, until=0.02, h=1e-3, out=path)
    run = ss.read_trajectory(path)
    assert difference(run.source, scene.system) == ""
    assert difference(ss.load(path), scene.system) == ""
    longer = ss.simulate(run.source, until=0.04, start=run.checkpoint(), out=path)
    whole = ss.simulate(scene.system, until=0.04, h=1e-3)
    assert np.array_equal(longer.q, whole.q)
    assert difference(longer.source, scene.system) == ""


def test_a_run_that_was_stopped_knows_where_it_was_to_end(tmp_path):
    def stop(record):
        if record.t > 0.015:
            raise RuntimeError("stopped")

    scene, path = scenes.make("four-bar"), tmp_path / "run.h5"
    with pytest.raises(RuntimeError, match="stopped"):
        ss.simulate(scene.system, until=0.03, h=1e-3, out=path, watch=stop)
    run = ss.read_trajectory(path)
    assert (run.complete, run.until) == (False, 0.03)
    ss.simulate(run.source, until=run.until, start=run.checkpoint(), out=path)
    whole = ss.simulate(scene.system, until=0.03, h=1e-3)
    assert np.array_equal(ss.read_trajectory(path).q, whole.q)


def test_a_run_from_a_file_is_differentiated(tmp_path):
    scene = scenes.make("four-bar")
    path = tmp_path / "run.h5"
    ss.simulate(scene.system, until=0.005, h=1e-3).save(path)
    run = ss.read_trajectory(path)
    ours = ss.differentiate(run.source, run.checkpoint().state, h=1e-3)
    theirs = ss.differentiate(scene.system, run.checkpoint().state, h=1e-3)
    assert np.array_equal(ours.jacobian("v", "v"), theirs.jacobian("v", "v"))


def test_a_run_in_memory_has_its_model():
    world = scenes.make("four-bar").system
    assert ss.simulate(world, until=1e-3, h=1e-3).source is world
    system = scenes.make("bouncing-ball").system
    assert ss.simulate(system, until=1e-3, h=1e-3).source is system


def test_a_run_of_a_model_with_functions_says_why_its_file_has_no_model(tmp_path):
    path = tmp_path / "run.h5"
    ss.simulate(scenes.function("moving-wall")().system, until=1e-2, h=1e-3).save(path)
    with pytest.raises(ss.ModelError, match=r"run.h5 does not contain its model.*F_int is the function"):
        ss.load(path)
    again = tmp_path / "again.h5"
    ss.read_trajectory(path).save(again)
    assert again.read_bytes() == path.read_bytes()


def test_runs_are_saved_by_the_same_verb(tmp_path):
    run = ss.simulate(scenes.make("stack", bodies=2).system, until=2e-3, h=1e-3)
    ss.save(run, tmp_path / "run.h5")
    assert np.array_equal(ss.read_trajectory(tmp_path / "run.h5").q, run.q)


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_every_scene_of_equations_is_written_and_runs_alike(tmp_path, ending):
    functions = 0
    for name in scenes.names(scenes.RUN):
        scene = scenes.make(name)
        if isinstance(scene.system, ss.World):
            continue
        path = tmp_path / f"{name}.{ending}"
        ss.save(scene.system, path)
        functions += "scene =" in path.read_text() or '"scene":' in path.read_text()
        again = ss.load(path)
        for column in ("q0", "v0", "z0"):
            np.testing.assert_array_equal(getattr(again, column), getattr(scene.system, column))
    assert functions >= 10


def test_a_run_of_a_scene_with_functions_goes_on_by_its_file(tmp_path):
    scene = scenes.make("moving-wall", h=1e-3)
    how = {"h": 1e-3, "scheme": scene.scheme}
    whole = ss.simulate(scene.system, until=0.02, **how)
    ss.simulate(scene.system, until=0.01, out=tmp_path / "run.h5", **how)
    half = ss.read_trajectory(tmp_path / "run.h5")
    rest = ss.simulate(half.source, until=0.02, start=half.checkpoint())
    np.testing.assert_array_equal(rest.q[-1], whole.q[-1])


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('scene = "moving-wal"', "moving-wall"),
        ('scene = "incline-problem"', "is a single problem, not a model to simulate"),
        ('scene = "moving-wall"\n[parameters]\nwat = 1.0', "no parameter 'wat'"),
        ('scene = "moving-wall"\n[parameters]\nh = -1.0', "h is -1.0"),
        ('scene = "stack"\n[parameters]\nbodies = 100000', "a file may ask for 1000 at most"),
        ('scene = "os:system"', "unknown scene"),
        ('code = "print()"\nscene = "stack"', "unknown key"),
    ],
)
def test_wrong_scenes_in_files_are_told(tmp_path, lines, words):
    path = tmp_path / "model.toml"
    path.write_text(f'version = 1\nmodel = "scene"\n{lines}\n')
    with pytest.raises(ss.files.FormatError, match=words):
        ss.load(path)
