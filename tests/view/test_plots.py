"""Plots against closed forms: what is drawn, not how it looks."""

from dataclasses import replace

import numpy as np
import pytest

import stickslip as ss
from stickslip.exhibits import GUIDE, Figure, HeatMap, Panel
from stickslip.problem.contact import ContactProblem
from stickslip.problem.sets import coulomb, rolling
from stickslip.problem.solution import Solution, Status
from stickslip.view.figures import draw
from stickslip.view.plots.choice import PlotError
from stickslip.view.plots.cones import plot_cones
from stickslip.view.plots.curves import part_to_draw
from stickslip.view.plots.histories import plot_energy, plot_gaps, plot_impulses, plot_residuals
from stickslip.view.plots.portraits import plot_phase, plot_poincare
from tests.world_runs import Drop, balls

G, E = 10.0, 0.5


def drawn(figure, name, panel=0):
    """The one curve of that name."""
    (curve,) = [curve for curve in figure.panels[panel].curves if curve.name == name]
    return curve


@pytest.fixture(scope="module")
def ball():
    """Dropped from 0.2 m: impacts after 0.2 s, at 2 m/s, and 0.2 s later, at 1 m/s."""
    body = ss.Lagrangian("ball", M=2.0, q0=0.2, F_ext=-2.0 * G, potential=lambda q: 2.0 * G * q[0])
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=E))
    return ss.simulate(ss.NonsmoothSystem([body], [floor]), until=0.48, h=5e-4)


@pytest.fixture(scope="module")
def world():
    """Two balls that fall 0.2 m and 0.3 m and stop dead."""
    return ss.simulate(balls(2), until=0.3, h=2e-3)


@pytest.fixture(scope="module")
def swing():
    """A damped oscillator, started on its periodic answer A cos(w t) + B sin(w t) to a force cos(w t)."""
    w, c, k = 2.0 * np.pi, 0.7, 90.0
    A, B = np.linalg.solve([[k - w * w, c * w], [-c * w, k - w * w]], [1.0, 0.0])
    body = ss.LagrangianLinear(
        "mass", M=1.0, C=c, K=k, q0=A, v0=B * w, F_ext=lambda t: np.array([np.cos(w * t)])
    )
    return ss.simulate(ss.NonsmoothSystem([body], []), until=6.0, h=2e-3), A, B * w


def test_energy_falls_by_e_squared_at_each_impact(ball):
    figure = plot_energy(ball)
    total, taken = drawn(figure, "total"), drawn(figure, "taken out by contacts")
    for t, share in ((0.1, 1.0), (0.3, E**2), (0.45, E**4)):
        # The scheme meets the floor up to a step late: 2 m/s times h of height, 0.02 J of 4 J.
        assert np.interp(t, total.x, total.y) == pytest.approx(4.0 * share, abs=0.03)
        assert np.interp(t, taken.x, taken.y) == pytest.approx(4.0 * (1.0 - share), abs=0.03)
    balance = drawn(figure, "total + taken out - start", 1)
    np.testing.assert_allclose(balance.y, 0.0, atol=1e-12)


def test_what_is_not_known_of_energies_is_a_gap_and_said(ball):

    unknown = replace(
        ball, derive=lambda name, of: np.full(len(of), np.nan if name == "contact_work" else 1.0)
    )
    figure = plot_energy(unknown)
    assert np.isnan(drawn(figure, "taken out by contacts").y).all()
    assert "taken out by contacts" in figure.note
    assert "are gaps" not in plot_energy(ball).note


def test_energy_of_a_world_has_its_columns(world):
    figure = plot_energy(world)
    for name in ("kinetic", "potential", "dissipated"):
        np.testing.assert_array_equal(drawn(figure, name).y, getattr(world, name))
    np.testing.assert_array_equal(drawn(figure, "balance error", 1).y, world.balance)
    assert "work" not in [curve.name for curve in figure.panels[0].curves]


def test_systems_of_first_order_have_no_energies():
    flow = ss.FirstOrderLinear("tank", A=-1.0, x0=1.0)
    run = ss.simulate(ss.NonsmoothSystem([flow], []), until=0.1, h=0.01, scheme="euler-moreau")
    with pytest.raises(PlotError, match=r"first order \(tank\)"):
        plot_energy(run)
    with pytest.raises(PlotError, match="one state"):
        plot_phase(run)


def test_the_gap_of_a_ball_is_its_height(ball):
    gap = drawn(plot_gaps(ball), "floor")
    early = gap.x < 0.19
    np.testing.assert_allclose(gap.y[early], 0.2 - 0.5 * G * gap.x[early] ** 2, atol=2e-3)
    deep = drawn(plot_gaps(ball, log=True, interaction="floor"), "floor")
    assert plot_gaps(ball, log=True).panels[0].log_y
    assert np.nanmin(deep.y) > 0.0
    assert np.nanmax(deep.y) == ball.penetration.max()


def test_gaps_of_a_world(world):
    figure = plot_gaps(world)
    count = drawn(figure, "contacts", 1)
    # They land after sqrt(2 h / g): 0.202 s and 0.247 s under 9.81 m/s².
    assert [np.interp(t, count.x, count.y) for t in (0.19, 0.24, 0.3)] == [0, 1, 2]
    np.testing.assert_array_equal(drawn(figure, "deepest penetration").y, -world.penetration)
    mine = plot_gaps(world, body="ball 1")
    gap = drawn(mine, "floor")
    assert np.isnan(gap.y[gap.x < 0.24]).all()
    assert np.isfinite(gap.y[gap.x > 0.295]).all()


def test_impulses_are_those_that_turn_the_ball(ball):
    r = drawn(plot_impulses(ball), "floor")
    first, second = np.sort(r.y)[-2:][::-1]
    assert first == pytest.approx(2.0 * (1.0 + E) * 2.0, rel=5e-3)
    assert second == pytest.approx(2.0 * (1.0 + E) * 1.0, rel=1e-2)
    force = drawn(plot_impulses(ball, forces=True), "floor")
    np.testing.assert_allclose(force.y, r.y / 5e-4, rtol=1e-9)


def test_forces_of_a_world_at_rest_are_weights(world):
    figure = plot_impulses(world, forces=True)
    assert drawn(figure, "all contacts").y[-1] == pytest.approx(2 * 2.0 * 9.81)
    assert drawn(figure, "largest").y[-1] == pytest.approx(2.0 * 9.81)
    np.testing.assert_array_equal(drawn(figure, "all contacts", 1).y, 0.0)
    assert drawn(plot_impulses(world, body="ball 0", forces=True), "floor").y[-1] == pytest.approx(19.62)


CASES = ContactProblem(
    np.eye(12),
    np.array([-1.0, 0.3, 0.0, -1.0, 0.0, 2.0, -2.0, 3.0, 4.0, 1.0, 1.0, 1.0]),
    coulomb([0.5, 0.5, 0.2, 0.7]),
)
"""One contact sticks, two slip (at 0.5 along -t2, at 0.2 along -(3, 4) / 5), one separates."""
EXACT = np.array([1.0, -0.3, 0.0, 1.0, 0.0, -0.5, 2.0, -0.24, -0.32, 0.0, 0.0, 0.0])


def test_slipping_reactions_lie_on_the_circle_and_sticking_ones_inside():
    figure = plot_cones((CASES, EXACT))
    disc, edges = figure.panels
    assert disc.equal
    circle = drawn(figure, "edge of the cone")
    assert circle.colour == GUIDE
    np.testing.assert_allclose(np.hypot(circle.x, circle.y), 1.0)
    slips, sticks = drawn(figure, "slipping"), drawn(figure, "sticking")
    np.testing.assert_allclose(np.stack([slips.x, slips.y]), [[0.0, -0.6], [-1.0, -0.8]], atol=1e-12)
    np.testing.assert_allclose([sticks.x[0], sticks.y[0]], [-0.6, 0.0])
    # |r_T| over r_N: an edge for each mu that presses.
    ends = [curve.y[-1] / curve.x[-1] for curve in edges.curves if curve.colour == GUIDE]
    np.testing.assert_allclose(ends, [0.2, 0.5])
    np.testing.assert_allclose(drawn(figure, "slipping", 1).y, [0.5, 0.4])
    assert "Not drawn: 1 " in figure.note
    assert "outside" not in figure.note


def test_a_reaction_outside_its_cone_is_seen_and_said():
    r = np.array(EXACT)
    r[4:6] = 0.5  # the corner of a square pyramid about the cone
    figure = plot_cones((CASES, r))
    points = np.concatenate([np.hypot(c.x, c.y) for c in figure.panels[0].curves if c.colour != GUIDE])
    assert points.max() == pytest.approx(np.sqrt(2.0))
    assert "1 of 3 outside their cone (sliding), by up to 41 %" in figure.note


def test_a_solution_is_drawn_with_its_states():
    residuals = ss.judge(CASES, EXACT)
    solution = Solution(CASES, EXACT, CASES.velocity(EXACT), Status.SOLVED, residuals, "hand", 1e-8, 1, 0.0)
    by_solution, by_hand = plot_cones(solution), plot_cones((CASES, EXACT))
    for one, other in zip(by_solution.panels, by_hand.panels, strict=True):
        assert [c.name for c in one.curves] == [c.name for c in other.curves]
        for a, b in zip(one.curves, other.curves, strict=True):
            np.testing.assert_array_equal(a.x, b.x)


def test_rolling_contacts_have_panels_of_their_own():
    problem = ContactProblem(np.eye(5), np.array([-1.0, 0.1, 0.0, 0.0, 3.0]), rolling([0.5], [0.25]))
    figure = plot_cones((problem, np.array([1.0, -0.1, 0.0, 0.0, -0.25])))
    assert [panel.title for panel in figure.panels] == ["Sliding", "Sliding", "Rolling", "Rolling"]
    rolls = drawn(figure, "rolling", 2)
    assert (rolls.x[0], rolls.y[0]) == pytest.approx((0.0, -1.0))
    assert drawn(figure, "rolling", 0).x[0] == pytest.approx(-0.2)


def test_many_friction_coefficients_share_one_edge():
    n = 40
    problem = ContactProblem(np.eye(3 * n), np.tile([-1.0, 5.0, 0.0], n), coulomb(np.linspace(0.1, 0.9, n)))
    r = np.tile([1.0, 0.0, 0.0], n)
    r[1::3] = -np.linspace(0.1, 0.9, n)
    figure = plot_cones((problem, r))
    assert figure.panels[1].x_label == "mu r_N [N s]"
    slips = drawn(figure, "slipping", 1)
    np.testing.assert_allclose(slips.x, slips.y)
    np.testing.assert_allclose(drawn(figure, "slipping").x, -1.0)


def test_cones_over_time_in_the_plane():
    """A block pushed by a growing force sticks up to mu m g, then slips at the edge."""
    block = ss.Lagrangian("block", M=np.eye(2), q0=[0.0, 0.0], F_ext=lambda t: np.array([-10.0, 10.0 * t]))
    law = ss.NewtonImpact(e=0.0, mu=0.5, dimension=2)
    floor = ss.Interaction("floor", "block", ss.Scleronomous(lambda q: q), law)
    run = ss.simulate(ss.NonsmoothSystem([block], [floor]), until=1.0, h=1e-2)
    figure = plot_cones(run)
    sticks, slips = drawn(figure, "sticking"), drawn(figure, "slipping")
    np.testing.assert_allclose(slips.y, -1.0, atol=1e-9)
    assert slips.x.min() == pytest.approx(0.5, abs=0.03)
    np.testing.assert_allclose(sticks.y, -2.0 * sticks.x, atol=0.03)
    one = plot_cones(run, interaction="floor", at=0.8)
    assert len(drawn(one, "slipping").x) == 1
    with pytest.raises(PlotError, match="no interaction 'wall'; known: floor"):
        plot_cones(run, interaction="wall")


def test_cones_of_a_world(world):
    figure = plot_cones(world, at=0.24)
    assert "At 0.24 s" in figure.note
    assert len(drawn(figure, "sticking").x) == 1
    assert len(drawn(plot_cones(world), "sticking").x) == 2
    with pytest.raises(PlotError, match=r"no contact of body 'ball 1' in the record at 0\.24 s"):
        plot_cones(world, body="ball 1", at=0.24)


def test_what_has_no_cone_is_refused(ball):
    with pytest.raises(PlotError, match="no friction cones"):
        plot_cones(ball)
    with pytest.raises(PlotError, match=r"r has 3 components, expected 12"):
        plot_cones((CASES, np.zeros(3)))
    with pytest.raises(PlotError, match="no contact with friction presses"):
        plot_cones((CASES, np.zeros(12)))


def test_impacts_are_jumps_of_the_portrait(ball):
    figure = plot_phase(ball)
    motion, impact = drawn(figure, "motion"), drawn(figure, "impact")
    assert (impact.style, impact.colour) == ("--", GUIDE)
    assert np.isnan(motion.x).sum() == 2
    before, after = impact.y[::3], impact.y[1::3]
    np.testing.assert_allclose(before, [-2.0, -1.0], rtol=1e-2)
    np.testing.assert_allclose(after, [1.0, 0.5], rtol=2e-2)
    # Between impacts v²/2 + g q is constant: the curve has no corner of its own.
    flight = motion.x[: int(np.flatnonzero(np.isnan(motion.x))[0])]
    speed = motion.y[: flight.size]
    np.testing.assert_allclose(speed**2 / 2.0 + G * flight, 2.0, atol=0.01)


def test_the_portrait_of_a_body_jumps_where_it_lands(world):
    figure = plot_phase(world, body="ball 0", coordinate="z")
    impact = drawn(figure, "impact")
    assert impact.y[0] == pytest.approx(-np.sqrt(2.0 * 9.81 * 0.2), rel=1e-2)
    assert impact.y[1] == 0.0
    assert len(plot_phase(world, coordinate=["x", "z"]).panels) == 2


def test_a_portrait_of_part_of_the_run(ball):
    motion = drawn(plot_phase(ball, after=0.25, until=0.35), "motion")
    # The flight between the two impacts, v from 1 m/s at 0.2 s.
    np.testing.assert_allclose([motion.y[0], motion.y[-1]], [0.5, -0.5], atol=0.02)
    with pytest.raises(PlotError, match=r"no record from after = 3\.0 s .* 0 to 0\.48 s"):
        plot_phase(ball, after=3.0)


def test_turns_that_would_cover_each_other_are_left_out_and_said():
    angle = np.linspace(0.0, 3000.0, 200_000)
    radius = 1.0 + 0.3 * np.sin(0.37 * angle)
    start = part_to_draw(radius * np.cos(angle), radius * np.sin(angle))
    assert 100_000 <= start < 200_000
    assert part_to_draw(np.cos(angle[:600]), np.sin(angle[:600])) == 0


def test_smooth_motion_has_no_jumps(swing):
    run, _, _ = swing
    assert [curve.name for curve in plot_phase(run).panels[0].curves] == ["motion", "start"]


def test_portraits_of_first_order_show_two_states():
    flow = ss.FirstOrderLinear("spiral", A=[[-0.1, 1.0], [-1.0, -0.1]], x0=[1.0, 0.0])
    run = ss.simulate(ss.NonsmoothSystem([flow], []), until=3.0, h=0.01, scheme="euler-moreau")
    panel = plot_phase(run).panels[0]
    assert (panel.x_label, panel.y_label) == ("x0", "x1")
    panel = plot_phase(run, coordinate="1,0").panels[0]
    assert (panel.x_label, panel.y_label) == ("x1", "x0")
    for wrong in ("0", "0,2", 1, "a,b"):
        with pytest.raises(PlotError, match="two of 0 to 1"):
            plot_phase(run, coordinate=wrong)


def test_the_section_of_a_periodic_motion_is_one_point(swing):
    run, q, v = swing
    section = drawn(plot_poincare(run, period=1.0), "section")
    assert len(section.x) == 7
    np.testing.assert_allclose(section.x, q, rtol=1e-3)
    np.testing.assert_allclose(section.y, v, atol=1e-3 * abs(q) * 2.0 * np.pi)


def test_a_section_between_records_is_interpolated(swing):
    run, _, _ = swing
    at = 0.2511
    x = drawn(plot_poincare(run, period=100.0, after=at), "section")
    fine = np.interp(at, run.t, run.q[:, 0])
    assert x.x[0] == pytest.approx(fine, rel=1e-4)
    assert x.y[0] == pytest.approx(np.interp(at, run.t, run.v[:, 0]))


def test_a_section_at_a_surface(swing):
    run, q, v = swing
    amplitude = np.hypot(q, v / (2.0 * np.pi))
    section = drawn(plot_poincare(run, surface=lambda t, q, v: q[0]), "section")
    assert 5 <= len(section.x) <= 7
    np.testing.assert_allclose(section.x, 0.0, atol=1e-3 * amplitude)
    np.testing.assert_allclose(section.y, 2.0 * np.pi * amplitude, rtol=2e-3)


def test_an_instant_within_an_impact_takes_the_nearer_record(ball):
    (k,) = np.flatnonzero(ball.r[:, 0] > 3.0 * E * 2.0 * 1.2)[:1]
    when = ball.t[k - 1] + 0.7 * (ball.t[k] - ball.t[k - 1])
    figure = plot_poincare(ball, period=10.0, after=float(when))
    assert drawn(figure, "section").y[0] == ball.v[k, 0]
    assert "1 within an impact: the nearer record" in figure.note


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "needs a period"),
        ({"period": 1.0, "surface": lambda t, q, v: 0.0}, "needs a period"),
        ({"period": 0.0}, "must be positive"),
        ({"period": np.inf}, "must be positive"),
        ({"period": 1e-12}, "more than"),
        ({"period": 1.0, "after": 9.0}, "later than the end of the run, 6 s"),
        ({"period": 1.0, "system": "other"}, "no system 'other'; known: mass"),
        ({"period": 1.0, "coordinate": 1}, "no coordinate 1 of system 'mass'; known: 0"),
        ({"period": 1.0, "coordinate": "x"}, "no coordinate 'x'"),
        ({"period": 1.0, "body": "mass"}, "no body 'mass': the run is of written equations"),
    ],
)
def test_sections_that_cannot_be_made_are_refused(swing, given, words):
    with pytest.raises(PlotError, match=words):
        plot_poincare(swing[0], **given)


def test_unknown_names_are_refused_with_the_known(ball, world):
    for call, words in (
        (lambda: plot_gaps(ball, interaction="wall"), "no interaction 'wall'; known: floor"),
        (lambda: plot_gaps(ball, body="ball"), "its systems: ball"),
        (lambda: plot_impulses(world, body="cube"), "no body 'cube'; known: floor, ball 0, ball 1"),
        (lambda: plot_impulses(world, interaction="floor"), "placed bodies"),
        (lambda: plot_phase(world, system="ball 0"), "no system 'ball 0': the run is of placed bodies"),
        (
            lambda: plot_phase(world, coordinate="w"),
            r"no coordinate 'w' of body 'ball 0'; known: 0 to 2 \(x, y, z\)",
        ),
        (lambda: plot_cones(world, at=7.0), "outside the run, which goes from 0 to 0.3 s"),
    ):
        with pytest.raises(PlotError, match=words):
            call()


def test_residuals_of_a_run_mark_what_missed():
    run = ss.simulate(balls(1), until=0.3, h=1e-3, scheme=Drop(bad=0.25), on_failure="accept")
    figure = plot_residuals(run)
    missed = drawn(figure, "missed")
    assert missed.style == "x"
    np.testing.assert_array_equal(missed.x, run.t[~run.ok])
    assert drawn(figure, "tolerance").y[0] == run.tolerance
    assert figure.panels[0].log_y
    assert "missed" not in [
        c.name
        for c in plot_residuals(ss.simulate(balls(1), until=0.1, h=1e-3, scheme=Drop())).panels[0].curves
    ]


def test_the_same_run_gives_the_same_bytes(ball, world, tmp_path):
    for call, run, ending in (
        (plot_phase, ball, "svg"),
        (plot_cones, world, "svg"),
        (plot_gaps, ball, "png"),
    ):
        for name in "ab":
            call(run, tmp_path / f"{name}.{ending}")
        a, b = ((tmp_path / f"{name}.{ending}").read_bytes() for name in "ab")
        assert a == b
        assert len(a) < 100_000


def test_another_ending_is_refused(ball, tmp_path):
    with pytest.raises(ValueError, match=r"x\.jpg: a plot is a file of one of the kinds \.png, \.svg, \.pdf"):
        plot_energy(ball, tmp_path / "x.jpg")


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e308, 9e99])
def test_a_run_that_blew_up_is_drawn(ball, world, value, tmp_path):

    half = len(ball) // 2
    lost = {name: np.array(getattr(ball, name)) for name in ("q", "v", "solver_r", "y", "natural")}
    for column in lost.values():
        column[half:] = value
    run = ball.with_columns(
        **lost, **dict.fromkeys(("kinetic", "potential", "contact_work"), lost["q"][:, 0])
    )
    for call in (plot_energy, plot_gaps, plot_impulses, plot_phase, plot_residuals):
        figure = call(run)
        for curve in (curve for panel in figure.panels for curve in panel.curves):
            assert not np.isinf(curve.y).any()
    plot_poincare(run, period=0.1)
    plot_phase(run, tmp_path / "x.svg")
    given = world.contacts
    contacts = replace(given, r=np.full_like(given.r, value), gap=np.full_like(given.gap, value))
    for call in (plot_gaps, plot_impulses):
        call(world.with_columns(contacts=contacts))


def test_points_of_a_heat_map_have_their_numbers(tmp_path):
    edges = np.array([0.0, 1.0, 2.0])
    heat = HeatMap(edges, edges, np.array([[1.0, 2.0], [3.0, 4.0]]), "runout [m]")
    figure = Figure("map", [Panel("p", "x", "y", [], heat=heat)])
    draw(figure, tmp_path / "map.csv")
    lines = (tmp_path / "map.csv").read_text().splitlines()
    assert lines[0].endswith(",value")
    assert [line.rsplit(",", 3)[1:] for line in lines[-2:]] == [["0.5", "1.5", "3.0"], ["1.5", "1.5", "4.0"]]
    with pytest.raises(ValueError, match="a plot is a file of one of the kinds"):
        draw(figure, tmp_path / "map.gif")
