"""Joints, tendons, actuators and equalities of robots: closed forms, and the scheme's own recursions."""

import numpy as np
import pytest
from robot_models import four_bar, scene

import stickslip as ss
from stickslip import Robot

G, H = 9.81, 1e-3
WEIGHTLESS = 'gravity="0 0 0"'


def sliders(axes="0 0 1, 0 0 1", joint="", rest="", options="", h=H):
    """Bodies of 1 kg, 2 kg, ... on slide joints a, b, ... along these axes, side by side."""
    bodies = "".join(
        f"""<body pos="{k} 0 0"><joint name="{"abc"[k]}" type="slide" axis="{axis.strip()}" {joint}/>
        <geom size=".1" mass="{k + 1}" contype="0" conaffinity="0"/></body>"""
        for k, axis in enumerate(axes.split(","))
    )
    return scene(bodies, rest, h=h, options=options)


# Limits.


@pytest.mark.parametrize("e", [0.0, 0.5, 0.9])
def test_a_joint_limit_is_hard_and_bounces(e):
    """From 0.5 m above its limit a body comes up again to e² of that, to the order of the step."""
    robot = Robot.load(sliders("0 0 1", 'range="-0.5 2" limited="true"'), limit_restitution=e)
    run = ss.simulate(robot, until=0.9, h=H)
    q, v = run.joint("a").position, run.joint("a").speed
    assert q.min() > -0.5 - 1e-9 - (np.abs(v).max() * H if e else 0.0)
    hit = int(np.argmax(np.diff(v)))
    assert v[hit + 1] == pytest.approx(-e * v[hit], abs=1e-9 + 2e-3)
    again = q[hit + 1 :].max() + 0.5
    assert again == pytest.approx(0.5 * e**2, abs=10 * H)
    if e == 0.0:
        assert run.joint("a").effort[-1] == pytest.approx(G, rel=1e-9)
        assert q[-1] == pytest.approx(-0.5, abs=1e-9)


@pytest.mark.parametrize("e", [0.0, 0.7])
def test_limits_by_name_bounce_and_upper_ones_too(e):
    robot = Robot.load(
        sliders("0 0 1, 0 0 -1", 'range="-0.2 0.2" limited="true"'), limit_restitution={"a": 0.0, "b": e}
    )
    run = ss.simulate(robot, until=0.4, h=H)
    assert run.joint("a").position[-1] == pytest.approx(-0.2, abs=1e-9)
    fall = 0.2 - run.joint("b").position
    hit = int(np.argmax(-np.diff(run.joint("b").speed)))
    assert fall[hit + 1 :].max() == pytest.approx(0.2 * e**2, abs=5 * H)


# Tendons.


def test_a_fixed_tendon_holds_the_sum_of_joints():
    """q_a + 2 q_b >= -0.3: both fall freely, then the tendon's force is along (1, 2)."""
    tendon = """<tendon><fixed name="sum" limited="true" range="-0.3 1">
    <joint joint="a" coef="1"/><joint joint="b" coef="2"/></fixed></tendon>"""
    run = ss.simulate(Robot.load(sliders(rest=tendon)), until=0.5, h=H)
    a, b = run.joint("a"), run.joint("b")
    length = a.position + 2.0 * b.position
    assert length.min() > -0.3 - 1e-9
    assert length[-1] == pytest.approx(-0.3, abs=1e-9)
    # M dv = -g M dt + (1, 2) r with M = diag(1, 2), and v_a + 2 v_b = 0 at the end: r = g t 3 / (1 + 4 / 2).
    t = float(run.t[-1])
    r = G * t * 3.0 / 3.0
    assert a.speed[-1] == pytest.approx(-G * t + r, abs=1e-9)
    assert b.speed[-1] == pytest.approx(-G * t + r, abs=1e-9)


def test_a_rope_lets_a_ball_fall_and_then_holds_it():
    """A spatial tendon of at most 0.5 m: the ball falls on a ray that stretches it, and swings below."""
    text = scene(
        """<site name="hook" pos="0 0 2"/><body name="ball" pos="0.3 0 2"><freejoint name="ball"/>
        <geom size=".05" mass="1"/><site name="eye"/></body>""",
        """<tendon><spatial name="rope" limited="true" range="0 0.5"><site site="hook"/><site site="eye"/>
        </spatial></tendon>""",
        h=H,
    )
    run = ss.simulate(Robot.load(text), until=1.0, h=H)
    x = run.body("ball").position - np.array([0.0, 0.0, 2.0])
    length = np.linalg.norm(x, axis=1)
    assert length.max() < 0.5 + 1e-5  # (h v)² / 2 L, which the next step takes back
    taut = int(np.argmax(length > 0.5 - 1e-4))
    # It falls 0.4 m freely; what it has along the rope is lost there.
    assert run.t[taut] == pytest.approx(np.sqrt(2 * 0.4 / G), abs=2 * H)
    fast = np.sqrt(2 * G * 0.4)
    across = fast * 0.3 / 0.5
    assert np.linalg.norm(run.body("ball").velocity[taut + 2]) == pytest.approx(across, rel=2e-2)
    # And swings: m g and m v²/L are what the rope carries at the bottom.
    energy = 0.5 * across**2 - G * 0.4
    bottom = int(np.argmin(x[:, 2]))
    assert 0.5 * np.sum(run.body("ball").velocity[bottom] ** 2) == pytest.approx(energy + G * 0.5, rel=2e-2)


def test_dry_friction_of_a_tendon_holds_up_to_its_bound():
    """The tendon a - b of two bodies that pull at it with 1 kg g and 2 kg g: it holds 4 N of them."""
    tendon = """<tendon><fixed name="pulley" frictionloss="4"><joint joint="a" coef="1"/>
    <joint joint="b" coef="-1"/></fixed></tendon>"""
    run = ss.simulate(Robot.load(sliders(rest=tendon)), until=0.2, h=H)
    # Both fall alike: nothing slides in the tendon, and friction does nothing.
    assert run.joint("a").speed == pytest.approx(run.joint("b").speed, abs=1e-9)
    driven = sliders(rest=tendon + '<actuator><motor name="a" joint="a"/></actuator>', options=WEIGHTLESS)
    for force, slides in ((3.0, False), (10.0, True)):
        run = ss.simulate(Robot.load(driven), until=0.2, h=H, control=lambda data, f=force: (f,))
        a, b = run.joint("a").speed[-1], run.joint("b").speed[-1]
        expected = ((force - 4.0), 2.0) if slides else (force / 3.0, force / 3.0)
        assert (a, b) == pytest.approx((0.2 * expected[0], 0.2 * expected[1]), rel=1e-9)


def chain(rest, h):
    """Bodies of 1 and 2 kg on slide joints along x, b on a."""
    body = '<geom size=".1" mass="{}" contype="0" conaffinity="0"/>'
    return scene(
        f"""<body><joint name="a" type="slide" axis="1 0 0"/>{body.format(1)}
        <body pos="0 0 1"><joint name="b" type="slide" axis="1 0 0"/>{body.format(2)}</body></body>""",
        rest,
        h=h,
    )


SUM = '<fixed name="sum" {}><joint joint="a" coef="1"/><joint joint="b" coef="{}"/></fixed>'


def test_a_servo_on_a_tendon_is_implicit():
    """Servo with kp, kv on q_a + q_b of a chain: the recursion of the scheme, with steps far beyond those of
    its period."""
    kp, kv, target, h = 4e6, 2e3, 0.1, 0.02
    rest = f"""<tendon>{SUM.format("", 1)}</tendon>
    <actuator><position name="servo" tendon="sum" kp="{kp}" kv="{kv}"/></actuator>"""
    run = ss.simulate(Robot.load(chain(rest, h)), until=1.0, control=lambda data: (target,))
    # (M + h kv jj' + h² kp jj') dv = h j (kp (target - l) - kv j'v - h kp j'v), j = (1, 1).
    j, M, q, v = np.ones(2), np.array([[3.0, 2.0], [2.0, 2.0]]), np.zeros(2), np.zeros(2)
    for k in range(1, len(run)):
        A = M + (h * kv + h * h * kp) * np.outer(j, j)
        v = v + np.linalg.solve(A, h * j * (kp * (target - j @ q) - (kv + h * kp) * (j @ v)))
        q = q + h * v
        assert run.q[k] == pytest.approx(q, abs=1e-9)
    assert run.q[-1].sum() == pytest.approx(target, rel=1e-6)


def test_a_spring_of_a_tendon_in_a_chain_is_implicit():
    """With a stiff one and long steps nothing blows up, and energy does not grow."""
    spring = SUM.format('stiffness="1e9" springlength="0"', 1)
    stiff = Robot.load(chain(f"<tendon>{spring}</tendon>", 0.01))
    run = ss.simulate(stiff, until=1.0, start=stiff.state([0.1, 0.0]))
    assert np.diff(run.energy).max() < 1e-9 * run.energy[0]
    assert abs(run.q[-1].sum()) < 1e-6


def test_a_spring_of_a_tendon_between_two_bodies_keeps_momentum():
    """Frequency of two masses on a spring, and 1 kg q_a + 2 kg q_b = const: no term adds inertia."""
    spring = SUM.format('stiffness="60" springlength="0"', -1)
    soft = Robot.load(sliders(rest=f"<tendon>{spring}</tendon>", options=WEIGHTLESS))
    run = ss.simulate(soft, until=2.0, h=1e-3, start=soft.state([0.1, 0.0]))
    stretch = run.q[:, 0] - run.q[:, 1]
    omega = np.sqrt(60.0 * (1.0 + 0.5))
    turns = run.t[1:][np.diff(np.sign(stretch)) != 0]
    assert np.diff(turns) == pytest.approx(np.pi / omega, abs=2e-3)
    assert run.q @ [1.0, 2.0] == pytest.approx(np.full(len(run), 0.1), abs=1e-12)


def test_a_servo_of_a_tendon_between_two_bodies_comes_to_its_target():
    """Fingers of 1 and 2 kg: both forces are alike, so they share the way as 2 to 1."""
    rest = f"""<tendon>{SUM.format("", 1)}</tendon>
    <actuator><position tendon="sum" kp="200"/></actuator>"""
    text = sliders(joint='damping="0"', rest=rest, options=WEIGHTLESS)
    run = ss.simulate(Robot.load(text), until=1.0, h=H, control=lambda data: (0.1,))
    assert run.q @ [1.0, -2.0] == pytest.approx(np.zeros(len(run)), abs=1e-12)
    omega = np.sqrt(200.0 * 1.5)
    expected = 0.1 * (1.0 - np.cos(omega * run.t))
    assert np.abs(run.q.sum(axis=1) - expected).max() < 0.1 * omega * H


# Actuators.


def test_a_servo_of_a_joint_follows_the_recursion():
    """Force limits too: kp, kv are implicit while the force is within them, and constant beyond."""
    kp, kv, h = 500.0, 20.0, 0.01
    rest = f'<actuator><position joint="a" kp="{kp}" kv="{kv}" forcerange="-40 40"/></actuator>'
    robot = Robot.load(sliders("1 0 0", rest=rest, h=h))
    run = ss.simulate(robot, until=1.0, control=lambda data: (1.0,))
    q = v = 0.0
    for k in range(1, len(run)):
        force = kp * (1.0 - q) - kv * v
        if abs(force) < 40.0:
            v += h * (force - h * kp * v) / (1.0 + h * kv + h * h * kp)
        else:
            v += h * np.clip(force, -40.0, 40.0)
        q += h * v
        assert run.q[k, 0] == pytest.approx(q, abs=1e-11)
    assert q == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("kind", ["filter", "filterexact", "integrator"])
def test_activations_follow_their_dynamics(kind):
    tau, h, n = 0.1, 0.004, 100
    parameter = f'dynprm="{tau}"' if kind != "integrator" else ""
    rest = f'<actuator><general joint="a" dyntype="{kind}" {parameter} gainprm="3"/></actuator>'
    robot = Robot.load(sliders("1 0 0", rest=rest, h=h))
    run = ss.simulate(robot, until=n * h, control=lambda data: (1.0,))
    k = np.arange(n + 1)
    expected = {
        "filter": 1.0 - (1.0 - h / tau) ** k, "filterexact": 1.0 - np.exp(-k * h / tau), "integrator": h * k,
    }[kind]  # fmt: skip
    assert run.z[:, 0] == pytest.approx(expected, abs=1e-12)
    # The force of a step is that of the activation at its start.
    assert run.joint("a").speed[-1] == pytest.approx(3.0 * h * expected[:-1].sum(), rel=1e-9)


def test_gravity_compensation_carries_its_part_of_the_weight():
    text = scene(
        """<body name="up" pos="0 0 1" gravcomp="1"><freejoint/><geom size=".1" mass="3"/></body>
        <body name="half" pos="1 0 1" gravcomp="0.5"><freejoint/><geom size=".1" mass="3"/></body>"""
    )
    run = ss.simulate(Robot.load(text), until=0.4, h=H)
    assert run.body("up").position[-1, 2] == pytest.approx(1.0, abs=1e-9)
    assert run.body("half").velocity[-1, 2] == pytest.approx(-0.5 * G * 0.4, rel=1e-9)


# Ball joints.


def conical(angle):
    """A point of 1 kg, 1 m below a ball joint, turned out by an angle, and its steady motion."""
    text = scene(
        """<body name="rod" pos="0 0 2"><joint name="ball" type="ball"/>
        <inertial pos="0 0 -1" mass="1" diaginertia="1e-9 1e-9 1e-9"/></body>"""
    )
    robot = Robot.load(text)
    turn = np.array([np.cos(angle / 2), 0.0, -np.sin(angle / 2), 0.0])
    rate = np.sqrt(G / np.cos(angle))
    R = np.array([[np.cos(angle), 0, -np.sin(angle)], [0, 1, 0], [np.sin(angle), 0, np.cos(angle)]])
    return robot, robot.state(turn, R.T @ [0.0, 0.0, rate]), rate


def test_a_conical_pendulum_goes_round():
    """Spin sqrt(g / (l cos a)) about the vertical keeps the angle; such a motion is made without an error."""
    angle = 0.5
    robot, start, rate = conical(angle)
    run = ss.simulate(robot, until=2.0, h=2e-3, start=start)
    x = run.body("rod").centre - np.array([0.0, 0.0, 2.0])
    turn = x[0, 0] * np.cos(rate * run.t), x[0, 0] * np.sin(rate * run.t), np.full(len(run), -np.cos(angle))
    assert np.abs(x - np.stack(turn, axis=1)).max() < 1e-9


def test_a_stiff_spring_of_a_ball_joint_is_implicit():
    """Steps far beyond its period: the recursion of one angle, and energy that never grows."""
    k, J, h = 1e5, 0.1, 0.01
    text = scene(
        f"""<body><joint name="ball" type="ball" stiffness="{k}"/><inertial pos="0 0 0" mass="1"
        diaginertia="{J} {J} {J}"/></body>""",
        h=h,
    )
    robot = Robot.load(text)
    run = ss.simulate(robot, until=0.1, start=robot.state([np.cos(0.1), np.sin(0.1), 0.0, 0.0]))
    angle, rate = 0.2, 0.0
    for row in run.q[1:]:
        rate = (J * rate - h * k * angle) / (J + h * h * k)
        angle += h * rate
        assert 2.0 * np.arctan2(row[1], row[0]) == pytest.approx(angle, abs=1e-12)
    assert np.diff(run.energy).max() < 0.0


@pytest.mark.parametrize("flag", ["spring", "actuation"])
def test_springs_and_servos_that_are_switched_off_do_nothing(flag):
    rest = """<tendon><fixed name="t" stiffness="1e4"><joint joint="a" coef="1"/></fixed></tendon>"""
    servo = '<actuator><position joint="a" kp="1e4"/></actuator>'
    text = sliders("1 0 0", 'stiffness="1e4"', rest, WEIGHTLESS)
    if flag == "actuation":
        text = sliders("1 0 0", "", servo, WEIGHTLESS)
    robot = Robot.load(text.replace("<mujoco>", f'<mujoco><option><flag {flag}="disable"/></option>'))
    run = ss.simulate(robot, until=0.1, h=1e-2, start=robot.state([0.2], [1.0]))
    assert run.joint("a").speed == pytest.approx(1.0, abs=1e-12)


def test_actuators_of_a_group_that_is_switched_off_do_nothing():
    servo = '<actuator><position joint="a" kp="1e4" group="2"/></actuator>'
    text = sliders("1 0 0", "", servo, WEIGHTLESS + ' actuatorgroupdisable="2"')
    robot = Robot.load(text)
    run = ss.simulate(robot, until=0.1, h=1e-2, start=robot.state([0.2], [1.0]))
    assert run.joint("a").speed == pytest.approx(1.0, abs=1e-12)


def test_a_limit_of_a_ball_joint_holds():
    """A rod that falls over is held at its cone."""
    text = scene(
        """<body name="rod" pos="0 0 2"><joint name="ball" type="ball" range="0 40" limited="true"/>
        <inertial pos="0 0 1" mass="1" diaginertia="1e-6 1e-6 1e-6"/></body>"""
    )
    robot = Robot.load(text)
    run = ss.simulate(robot, until=2.0, h=H, start=robot.state([np.cos(0.05), np.sin(0.05), 0, 0]))
    angle = 2.0 * np.arccos(np.clip(run.q[:, 0], -1.0, 1.0))
    assert angle.max() < np.radians(40) + 1e-6
    assert angle[-1] == pytest.approx(np.radians(40), abs=1e-6)


# Equalities.


def test_a_weld_of_two_spinning_bodies_does_not_open():
    """They fly as one body: its centre falls freely."""
    text = scene(
        """<body name="a" pos="0 0 5"><freejoint/><geom type="box" size=".1 .2 .3" mass="1"/></body>
        <body name="b" pos="0.5 0 5"><freejoint/><geom type="box" size=".2 .1 .1" mass="2"/></body>""",
        '<equality><weld body1="a" body2="b"/></equality>',
        h=H,
    )
    robot = Robot.load(text)
    spin = np.array([1.0, 2.0, 3.0])
    start = robot.state(None, [*np.zeros(3), *spin, *np.cross(spin, [0.5, 0, 0]), *spin])
    run = ss.simulate(robot, until=1.0, h=H, start=start)
    assert run.opening[1:].max() < 1e-9
    centre = (run.body("a").position + 2.0 * run.body("b").position) / 3.0
    v = 2.0 * np.cross(spin, [0.5, 0, 0]) / 3.0
    fall = np.array([0, 0, -0.5 * G * 1.0 * (1.0 + H)])
    assert centre[-1] - centre[0] == pytest.approx(v + fall, abs=1e-9)
    assert np.linalg.norm(run.body("a").position[-1] - run.body("b").position[-1]) == pytest.approx(
        0.5, abs=1e-8
    )


def test_a_joint_equality_is_the_polynomial():
    """q_b = 0.1 + 0.5 q_a + q_a²: exactly, as one falls and takes the other along."""
    rest = '<equality><joint joint1="b" joint2="a" polycoef="0.1 0.5 1 0 0"/></equality>'
    robot = Robot.load(sliders(rest=rest))
    run = ss.simulate(robot, until=0.5, h=H, start=robot.state([0.0, 0.1]))
    a, b = run.joint("a").position, run.joint("b").position
    assert np.ptp(a) > 0.2
    assert b == pytest.approx(0.1 + 0.5 * a + a**2, abs=1e-9)
    assert run.opening[1:].max() < 1e-9


def test_a_tendon_equality_keeps_the_length():
    """q_a + q_b as it was: masses of 1 and 2 kg on a pulley, g / 3 each."""
    rest = f'<tendon>{SUM.format("", 1)}</tendon><equality><tendon tendon1="sum"/></equality>'
    run = ss.simulate(Robot.load(sliders(rest=rest)), until=0.5, h=H)
    a, b = run.joint("a"), run.joint("b")
    assert a.position + b.position == pytest.approx(0.0, abs=1e-9)
    assert a.speed[-1] == pytest.approx(G / 3.0 * 0.5, rel=1e-9)


def bars(second=0.8):
    """A crank of 0.3 m, a coupler and a rocker of unlike lengths that a hard equality closes."""
    text = four_bar(crank=0.3, rocker=second)
    return text.replace("</mujoco>", '<actuator><motor joint="crank"/></actuator></mujoco>')


def test_a_driven_four_bar_stays_closed():
    """Unlike bars: they turn on the way of a step, and are closed at its end."""
    robot = Robot.load(bars())
    run = ss.simulate(robot, until=1.0, h=1e-3, control=lambda data: (2.0,))
    assert np.ptp(run.joint("crank").angle) > 0.5
    assert run.opening[1:].max() < 1e-9
    assert run.verdicts.max() == 0
    # What the motor does is in the energy of the bars, to the order of the scheme.
    assert np.abs(run.balance).max() < 0.05 * np.abs(run.work).max()


def test_an_open_loop_is_closed_and_stays_so():
    """A start that is open by 5 mm."""
    robot = Robot.load(bars())
    run = ss.simulate(robot, until=0.1, h=1e-3, start=robot.state([0.005, 0.0, 0.0]))
    assert run.opening[3:].max() < 1e-9


# Energy.


def test_the_account_of_energy_closes_to_the_order_of_the_scheme():
    """Motor, servo, damper, spring, dry friction and a limit: gains less work plus losses are O(h)."""
    text = scene(
        """<body pos="0 0 2"><joint name="one" axis="0 1 0" damping=".2" stiffness="3" range="-60 60"
        limited="true"/><geom type="capsule" fromto="0 0 0 0 0 -.5" size=".03" mass="1" contype="0"
        conaffinity="0"/><body pos="0 0 -.5"><joint name="two" axis="0 1 0" frictionloss=".1"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".03" mass=".7" contype="0" conaffinity="0"/>
        </body></body>""",
        '<actuator><motor joint="one"/><position joint="two" kp="20" kv="1"/></actuator>',
    )
    left = []
    for h in (2e-3, 1e-3, 5e-4):
        run = ss.simulate(
            Robot.load(text), until=2.0, h=h,
            control=lambda data: (3.0 * np.sin(4.0 * data.time), 0.5 * np.cos(3.0 * data.time)),
        )  # fmt: skip
        account = run.energy - run.energy[0] + run.dissipated - run.work
        assert account == pytest.approx(run.balance, abs=1e-9)
        left.append(np.abs(account).max())
        assert run.dissipated[-1] > 0.1
    assert left[0] / left[1] == pytest.approx(2.0, abs=0.4)
    assert left[1] / left[2] == pytest.approx(2.0, abs=0.4)
    assert left[2] < 0.01 * run.dissipated[-1]
