"""Batches: every member has the bits of a run of its own, whatever the others do and however many threads."""

from dataclasses import replace

import numpy as np
import pytest
import robot_models
from late_signals import Places
from system_families import swing
from world_runs import balls

import stickslip as ss
from stickslip.mechanics.parameters import Parameters
from stickslip.robots.numbers import robot_with
from stickslip.simulation.batches.batch import Batch as Members
from stickslip.simulation.batches.member import MemberStatus

H = 2e-3


def stack(count=3):
    """Boxes on each other, a little aside, with a ball on top."""
    builder = ss.WorldBuilder()
    builder.material("wood", mu=0.4, e=0.1)
    builder.body("floor", ss.Plane(), fixed=True, material="wood")
    for k in range(count):
        where = (0.05 * (k % 2), 0.02 * k, 0.5 + k)
        builder.body(f"box {k}", ss.Cuboid((1, 1, 1)), position=where, material="wood")
    builder.body("ball", ss.Sphere(0.3), position=(0, 0, count + 0.31), material="wood")
    return builder.build()


def arm():
    """A hinged arm with a motor whose effort is set between steps, above a floor."""
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True, position=(0, 0, -0.5))
    builder.body("arm", ss.Cuboid((1, 0.1, 0.1)), position=(0.5, 0, 0))
    builder.joint("knee", "hinge", "arm", point=(0, 0, 0), axis=(0, -1, 0))
    builder.force(ss.forces.Actuator("motor", "knee"))
    return builder.build()


def oscillator(k=100.0, mu=0.3):
    """A mass on a spring that rubs on a floor: nothing of it is a function in Python."""
    body = ss.LagrangianLinear("mass", M=np.eye(2), K=np.diag([k, 0.0]), q0=[0.1, 0.0], F_ext=[0.0, -9.81])
    floor = ss.systems.LagrangianLinearRelation([[0.0, 1.0], [1.0, 0.0]])
    law = ss.NewtonImpact(e=0.5, mu=mu, dimension=2)
    return ss.NonsmoothSystem([body], [ss.Interaction("floor", "mass", floor, law)])


def robots():
    return ss.Robot.load(robot_models.gripper())


def scattered(model, n, seed=0, size=0.3):
    """Velocities for n members, shape (n, nv), and those that do not move stay at rest."""
    state = ss.live(model, h=H).state
    moves = np.ones(state.v.size)
    if isinstance(model, ss.World):
        moves = np.repeat(model.row >= 0, 6).astype(float)
    return state.v + moves * size * np.random.default_rng(seed).standard_normal((n, state.v.size))


def alone(model, state, steps, **how):
    """The same member as a run of its own."""
    live = ss.live(model, h=H, start=state, **how)
    live.step(steps)
    return live


def assert_same(batch, k, live):
    state = batch.state[k]
    for name in "qvz":
        assert getattr(state, name).tobytes() == getattr(live.state, name).tobytes(), (k, name)
    assert state.t == live.state.t
    assert batch.residual[k] == live.residual


MODELS = {
    "boxes": stack, "balls": balls, "arm": arm, "gripper": robots, "oscillator": oscillator,
    "functions in Python": swing,
}  # fmt: skip


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_members_have_the_bits_of_single_runs_on_any_number_of_threads(make):
    model, n = make(), 5
    v = scattered(model, n, size=0.0 if make is arm else 0.3)
    starts = [replace(ss.live(model, h=H).state, v=row) for row in v]
    ends = []
    for threads, parts in ((1, (40,)), (2, (1, 1, 17, 1, 20)), (3, (39, 1))):
        batch = ss.Batch(model, n, h=H, threads=threads, start=starts)
        for part in parts:
            batch.step(part)
        assert batch.steps.tolist() == [40] * n
        ends.append(batch)
    for k, start in enumerate(starts):
        live = alone(model, start, 40)
        for batch in ends:
            assert_same(batch, k, live)


@pytest.mark.parametrize(
    ("make", "free"), [(stack, True), (robots, True), (oscillator, True), (swing, False)]
)
def test_what_calls_nothing_of_python_is_made_on_threads(make, free):
    assert ss.Batch(make(), 2, h=H)._members[0].is_free is free


def test_numbers_of_members_are_those_of_their_own_worlds():
    world, n = stack(), 4
    rng = np.random.default_rng(1)
    own = Parameters.of(world)
    dynamic = world.row >= 0
    given = {
        "mass": own.mass * np.where(dynamic, rng.uniform(0.5, 2.0, (n, 1)), 1.0),
        "mu": rng.uniform(0.1, 0.9, (n, own.mu.size)),
        "e": rng.uniform(0.0, 0.5, (n, own.e.size)),
        "size": own.size * rng.uniform(0.9, 1.0, (n, 1)),
    }
    v = scattered(world, n)
    for names in (("mass",), ("mu", "e"), ("mass", "mu", "e", "size")):
        chosen = {name: given[name] for name in names}
        batch = ss.Batch(world, n, h=H, threads=2, parameters=chosen)
        batch.reset(v=v)
        batch.step(30)
        for name in names:
            assert np.array_equal(batch.parameters[name], given[name])
        for k in range(n):
            other = own.with_(**{name: given[name][k] for name in names}).applied(world)
            assert_same(batch, k, alone(other, replace(world.start, v=v[k]), 30))


def test_numbers_of_robots_and_families():
    robot, n = robots(), 3
    friction = np.array(robot.model.geom_friction) * np.linspace(0.5, 1.0, n)[:, None, None]
    batch = ss.Batch(
        robot, n, h=H, threads=2, parameters={"friction": friction}, start=robot.state(ctrl=[0, 8, 8])
    )
    batch.step(20)
    for k in range(n):
        own = robot_with(robot, friction=friction[k])
        assert_same(batch, k, alone(own, robot.state(ctrl=[0, 8, 8]), 20))
    family = ss.systems.Family(oscillator, k=100.0, mu=0.3)
    batch = ss.Batch(family, n, h=H, parameters={"mu": np.linspace(0.1, 0.5, n)})
    batch.step(30)
    for k, mu in enumerate(np.linspace(0.1, 0.5, n)):
        assert_same(batch, k, alone(oscillator(mu=mu), None, 30))


def test_inputs_have_a_row_for_each_member():
    batch = ss.Batch(arm(), 3, h=H, threads=2)
    lives = [ss.live(arm(), h=H) for _ in range(3)]
    for turn in range(4):
        efforts = np.array([0.0, 300.0, 900.0]) * (1 + turn)
        batch.inputs["motor"] = efforts
        assert np.array_equal(batch.inputs["motor"], efforts)
        batch.step(3)
        for live, effort in zip(lives, efforts, strict=True):
            live.inputs["motor"] = effort
            live.step(3)
    for k, live in enumerate(lives):
        assert_same(batch, k, live)
    batch.inputs["motor"] = 5.0
    assert np.array_equal(batch.inputs["motor"], [5.0] * 3)
    with pytest.raises(ss.ModelError, match="row 1"):
        batch.inputs["motor"] = [0.0, np.nan, 0.0]


def test_controls_of_robots():
    robot = robots()
    batch = ss.Batch(robot, 2, threads=2)
    batch.controls = [[0.0, 8.0, 8.0], [0.1, 8.0, 8.0]]
    batch.step(25)
    live = robot.live()
    live.data.ctrl[:] = [0.1, 8.0, 8.0]
    live.step(25)
    assert_same(batch, 1, live)
    assert np.array_equal(batch.controls[:, 0], [0.0, 0.1])
    batch.inputs["close_a"] = [8.0, 9.0]
    assert np.array_equal(batch.inputs["close_a"], batch.controls[:, 1])
    with pytest.raises(ss.ModelError, match=r"unknown input 'close'.*close_a"):
        batch.inputs["close"]
    assert np.array_equal(batch.data[1].qpos, live.data.qpos)
    assert np.array_equal(batch.data[1].xpos, live.data.xpos)


def pinched(closes):
    """A box between two walls that may close in on it: then no impulse will do."""
    builder = ss.WorldBuilder()
    builder.body("left", ss.Cuboid((1, 1, 1)), position=(-1, 0, 0), motion=ss.forces.Input((0,) * 6))
    builder.body("right", ss.Cuboid((1, 1, 1)), position=(1, 0, 0), fixed=True)
    builder.body("box", ss.Cuboid((1, 1, 1)), position=(0, 0, 0))
    world = builder.build()
    return world, {"left": np.array([[closes if k == 1 else 0.0, 0, 0, 0, 0, 0] for k in range(3)])}


def test_a_member_that_is_not_solved_is_held_and_the_others_go_on():
    world, inputs = pinched(1.0)
    batch = ss.Batch(world, 3, h=H, threads=2)
    batch.inputs["left"] = inputs["left"]
    batch.step(5)
    assert batch.status.tolist() == [0, MemberStatus.UNSOLVED, 0]
    assert "missed its tolerance" in batch.reasons[1]
    assert batch.steps[0] == batch.steps[2] == 5
    assert batch.steps[1] < 5
    held = batch.state[1]
    batch.step(2)
    assert batch.steps[0] == 7
    assert batch.state[1].q.tobytes() == held.q.tobytes()
    batch.reset([1])
    assert batch.status.tolist() == [0, 0, 0]
    assert batch.steps.tolist() == [7, 0, 7]
    batch.step()
    assert batch.steps.tolist() == [8, 1, 8]
    accepted = ss.Batch(world, 3, h=H, on_failure="accept")
    accepted.inputs["left"] = inputs["left"]
    accepted.step(5)
    assert not accepted.reasons
    live = ss.live(world, h=H, on_failure="accept")
    live.inputs["left"] = inputs["left"][1]
    live.step(5)
    assert_same(accepted, 1, live)


def test_a_member_that_is_refused_is_held():
    """Velocities that overflow within a step: of a world Python says so, of a robot the compiled step."""
    for model, where in ((balls(), 6 + 2), (robots(), 0)):
        v = np.zeros((4, ss.live(model, h=H).state.v.size))
        v[2, where] = 1e200
        batch = ss.Batch(model, 4, h=H, threads=2)
        batch.reset(v=v)
        batch.step(3)
        assert batch.status[2] in (MemberStatus.REFUSED, MemberStatus.UNSOLVED), batch.status
        assert batch.steps.tolist() == [3, 3, batch.steps[2], 3]
        assert_same(batch, 3, alone(model, batch.model_of(3).start, 3))


def test_steps_that_compiled_code_leaves_hold_members_where_that_is_asked_for():
    """Poisson's law makes an impact in several problems, which compiled code leaves."""
    world = balls()
    how = {"scheme": ss.schemes.SemiExplicitMoreauJean(impact="poisson"), "h": H}
    v = np.zeros((2, world.start.v.size))
    v[1, 6 + 2] = v[1, 12 + 2] = -3.0
    batch = ss.Batch(world, 2, compiled_only=True, parameters={"e": [0.5]}, **how)
    batch.reset(v=v)
    batch.step(80)
    assert batch.status.tolist() == [0, MemberStatus.LEFT]
    whole = ss.Batch(world, 2, parameters={"e": [0.5]}, **how)
    whole.reset(v=v)
    whole.step(80)
    assert not whole.reasons
    live = alone(whole.model_of(1), replace(world.start, v=v[1]), 80, scheme=how["scheme"])
    assert_same(whole, 1, live)
    with pytest.raises(ss.ModelError, match="compiled_only"):
        ss.Batch(world, 2, h=H, compiled_only=True, solver="nsgs")


def test_reset_of_some_members():
    world = stack()
    batch = ss.Batch(world, 4, h=H, threads=2, start=world.start)
    batch.step(7)
    seven = batch.state
    batch.reset([True, False, False, True], q=np.array(world.start.q))
    assert batch.t.tolist() == [0.0, seven.t[1], seven.t[2], 0.0]
    batch.reset([2], start=batch.checkpoint(1))
    batch.reset(3, start=seven[1])
    batch.step(3)
    assert batch.state.q[1].tobytes() == batch.state.q[2].tobytes()
    live = ss.live(batch.model_of(1), start=batch.checkpoint(1))
    batch.step(4)
    live.step(4)
    assert_same(batch, 1, live)
    batch.reset(start=seven)
    assert np.array_equal(batch.state.q, seven.q)
    batch.reset([0], parameters={"mu": 0.9})
    batch.reset([1], parameters={"gravity": [0.0, 0.0, -1.6]})
    assert batch.model_of(0).materials.mu.max() == 0.9
    batch.step(20)
    for k in (0, 1, 2):
        assert_same(batch, k, alone(batch.model_of(k), seven[k] if k == 2 else None, 20))


def test_sizes_of_members_and_starts_where_they_fit():
    """Larger boxes begin higher up; where they do not, nothing is changed."""
    world = stack()
    size = Parameters.of(world).size
    sizes = np.array([1.0, 0.8, 1.3])[:, None] * size
    q = np.array([world.start.q] * 3)
    q[2, 9::7] = 0.5 + 2.0 * np.arange(4)
    with pytest.raises(ss.ModelError, match=r"^member 2: bodies overlap"):
        ss.Batch(world, 3, h=H, parameters={"size": sizes})
    batch = ss.Batch(world, 3, h=H, threads=2)
    batch.step(2)
    before = batch.state
    with pytest.raises(ss.ModelError, match=r"^member 2: bodies overlap"):
        batch.reset(parameters={"size": sizes})
    assert batch.parameters == {}
    assert batch.state.q.tobytes() == before.q.tobytes()
    batch.step(3)
    assert_same(batch, 2, alone(world, None, 5))
    q[2, 9::7] += 0.3
    batch.reset(parameters={"size": sizes}, q=q)
    batch.step(20)
    for k in range(3):
        assert_same(batch, k, alone(batch.model_of(k), replace(world.start, q=q[k]), 20))


def test_compiled_code_makes_all_steps_of_stacks_that_were_pushed():
    """Sweeps stall in one step of ten here, and Newton's method ends them in the same call."""
    builder = ss.WorldBuilder()
    builder.material("wood", mu=0.5, e=0.0)
    builder.body("floor", ss.Plane(), fixed=True, material="wood")
    for k in range(10):
        where = (0.01 * (k % 2), 0, 0.2 * (k + 0.5))
        builder.body(f"box {k}", ss.Cuboid((0.2,) * 3), position=where, mass=8.0, material="wood")
    batch = ss.Batch(builder.build(), 4, h=H, compiled_only=True)
    pushes = 0.02 * np.random.default_rng(0).standard_normal((4, 66))
    batch.reset(v=pushes * (np.arange(66) >= 6))
    batch.step(100)
    assert not batch.reasons
    assert batch.worst.max() <= 1e-8


def test_random_numbers_are_spawned_from_the_seed():
    batch = ss.Batch(balls(), 3, h=H, seed=7)
    drawn = [one.random(2).tolist() for one in batch.random]
    spawned = np.random.SeedSequence(7).spawn(3)
    assert drawn == [np.random.default_rng(one).random(2).tolist() for one in spawned]
    with pytest.raises(ss.ModelError, match="seed"):
        ss.Batch(balls(), 3, h=H).random  # noqa: B018


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"n": 0}, "n is 0"),
        ({"h": -1.0}, "h is -1"),
        ({"parameters": {"mo": [0.1]}}, "unknown parameter 'mo'"),
        ({"parameters": {"mu": np.ones((2, 1))}}, r"parameter 'mu' has shape \(2, 1\); expected \(3, "),
        ({"parameters": {"mass": -np.ones(3)}}, "member 0: "),
        ({"parameters": {"size": -1.0}}, "^member 0: parameter size"),
        ({"h": None}, "^h is missing"),
        ({"start": "here"}, "start is str"),
        ({"start": []}, "start has 0 entries"),
        ({"on_failure": "raise"}, "on_failure is 'raise'"),
        ({"seed": -1}, "seed is -1; it must be a whole number >= 0"),
        ({"seed": "one"}, "seed is 'one'"),
    ],
)
def test_what_is_given_wrongly_is_said(how, said):
    given = {"n": 3, "h": H} | how
    with pytest.raises(ss.ModelError, match=said):
        ss.Batch(balls(), given.pop("n"), **given)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"mass": -1.0}, r"mass\[0\] is -1"),
        ({"mass": 0.0}, "above 0"),
        ({"friction": -0.1}, "at least 0"),
        ({"restitution": 1.5}, "from 0 to 1"),
    ],
)
def test_robots_that_cannot_be_are_refused(numbers, said):
    with pytest.raises(ss.ModelError, match=f"^member 0: .*{said}"):
        ss.Batch(robots(), 2, parameters=numbers)


def test_misspelt_arguments_and_members():
    with pytest.raises(TypeError, match="solver"):
        ss.Batch(balls(), 2, h=H, solvr="auto")
    with pytest.raises(
        ss.ModelError, match="this model has none; those of equations are the numbers of a Fam"
    ):
        ss.Batch(oscillator(), 2, h=H, parameters={"mu": 0.1})
    with pytest.raises(ValueError, match="threads is 0"):
        ss.Batch(balls(), 2, h=H, threads=0)
    batch = ss.Batch(balls(), 2, h=H)
    for members in ([2], [-1], [0.5], [True], [1, 1]):
        with pytest.raises(ss.ModelError, match="member"):
            batch.reset(members)
    with pytest.raises(AttributeError, match="robots"):
        batch.controls  # noqa: B018
    with pytest.raises(ss.ModelError, match="unknown input 'motor'; this model has none"):
        batch.inputs["motor"]
    assert repr(batch) == "Batch of 2 on 1 thread, t = 0 s, 0 held"


def test_an_interrupt_leaves_every_member_at_the_end_of_a_step():
    """A signal at one place after the other: then each member goes on as if there had been none."""
    world = stack(2)
    for n in range(1, 2000, 97):
        batch = ss.Batch(world, 3, h=H, threads=2)
        batch.step(2)
        places = Places(n, Members.step)
        try:
            with places:
                places.arm()
                batch.step(3)
        except KeyboardInterrupt:
            pass
        steps = batch.steps
        assert ((steps >= 2) & (steps <= 5)).all()
        batch.step(4)
        for k in range(3):
            assert_same(batch, k, alone(world, None, int(batch.steps[k])))
        if not places.sent:
            break
    assert n > 97
