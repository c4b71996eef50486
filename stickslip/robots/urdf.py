"""Elements of URDF that MuJoCo ignores, and a check of `mimic`, which becomes an equality constraint."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

from stickslip.state import ModelError

READ = {
    "robot": ("link", "joint", "material", "mujoco"),
    "link": ("inertial", "visual", "collision"),
    "joint": ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic"),
}  # fmt: skip
"""Elements that MuJoCo reads, or that concern the looks only, by the element that contains them."""
SCALAR = ("revolute", "continuous", "prismatic")
"""Types of joints with one coordinate."""
SCALARS = "revolute, continuous and prismatic"
"""The same for messages."""


def ignored_elements(text: str) -> Iterator[str]:
    """Yield a sentence for each kind of element of a URDF file that MuJoCo does not read."""
    root = ElementTree.fromstring(text)
    joints = [joint for joint in root.findall("joint") if joint.get("type") != "fixed"]
    limited = sum(limit.get("velocity") is not None for joint in joints for limit in joint.findall("limit"))
    if limited:
        yield f"velocity of <limit> of {limited} joint{'s' if limited > 1 else ''}: speeds are not limited"
    fixed = sum(
        joint.get("type") == "fixed" and joint.find("mimic") is not None for joint in root.findall("joint")
    )
    if fixed:
        yield f"<mimic> of {fixed} fixed joint{'s' if fixed > 1 else ''}: fixed joints do not move"
    containers = [root, *root.findall("link"), *root.findall("joint")]
    elements = [child.tag for parent in containers for child in parent if child.tag not in READ[parent.tag]]
    for tag, count in Counter(elements).items():
        name = tag.rpartition("}")[2]  # without the namespace
        plural = count > 1
        pronoun = "them" if plural else "it"
        yield f"{count} <{name}> element{'s' if plural else ''}: MuJoCo does not read {pronoun}"


def check_mimics(root: Any, lines: Mapping[Any, int], name: str) -> None:
    """Raise a ModelError for a `mimic` that MuJoCo would ignore, other than that of a fixed joint.

    root: parsed URDF; lines: line of each element.
    """
    joints = root.findall("joint")
    leaders = {joint.get("name") for joint in joints if joint.get("type") in SCALAR}
    for joint in joints:
        kind = joint.get("type")
        for mimic in joint.findall("mimic"):
            where = f"{name}: line {lines[mimic]}: <mimic> of joint {joint.get('name')!r}"
            leader = mimic.get("joint")
            if kind in ("planar", "floating"):
                raise ModelError(f"{where}: the joint is {kind}; only {SCALARS} joints may have one")
            if kind in SCALAR and leader is not None and leader not in leaders:
                raise ModelError(f"{where}: the file has no joint {leader!r} among its {SCALARS} joints")
