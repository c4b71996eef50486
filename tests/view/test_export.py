"""Exported pages as text: the same bytes, what is said of what is left out, and errors that are sentences."""

import re
import threading

import numpy as np
import pytest
from scenery import HOSTILE
from view.held import held

import stickslip as ss
from stickslip import scenes
from stickslip.problem.solution import Verdict
from stickslip.view.browser.contents import COARSE, FINE, STATES
from stickslip.view.browser.export import export_html, page_of
from stickslip.view.browser.server import ViewerError
from stickslip.view.browser.stage import Stage, shown_state


@pytest.fixture(scope="module")
def page(run):
    return page_of(run, title=HOSTILE)


@pytest.fixture(scope="module")
def first(page):
    return held(page)["runs"][0]


def test_the_same_run_is_the_same_page_and_nothing_is_left_behind(run, page, capfd):
    before = threading.active_count()
    assert page_of(run, title=HOSTILE) == page
    assert threading.active_count() == before
    assert capfd.readouterr() == ("", "")


def test_a_page_is_small_and_names_of_strangers_are_no_markup(page):
    assert len(page) < 2e5
    assert HOSTILE not in page
    assert "<title>&lt;/script&gt;&lt;img" in page
    assert "http://" not in page
    assert "https://" not in page


def test_bodies_are_where_they_were_to_less_than_is_seen(run, first):
    poses = run.q.reshape(len(run), -1, 7)
    drawn = (poses[:, :, :3] - first["centre"]) * first["zoom"]
    np.testing.assert_allclose(first["x"], drawn, atol=0.51 * FINE)
    aligned = np.abs(np.einsum("kij,kij->ki", first["p"], poses[:, :, 3:]))
    np.testing.assert_allclose(aligned, 1.0, atol=1e-3)
    velocity = run.v.reshape(len(run), -1, 6)[:, :, :3]
    np.testing.assert_allclose(first["v"], velocity, rtol=2.0**-11, atol=1e-30)
    np.testing.assert_array_equal(first["t"], run.t)


def test_contacts_and_their_forces_are_those_of_the_run(run, first):
    contacts, h = run.contacts, run.h
    np.testing.assert_array_equal(first["offset"], contacts.offset)
    np.testing.assert_array_equal(first["pair"], contacts.body)
    points = (contacts.point - first["centre"]) * first["zoom"]
    np.testing.assert_allclose(first["point"], points, atol=0.51 * COARSE)
    force = contacts.force(h)[0]
    np.testing.assert_allclose(first["load"], force, rtol=2.0**-11, atol=1e-30)
    np.testing.assert_allclose(first["normal"], np.einsum("ki,ki->k", force, contacts.frame[:, 0]), rtol=1e-3)
    assert [STATES[k] for k in first["state"]] == [shown_state(name) for name in run.contact_states]
    same = first["id"][:, None] == first["id"]
    np.testing.assert_array_equal(same, contacts.id[:, None] == contacts.id)


def test_numbers_over_time_are_those_of_the_run(run, first):
    np.testing.assert_allclose(first["penetration"], run.penetration, rtol=1e-6)
    np.testing.assert_allclose(first["residual"], run.natural_scaled, rtol=1e-6)
    series = {one["name"]: one["data"] for one in first["series"]}
    np.testing.assert_allclose(series["kinetic energy"], run.kinetic, rtol=1e-6)
    np.testing.assert_allclose(series["kinetic + potential"], run.energy, rtol=1e-6)


def test_of_left_out_records_the_worst_is_kept(run):
    worst = np.zeros(len(run))
    worst[17] = 0.5
    verdicts = np.zeros(len(run), np.int8)
    verdicts[3] = Verdict.MISSED.code
    page = page_of(run.with_columns(natural_scaled=worst, penetration=worst, verdicts=verdicts), frames=5)
    found = held(page)
    first = found["runs"][0]
    np.testing.assert_allclose(first["t"], [0.0, 0.1, 0.2, 0.3, 0.4])
    assert first["penetration"].tolist() == [0.0, 0.0, 0.5, 0.0, 0.0]
    assert [found["verdicts"][k] for k in first["verdict"]] == ["certified", "missed", *["certified"] * 3]
    assert any(f"5 of {len(run)} records are shown" in note for note in found["notes"])


def test_of_too_many_contacts_the_strongest_are_kept(run):
    page = page_of(run, megabytes=1e-6 * (len(held_numbers(page_of(run))) - 600))
    most = int(re.search(r"of more than (\d+) contacts", page)[1])
    first = held(page)["runs"][0]
    counts = np.diff(first["offset"])
    assert counts.max() == most < np.diff(run.contacts.offset)[-1]
    forces = np.linalg.norm(run.contacts.part(run.contacts.at(-1)).force(run.h[-1:])[0], axis=1)
    last = np.linalg.norm(first["load"][-most:], axis=1)
    np.testing.assert_allclose(np.sort(last), np.sort(forces)[-most:], rtol=1e-3)
    assert held(page_of(run, contacts=False))["runs"][0]["offset"][-1] == 0


def held_numbers(page):
    return re.search(r'id="numbers">(.*?)</script>', page, re.DOTALL)[1]


def test_two_runs_of_one_scene_are_drawn_about_the_same_middle(run):
    runs = held(page_of(run, run[:21], names=("long", "short")))["runs"]
    assert [one["title"] for one in runs] == ["long", "short"]
    assert runs[0]["centre"] == runs[1]["centre"]
    assert runs[0]["zoom"] == runs[1]["zoom"]
    other = ss.WorldBuilder()
    other.body("far", ss.Sphere(1.0), position=(100.0, 0.0, 0.0))
    apart = held(page_of(run, other.build()))["runs"]
    assert apart[1]["centre"] == [100.0, 0.0, 0.0]


def test_joints_and_sensors_are_where_they_are_measured():
    world = scenes.make("four-bar").system
    first = held(page_of(world))["runs"][0]
    assert {joint["kind"] for joint in first["joints"]} == {"hinge"}
    stage = Stage.of(world)
    q = world.start.q.reshape(-1, 7)
    for joint, bodies, points in zip(first["joints"], world.joints.body, world.joints.point, strict=True):
        assert joint["body"] == bodies.tolist()
        local = points[0] - (stage.centre if bodies[0] < 0 else 0.0)
        np.testing.assert_allclose(joint["point"][0], local * first["zoom"])
    assert first["sensors"]
    assert all(b < len(q) for sensor in first["sensors"] for b in sensor["body"])


def test_a_run_of_equations_holds_all_that_can_be_plotted():
    run = ss.simulate(scenes.make("bouncing-ball").system, until=0.6, h=1e-2)
    first = held(page_of(run))["runs"][0]
    series = {(one["group"], one["name"]): one["data"] for one in first["series"]}
    np.testing.assert_allclose(series["coordinates", "ball: q"], run.q[:, 0], rtol=1e-6)
    np.testing.assert_allclose(series["multipliers", "floor: r"], run.r[:, 0], rtol=1e-6)
    assert "groups" not in first


def test_files_are_written_whole_or_not_at_all(run, page, tmp_path):
    path = export_html(run, tmp_path / "run.html", title=HOSTILE)
    assert path.read_text(encoding="utf-8") == page
    assert [each.name for each in tmp_path.iterdir()] == ["run.html"]


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("", {}, "is a folder; give the name of the HTML file"),
        ("nowhere/run.html", {}, "there is no folder .*nowhere; make it first"),
        ("run.html", {"frames": 0}, "0 frames cannot be shown; give at least 1"),
        ("run.html", {"speed": -1.0}, "cannot be played at -1 times its speed"),
        ("run.html", {"speed": np.nan}, "cannot be played at nan times its speed"),
    ],
)
def test_errors_are_sentences(run, tmp_path, name, options, said):
    with pytest.raises(ViewerError, match=said):
        export_html(run, tmp_path / name, **options)
    assert not list(tmp_path.iterdir())


def test_only_worlds_and_runs_are_shown():
    with pytest.raises(ViewerError, match="a str cannot be shown"):
        page_of("run.h5")


def test_a_slow_motion_says_so(run):
    page = page_of(run, frames=3, speed=0.25)
    assert "played at 0.25 times the speed of the run" in page


def test_a_link_to_a_page_stays_a_link(run, tmp_path):
    link, page = tmp_path / "link.html", tmp_path / "page.html"
    link.symlink_to(page)
    export_html(run, link, frames=2)
    assert link.is_symlink()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["link.html", "page.html"]
