"""Robots on the command line: run, info, view, plot, export; runs that go on by their files alone."""

import csv
import json

import numpy as np
import pytest
from robot_models import ball, gripper

import stickslip as ss

KEY = '<keyframe><key name="home" ctrl="0 8 8"/></keyframe>'
SENSOR = '<sensor><jointpos name="height" joint="lift"/></sensor>'
URDF = """<robot name="arm"><link name="base"/><link name="tip"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="elbow" type="revolute"><parent link="base"/><child link="tip"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="5" velocity="2"/></joint></robot>"""
POLICIES = """
def hold(data):
    return 0.0, 8.0, 8.0

def breaks(data):
    raise RuntimeError("no policy")

NUMBER = 3
"""


@pytest.fixture
def robot(tmp_path):
    path = tmp_path / "gripper.xml"
    path.write_text(gripper().replace("</mujoco>", f"{SENSOR}{KEY}</mujoco>"))
    return path


@pytest.fixture
def recorded(robot, tmp_path):
    path = tmp_path / "run.h5"
    loaded = ss.Robot.load(robot)
    ss.simulate(loaded, until=0.02, start=loaded.key("home"), out=path)
    return path


def test_run_is_simulate_and_goes_on_by_its_file(run, robot, tmp_path):
    out, plot = tmp_path / "run.h5", tmp_path / "run.svg"
    result = run("run", robot, "--until", 0.02, "--h", 0.002, "--key", "home", "--out", out, "--plot", plot)
    assert (result.code, result.err) == (0, "")
    assert "9 degrees of freedom" in result.out
    assert "hinge joints" not in plot.read_text()
    assert run("run", out, "--resume", "--until", 0.04).code == 0
    loaded = ss.Robot.load(robot)
    whole = ss.simulate(loaded, until=0.04, h=0.002, start=loaded.key("home"))
    assert np.array_equal(ss.read_trajectory(out).q, whole.q)
    run("run", out, "--resume", "--key", "home", "--until", 1).refuses(
        "--key home", "the run starts at the end of"
    )


def test_the_step_is_that_of_the_file_unless_given(run, robot):
    assert "h = 0.002 s" in run("run", robot, "--until", 0.01).out
    assert "h = 0.001 s" in run("run", robot, "--until", 0.01, "--h", 0.001).out


def test_a_function_controls(run, robot, tmp_path):
    policies, out = tmp_path / "policies.py", tmp_path / "run.h5"
    policies.write_text(POLICIES)
    assert run("run", robot, "--until", 0.02, "--control", f"{policies}:hold", "--out", out).code == 0
    direct = ss.simulate(ss.Robot.load(robot), until=0.02, control=lambda data: (0.0, 8.0, 8.0))
    assert np.array_equal(ss.read_trajectory(out).q, direct.q)
    asked = ("run", robot, "--until", 0.02, "--control")
    run(*asked, f"{policies}:breaks").refuses("breaks: at t = 0 s it raised RuntimeError: no policy")
    run(*asked, f"{policies}:NUMBER").refuses("this is not a function")
    run(*asked, f"{policies}:gone").refuses("--control: ", "has no gone")


def test_restitution_is_given(run, tmp_path):
    path, out = tmp_path / "ball.xml", tmp_path / "run.h5"
    path.write_text(ball(0.1))
    assert run("run", path, "--until", 0.2, "--restitution", 0.8, "--out", out).code == 0
    direct = ss.simulate(ss.Robot.load(path, restitution=0.8), until=0.2)
    assert np.array_equal(ss.read_trajectory(out).q, direct.q)
    assert direct.joint("ball").speed[:, 2].max() > 0.5  # it bounced
    run("run", path, "--until", 0.2, "--restitution", 3).refuses("restitution is 3.0", "from 0 to 1")


def test_urdf_is_known_by_its_content(run, tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text(URDF)
    assert run("run", path, "--until", 0.01).code == 0
    report = json.loads(run("info", path, "--json").out)
    assert (report["kind"], report["joints"]) == ("robot", {"elbow": "hinge"})
    assert report["unused"] == ["velocity of <limit> of 1 joint: speeds are not limited"]
    assert "speeds are not limited" in run("info", path).out


def test_meshes_are_found_on_the_search_path(run, tmp_path):
    for folder in ("model", "meshes"):
        (tmp_path / folder).mkdir()
    points = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "meshes" / "part.obj").write_text(points)
    path = tmp_path / "model" / "part.xml"
    path.write_text(
        '<mujoco><asset><mesh name="part" file="part.obj"/></asset><worldbody><body><freejoint/>'
        '<geom type="mesh" mesh="part"/></body></worldbody></mujoco>'
    )
    run("run", path, "--until", 0.01).refuses("part.obj", "not found in")
    assert run("run", path, "--until", 0.01, "--search", tmp_path / "meshes").code == 0


def test_run_refuses(run, robot, recorded, tmp_path):
    run("run", robot).refuses("--until is missing")
    run("run", robot, "--until", 1, "--key", "hom").refuses("unknown key 'hom'", "did you mean 'home'")
    run("run", robot, "--until", 1, "--scheme", "variational").refuses("does not apply to robots")
    run("run", robot, "--until", 1, "--control", "policy.py").refuses("not of the form file.py:function")
    run("run", robot, "--until", 1, "--mu", 3).refuses("--mu")
    run("run", tmp_path / "gone.urdf", "--until", 1).refuses("gone.urdf", "no such file")
    run("run", "stack", "--key", "home").refuses("--key applies to robots", "stack is neither")
    run("run", recorded, "--restitution", 0.5).refuses("--restitution", "robots only")
    run("run", robot, "--until", 1, "--search", tmp_path / "none").refuses(
        "search: ", "none", "does not exist"
    )
    run("run", robot, "--until", 1, "--forces", "least").refuses(
        "'least'", "does not apply to robots", "'solver'"
    )
    robot.write_text("<mujoco>\n<worldbody>\n<geom typ='box'/></worldbody></mujoco>")
    run("run", robot, "--until", 1).refuses("gripper.xml", "typ", "line 3")
    robot.write_text("<sdf/>")
    run("run", robot, "--until", 1).refuses("<sdf>", "<mujoco>")
    run("run", robot.rename(tmp_path / "arm.sdf"), "--until", 1).refuses("arm.sdf", "<sdf>", "<mujoco>")
    xacro = tmp_path / "arm.xacro"
    xacro.write_text('<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="a"/></robot>')
    run("run", xacro, "--until", 1).refuses("arm.xacro: line 1", "macros of xacro are not read")
    run("run", xacro.rename(tmp_path / "arm.txt"), "--until", 1).refuses("arm.txt: the name of", ".urdf")


def test_info_of_a_robot(run, robot):
    robot.write_text(robot.read_text().replace("<option ", '<option impratio="10" '))
    result = run("info", robot)
    assert (result.code, result.err) == (0, "")
    for text in (
        "9 degrees of freedom",
        "lift (slide)",
        "free (free)",
        "close_a",
        "height",
        "home",
        "impratio",
    ):
        assert text in result.out
    report = json.loads(run("info", robot, "--json").out)
    assert report["keys"] == ["home"]
    assert report["sensors"] == ["height"]
    assert len(report["unused"]) == 1


def test_info_of_a_robot_that_cannot_be_loaded_says_why(run, robot):
    robot.write_text(robot.read_text().replace('type="slide"', 'type="slid"', 1))
    result = run("info", robot)
    assert (result.code, result.err) == (0, "")
    assert "it cannot be loaded" in result.out
    assert "slid" in result.out
    assert "stickslip run" not in result.out


def test_info_of_a_run(run, recorded):
    report = json.loads(run("info", recorded, "--json").out)
    assert report["kind"] == "robot trajectory"
    assert report["joints"] == ["lift", "a", "b", "free"]
    assert "trajectory of a robot" in run("info", recorded).out


def test_view_of_robots_and_their_runs(run, robot, recorded, tmp_path):
    for name, source in (("robot", robot), ("run", recorded)):
        still, page = tmp_path / f"{name}.png", tmp_path / f"{name}.html"
        assert run("view", source, "--still", still, "--export", page).code == 0
        assert still.stat().st_size > 1000
        assert page.stat().st_size > 1000
    run("view", robot, "--at", 1, "--still", tmp_path / "x.png").refuses("stands still")


def test_a_run_is_shown_while_it_goes_on(run, robot, monkeypatch):
    from stickslip.view.browser.live import LiveView

    seen = []
    monkeypatch.setattr(LiveView, "__call__", lambda view, record: seen.append(record.t))
    monkeypatch.setattr("stickslip.cli.run.serve", lambda *_: None)
    asked = ("run", robot, "--key", "home", "--until", 0.01, "--view", "--port", 0, "--no-browser")
    result = run(*asked)
    assert (result.code, result.err) == (0, "")
    assert len(seen) == 6


@pytest.mark.parametrize("what", ["energy", "gaps", "impulses", "cones", "residuals"])
def test_plots_of_runs(what, run, recorded, tmp_path):
    place = tmp_path / "plot.svg"
    assert run("plot", recorded, what, "--out", place).code == 0
    assert place.stat().st_size > 1000


def test_joints_are_columns_by_name(run, recorded, tmp_path):
    table = tmp_path / "joints.csv"
    assert run("export", recorded, table, "--table", "joints").code == 0
    with table.open() as file:
        rows = list(csv.DictReader(file))
    found = ss.read_trajectory(recorded)
    columns = {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
    assert np.array_equal(columns["t [s]"], found.t)
    assert np.array_equal(columns["lift position [m]"], found.joint("lift").position)
    assert np.array_equal(columns["lift speed [m/s]"], found.joint("lift").speed)
    assert np.array_equal(columns["free position_z [m]"], found.joint("free").position[:, 2])
    assert np.array_equal(columns["free quaternion_w [-]"], found.joint("free").position[:, 3])
    assert np.array_equal(columns["free spin_x [rad/s]"], found.joint("free").speed[:, 3])


def test_a_world_stands_around_a_robot(run, robot, tmp_path):
    """--world is `with_world`, and the file of the run holds both."""
    b = ss.WorldBuilder()
    b.body("table", ss.Plane(), fixed=True)
    b.body("brick", ss.Cuboid((0.1, 0.1, 0.1)), position=(1, 0, 0.05))
    room, out = tmp_path / "room.toml", tmp_path / "run.h5"
    ss.save(b.build(), room)
    assert run("run", robot, "--until", 0.02, "--world", room, "--out", out).code == 0
    assert run("run", out, "--resume", "--until", 0.04).code == 0
    whole = ss.simulate(ss.Robot.load(robot).with_world(b.build()), until=0.04)
    assert np.array_equal(ss.read_trajectory(out).q, whole.q)
    run("run", room, "--until", 1, "--h", 0.01, "--world", room).refuses("--world", "robots only")
    run("run", robot, "--until", 1, "--world", tmp_path / "none.toml").refuses("none.toml")
