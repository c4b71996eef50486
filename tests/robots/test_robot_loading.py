"""Files of robots: what is read, what is said of it, and what is refused."""

from pathlib import Path

import mujoco
import pytest
from robot_models import FLOOR, ball, scene

import stickslip as ss
from stickslip import Robot

OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
URDF = """<robot name="arm"><link name="base"/><link name="tip"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>{}</link>
<joint name="elbow" type="revolute"><parent link="base"/><child link="tip"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="5" velocity="2"/></joint></robot>"""


def test_text_path_spec_and_model_are_the_same(tmp_path: Path):
    text = ball(1.0)
    (tmp_path / "ball.xml").write_text(text)
    spec = mujoco.MjSpec.from_string(text)
    sources = (text, tmp_path / "ball.xml", spec, mujoco.MjModel.from_xml_string(text))
    ends = {ss.simulate(Robot.load(one), until=0.1, h=1e-3).q[-1].tobytes() for one in sources}
    assert len(ends) == 1


def test_urdf_is_known_by_its_content():
    robot = Robot.load(URDF.format(""))
    assert robot.source is not None
    assert robot.source.kind == "URDF"
    assert robot.names("joint") == ("elbow",)


def test_meshes_and_includes_are_found_beside_the_file(tmp_path: Path):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "part.obj").write_text(OBJ)
    (tmp_path / "body.xml").write_text(
        '<mujoco><worldbody><body name="b"><freejoint/><geom type="mesh" mesh="part"/></body></worldbody>'
        "</mujoco>"
    )
    (tmp_path / "scene.xml").write_text(
        '<mujoco><compiler meshdir="meshes"/><asset><mesh name="part" file="part.obj"/></asset>'
        '<include file="body.xml"/></mujoco>'
    )
    assert Robot.load(tmp_path / "scene.xml").names("body") == ("world", "b")


def test_packages_are_found_on_the_search_path(tmp_path: Path):
    folder = tmp_path / "ws" / "arm_description" / "meshes"
    folder.mkdir(parents=True)
    (folder / "tip.obj").write_text(OBJ)
    mesh = '<collision><geometry><mesh filename="package://arm_description/meshes/tip.obj"/></geometry></collision>'
    (tmp_path / "arm").mkdir()
    path = tmp_path / "arm" / "arm.urdf"
    path.write_text(URDF.format(mesh))
    with pytest.raises(ss.ModelError, match=r"arm_description/meshes/tip.obj.*search="):
        Robot.load(path)
    assert Robot.load(path, search=[tmp_path / "ws"]).model.nmesh == 1


def test_files_outside_the_folder_are_not_read(tmp_path: Path):
    (tmp_path / "secret.obj").write_text(OBJ)
    (tmp_path / "model").mkdir()
    path = tmp_path / "model" / "m.xml"
    path.write_text(
        '<mujoco><asset><mesh name="m" file="../secret.obj"/></asset><worldbody><body><freejoint/>'
        '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    with pytest.raises(ss.ModelError, match="outside the model's folder"):
        Robot.load(path)
    assert Robot.load(path, search=[tmp_path]).model.nmesh == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<mujoco>\n<worldbody>\n<geom size='1' typ='box'/></worldbody></mujoco>", "typ.*line 3"),
        ("<mujoco>\n<worldbody", "line 2.*malformed XML"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><mujoco/>', "entities"),
        ("<sdf/>", "<sdf>.*<mujoco>"),
        ("<mujoco/>", "the model has no degrees of freedom"),
        (scene(FLOOR + "<body><joint/></body>"), "mass and inertia"),
    ],
)
def test_mistakes_are_named(text: str, said: str):
    with pytest.raises(ss.ModelError, match=f"(?s){said}") as caught:
        Robot.load(text)
    assert "\n" not in str(caught.value)


def test_what_is_not_supported_is_refused_by_name():
    sticky = scene(
        '<body name="b"><freejoint/><geom size=".1"/></body>',
        '<actuator><adhesion name="gecko" body="b" ctrlrange="0 1"/></actuator>',
    )
    with pytest.raises(ss.ModelError, match=r"gecko.*adhesion"):
        Robot.load(sticky)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (scene('<body name="b"><freejoint/><geom size=".1"/></body><flexcomp name="cloth" type="grid"'
               ' count="4 4 1" spacing=".1 .1 .1" mass="1" dim="2"/>'), "'cloth': flexible bodies"),
        ('<mujoco>\n<extension><plugin plugin="no.such"/></extension></mujoco>',
         "'no.such': plugins are not supported.*line 2"),
        ('<robot xmlns:xacro="http://www.ros.org/wiki/xacro">\n<xacro:include filename="x"/></robot>',
         "line 2: <xacro:include>.*make URDF of them first"),
        (scene('<body>\n<joint range="nan 1"/><geom size=".1"/></body>'), "line 2: range of <joint>"),
        (scene('<body><joint/><geom name="g" size=".1" friction="inf 0 0"/></body>'),
         "friction of geom 'g' is .inf.*finite"),
        (scene('<body><joint name="j" frictionloss="-2"/><geom size=".1"/></body>'),
         "frictionloss of joint 'j'.*from 0 on"),
        (scene('<body pos="inf 0 0"><joint/><geom size=".1"/></body>'), "pos of body 'body1'"),
        (URDF.format("").replace('mass value="1"', 'mass value="0"'), "name 'tip', line 1"),
        ("", "'': there is no such file"),
    ],
)  # fmt: skip
def test_what_makes_no_robot_is_named(text: str, said: str):
    with pytest.raises(ss.ModelError, match=f"(?s){said}") as caught:
        Robot.load(text)
    assert "\n" not in str(caught.value)


def test_a_folder_of_the_search_path_may_be_given_by_itself(tmp_path: Path):
    """It is no list of letters, of which the first one would be the root of all folders."""
    (tmp_path / "part.obj").write_text(OBJ)
    text = (
        '<mujoco><asset><mesh name="m" file="{}"/></asset><worldbody><body><freejoint/>'
        '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    assert Robot.load(text.format("part.obj"), search=str(tmp_path)).model.nmesh == 1
    with pytest.raises(ss.ModelError, match="outside the model's folder"):
        Robot.load(text.format(Path(__file__).resolve()), search=str(tmp_path))


def test_folders_of_the_search_path_exist(tmp_path: Path):
    with pytest.raises(ss.ModelError, match=r"search: .*gone' does not exist"):
        Robot.load(URDF.format(""), search=[tmp_path, tmp_path / "gone"])
    (tmp_path / "file").touch()
    with pytest.raises(ss.ModelError, match=r"search: .*file' is not a folder"):
        Robot.load(URDF.format(""), search=[tmp_path / "file"])


def mimicking(kind: str, leader: str) -> str:
    """URDF with a second joint of a kind that has `mimic`."""
    wrist = f"""<link name="end"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="wrist" type="{kind}"><parent link="tip"/><child link="end"/>
<mimic joint="{leader}" multiplier="2"/></joint></robot>"""
    return URDF.format("").replace("</robot>", wrist)


def test_elements_of_urdf_that_mujoco_does_not_read_are_listed():
    extra = '<transmission name="a"/><transmission name="b"/><gazebo/><material name="red"/>'
    text = URDF.format("").replace('<link name="base"/>', extra + '<link name="base"/>')
    text = text.replace("</joint>", '<safety_controller k_velocity="1"/><calibration rising="0"/></joint>')
    assert Robot.load(text).unused == (
        "velocity of <limit> of 1 joint: speeds are not limited",
        "2 <transmission> elements: MuJoCo does not read them",
        "1 <gazebo> element: MuJoCo does not read it",
        "1 <safety_controller> element: MuJoCo does not read it",
        "1 <calibration> element: MuJoCo does not read it",
    )
    assert "not used: 1 <gazebo>" in str(Robot.load(text))
    assert Robot.load(URDF.format("").replace(' velocity="2"', "")).unused == ()


def test_elements_of_urdf_that_a_model_attaches_are_listed(tmp_path: Path):
    (tmp_path / "arm.urdf").write_text(URDF.format(""))
    (tmp_path / "scene.xml").write_text(
        '<mujoco><asset><model name="arm" file="arm.urdf"/></asset><worldbody><body>'
        '<attach model="arm" prefix="a_"/></body></worldbody></mujoco>'
    )
    assert Robot.load(tmp_path / "scene.xml").unused == (
        "arm.urdf: velocity of <limit> of 1 joint: speeds are not limited",
    )


def test_mimic_is_an_equality_constraint_or_an_error():
    robot = Robot.load(mimicking("continuous", "elbow"))
    run = ss.simulate(robot, until=0.1, h=1e-2, start=robot.state([0.2, 0.4], [1.0, 2.0]))
    assert abs(run.q[:, 1] - 2.0 * run.q[:, 0]).max() < 1e-8
    assert run.q[-1, 0] > 0.25
    for kind, leader, message in (
        ("continuous", "elbo", "line 7: <mimic> of joint 'wrist': the file has no joint 'elbo'"),
        ("planar", "elbow", "line 7: <mimic> of joint 'wrist': the joint is planar"),
    ):
        with pytest.raises(ss.ModelError, match=message):
            Robot.load(mimicking(kind, leader))
    still = Robot.load(mimicking("fixed", "elbow"))
    assert "<mimic> of 1 fixed joint: fixed joints do not move" in still.unused


def test_meshes_for_the_eye_are_not_asked_for():
    """MuJoCo leaves them out of URDF, whatever their format is."""
    look = '<visual><geometry><mesh filename="package://arm/look.dae"/></geometry></visual>'
    assert Robot.load(URDF.format(look)).names("joint") == ("elbow",)
    kept = '<mujoco><compiler discardvisual="false"/></mujoco><link name="base"/>'
    with pytest.raises(ss.ModelError, match=r"look\.dae"):
        Robot.load(URDF.format(look).replace('<link name="base"/>', kept))


def test_models_that_a_model_attaches_are_read_with_their_files(tmp_path: Path):
    (tmp_path / "arm" / "meshes").mkdir(parents=True)
    (tmp_path / "arm" / "meshes" / "part.obj").write_text(OBJ)
    (tmp_path / "arm" / "arm.xml").write_text(
        '<mujoco><compiler meshdir="meshes"/><asset><mesh name="part" file="part.obj"/></asset><worldbody>'
        '<body name="b"><freejoint/><geom type="mesh" mesh="part"/></body></worldbody></mujoco>'
    )
    scene = (
        '<mujoco><asset><model name="arm" file="{}"/></asset><worldbody>'
        '<attach model="arm" body="b" prefix="my_"/></worldbody></mujoco>'
    )
    (tmp_path / "scene.xml").write_text(scene.format("arm/arm.xml"))
    robot = Robot.load(tmp_path / "scene.xml")
    assert robot.names("body") == ("world", "my_b")
    assert robot.model.nmesh == 1
    (tmp_path / "arm" / "scene.xml").write_text(scene.format("../scene.xml"))
    with pytest.raises(ss.ModelError, match="outside the model's folder"):
        Robot.load(tmp_path / "arm" / "scene.xml")


def test_what_has_no_use_is_told():
    text = ball(1.0).replace('size=".05"', 'size=".05" solref=".01 1"')
    text = text.replace("<option ", '<option impratio="10" integrator="implicitfast" ')
    said = str(Robot.load(text))
    for word in ("solref of 1 geom", "impratio = 10", "integrator = implicitfast"):
        assert word in said


@pytest.mark.parametrize(
    "flag", ["warmstart=disable", "eulerdamp=disable", "island=disable", "fwdinv=enable", "sleep=enable"]
)
def test_flags_that_have_no_effect_are_told(flag):
    name, value = flag.split("=")
    options = f'<option><flag {name}="{value}"/></option>'
    robot = Robot.load(ball(1.0).replace("<worldbody>", f"{options}<worldbody>"))
    assert any(f"flag {name}" in one for one in robot.unused)
    assert not Robot.load(ball(1.0)).unused


def test_a_missing_file_and_a_wrong_thing():
    with pytest.raises(ss.ModelError, match="there is no such file"):
        Robot.load("no/such.xml")
    with pytest.raises(ss.ModelError, match="not int"):
        Robot.load(3)


def test_keys_are_states():
    text = ball(1.0).replace(
        "</mujoco>", '<keyframe><key name="low" qpos="0 0 .2 1 0 0 0"/></keyframe></mujoco>'
    )
    robot = Robot.load(text)
    assert robot.key("low").q[2] == 0.2
    with pytest.raises(ss.ModelError, match="low"):
        robot.key("lo")


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (
            '<asset>\n<hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>',
            "line 3: <hfield>",
        ),
        (
            '<asset><texture name="t" type="2d" builtin="flat" width="99999" height="99999"/></asset>',
            "texture",
        ),
        ('<size memory="900G"/>', "memory of <size> is 900G"),
        ('<size nkey="2000000000"/>', "nkey of <size>"),
        (
            '<worldbody><replicate count="999"><replicate count="999"/></replicate></worldbody>',
            "<replicate> is 998,001",
        ),
        (f"<worldbody>{'<body>' * 900}{'</body>' * 900}</worldbody>", "more than 400 deep"),
    ],
)
def test_sizes_that_a_file_asks_for_are_bounded(part, said):
    with pytest.raises(ss.ModelError, match=said):
        ss.Robot.load(f"<mujoco>\n{part}\n</mujoco>")


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ('<worldbody>\n\n<body><joint type="slyde"/></body></worldbody>', "'joint', line 4 of part.xml"),
        ('<actuator>\n<motor name="m" joint="nope"/></actuator>', "of name 'm', line 3 of part.xml"),
        ('<asset>\n<mesh name="lost" file="lost.obj"/></asset>', "part.xml: line 3: <mesh name='lost'>"),
    ],
)
def test_errors_in_included_files_name_file_element_and_line(part, said, tmp_path):
    (tmp_path / "part.xml").write_text(f"<mujoco>\n{part}</mujoco>")
    main = tmp_path / "main.xml"
    main.write_text(
        '<mujoco><include file="part.xml"/><worldbody><body><joint/><geom size=".1"/></body></worldbody>'
        "</mujoco>"
    )
    with pytest.raises(ss.ModelError, match=said):
        ss.Robot.load(main)
