"""Kernels of whole steps call those of bodies: their cache must see a change in either folder."""

import ast
from pathlib import Path

import pytest

from stickslip.kernels.jit import JIT, stamp
from stickslip.kernels.variational import compiled, interior_point

ROOM = "stickslip.kernels.variational"
MAY = (ROOM, "stickslip.kernels.bodies", "stickslip.kernels.jit")


@pytest.mark.parametrize("path", sorted(compiled.HERE.glob("*.py")), ids=lambda path: path.name)
def test_they_call_only_themselves_and_kernels_of_bodies(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("stickslip"):
            assert node.module.startswith(MAY), f"{path.name} calls {node.module}"


def test_their_cache_is_keyed_by_both_folders():
    folders = [stamp(Path(folder)) for folder in compiled.FOLDERS]
    assert compiled.joint_stamp() == (max(s[0] for s in folders), sum(s[1] for s in folders))
    assert {folder.name for folder in compiled.FOLDERS} == {"variational", "bodies"}
    if JIT:
        assert interior_point.solve_step._cache._cache_file._source_stamp == compiled.joint_stamp()
