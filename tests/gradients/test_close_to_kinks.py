"""Close to a kink no derivative is claimed: closer than states of runs are known.

Every scene has a number d, the distance to its kink over the velocities of the step, and slopes in closed
form: away from the kink the derivative is that of the side, next to it there is none.
"""

import numpy as np
import pytest
import scipy.sparse as sp

import stickslip as ss
from stickslip.gradients.solution_linear import ReducedLinearisation
from stickslip.gradients.solution_rows import Reduced

G, H, E, MU = 9.81, 1e-2, 0.5, 0.4
FAR, CLOSE = 1e-3, 1e-7
"""Distances at which a derivative is claimed, and at which there is none [-]."""
SIDES = [(FAR, True), (CLOSE, False), (-CLOSE, False), (-FAR, True)]
SINK = 1e-5
"""Contacts of Moreau-Jean take part, away from their own kink, if they overlap a little [m]."""


def differentiated(system, scheme="moreau-jean", lowered=(0,)):
    """The first step of a system; of Moreau-Jean with these coordinates lowered."""
    q = np.array(system.q0)
    if scheme == "moreau-jean":
        q[list(lowered)] -= SINK
    return ss.differentiate(system, ss.State(0.0, q, system.v0), h=H, scheme=scheme)


def of_world(speed):
    """A ball of 1 kg on a plane that leaves with `speed` [m/s]."""
    b = ss.WorldBuilder(gravity=(0.0, 0.0, -G))
    b.material("default", mu=0.0, e=E)
    b.body("floor", ss.Plane(), fixed=True)
    b.body("ball", ss.Sphere(0.1), mass=1.0, position=(0, 0, 0.1), velocity=(0, 0, speed))
    return ss.differentiate(b.build(), h=H), 8


def of_system(speed):
    """The same as an equation."""
    ball = ss.Lagrangian("ball", M=1.0, q0=0.0, v0=speed, F_ext=-G)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=E))
    return differentiated(ss.NonsmoothSystem([ball], [floor])), 0


@pytest.mark.parametrize("made", [of_world, of_system])
@pytest.mark.parametrize(("d", "exists"), SIDES)
def test_restitution_of_what_hardly_approaches(made, d, exists):
    """v⁺ = -e v of what approaches, and 0 of what leaves slower than gravity pulls it back."""
    step, row = made(d * G * H)
    assert step.exists == exists
    assert exists or any("bears without being approached" in note for note in step.notes)
    if exists:
        slope = -E if d < 0.0 else 0.0
        assert step.jacobian("v", "v")[row, row] == pytest.approx(slope, abs=1e-9)


def block(push):
    """A point of 1 kg on the ground, pushed along it [N]."""
    point = ss.Lagrangian("point", M=np.eye(2), q0=[0.0, 0.0], F_ext=[push, -G])
    law = ss.NewtonImpact(mu=MU, dimension=2)
    floor = ss.Interaction("floor", "point", ss.Scleronomous(lambda q: [q[1], q[0]]), law)
    return ss.NonsmoothSystem([point], [floor])


@pytest.mark.parametrize(("scheme", "share"), [("moreau-jean", 1.0), ("variational", 0.5)])
@pytest.mark.parametrize(("d", "exists"), SIDES)
def test_a_push_next_to_the_limit_of_friction(scheme, share, d, exists):
    """m v⁺ = h (F - mu m g) of what slips; the first step of the variational scheme has half a kick."""
    step = differentiated(block(MU * G * (1.0 + d)), scheme, lowered=(1,))
    assert step.exists == exists
    assert exists or any("about to" in note for note in step.notes)
    if exists:
        slope = share * H if d > 0.0 else 0.0
        assert step.jacobian("v", "force")[0, 0] == pytest.approx(slope, abs=1e-9)


@pytest.mark.parametrize("scheme", ["moreau-jean", "variational"])
@pytest.mark.parametrize(("d", "exists"), SIDES)
def test_a_beam_one_end_of_which_bears_next_to_nothing(scheme, d, exists):
    """Its weight lies at d times its length from the right end: the left one bears d of it, or opens."""
    load = np.array([-G, G * (0.5 - d)])
    beam = ss.Lagrangian("beam", M=np.diag([1.0, 0.3]), q0=[0.0, 0.0], F_ext=load)
    ends = [
        ss.Interaction(name, "beam", ss.Scleronomous(lambda q, x=x: q[0] - x * q[1]), ss.NewtonImpact())
        for name, x in (("left", -0.5), ("right", 0.5))
    ]
    step = differentiated(ss.NonsmoothSystem([beam], ends), scheme)
    assert step.exists == exists
    if exists:
        held = step.jacobian("v", "force")
        assert (np.abs(held).max() < 1e-9) == (d > 0.0)


@pytest.mark.parametrize(("d", "exists"), SIDES)
def test_dry_friction_next_to_its_bound(d, exists):
    """A slider of 1 kg that 3 N of dry friction hold: m v⁺ = h (F - 3 N) of what moves."""
    slider = ss.Lagrangian("slider", M=1.0, q0=0.0, F_ext=3.0 * (1.0 + d))
    rail = ss.Interaction("rail", "slider", ss.Scleronomous(lambda q: q), ss.laws.Relay(3.0))
    step = ss.differentiate(ss.NonsmoothSystem([slider], [rail]), h=H)
    assert step.exists == exists
    if exists:
        assert step.jacobian("v", "force")[0, 0] == pytest.approx(H if d > 0.0 else 0.0, abs=1e-9)


@pytest.mark.parametrize("spin", [(1e-9, 2e-9, 0.0), (-3e-8, 1e-8, 1e-8)])
@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_a_box_flat_on_four_corners_that_hardly_turns(spin, mu):
    """With restitution who bears follows from the signs of speeds that are nothing beside g h."""
    b = ss.WorldBuilder()
    b.material("default", mu=mu, e=E)
    b.body("floor", ss.Plane(), fixed=True)
    b.body("box", ss.Cuboid((0.2, 0.3, 0.2)), mass=1.0, position=(0, 0, 0.1), spin=spin)
    assert not ss.differentiate(b.build(), h=H, tolerance=1e-12).exists


@pytest.mark.parametrize("scheme", ["moreau-jean-semi-explicit", "variational"])
@pytest.mark.parametrize("h", [1e-2, 1e-4])
@pytest.mark.parametrize("masses", [(1.0, 1.0), (1.0, 1e-8), (1e-8, 1.0)])
def test_a_light_body_beside_a_heavy_one_is_no_kink(scheme, h, masses):
    """What a contact bears counts beside the velocities at this contact, not beside other impulses."""
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    for k, mass in enumerate(masses):
        how = {"position": (k, 0, 0.1), "velocity": (0.3 * k, 0, 0)}
        b.body(f"ball {k}", ss.Sphere(0.1), mass=mass, **how)
    assert ss.differentiate(b.build(), h=h, scheme=scheme, tolerance=1e-12).exists


def test_doubt_is_the_same_of_a_sparse_matrix():
    """Contact 0 bears 1 N s, which lifts contact 1 by 0.5 m/s against all but 1e-7 of its free velocity."""
    K, W, r = ss.coulomb([MU, MU]), np.diag([1.0, 1.0, 1.0, 2.0, 2.0, 2.0]), np.zeros(6)
    W[0, 3] = W[3, 0] = 0.5
    r[0], r[3] = 1.0, 1e-7
    u_free = -W @ r
    problems = [Reduced(K, matrix, u_free) for matrix in (W, sp.csr_array(W))]
    both = [ReducedLinearisation(problem, r, 1e-12, share=1e-5) for problem in problems]
    for one in both:
        assert not one.exists
        assert one.notes == ("contact 1 bears next to nothing (taken: it is closed)",)
        assert one.presses.all()
        assert one.near == pytest.approx(1e-5 * np.array([1.0, 0, 0, 0.5, 0, 0]), rel=1e-6)
    assert ReducedLinearisation(problems[0], r, 1e-12).exists
