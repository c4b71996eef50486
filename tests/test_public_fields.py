"""Every array field of a public dataclass says its unit and its shape."""

import ast
from pathlib import Path

import pytest

import stickslip

ROOT = Path(stickslip.__file__).parent
ARRAYS = ("Array", "ndarray", "csr_array", "Delassus", "MassMatrix")


def array_fields(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
            continue
        if not any("dataclass" in ast.unparse(d) for d in node.decorator_list):
            continue
        for field, after in zip(node.body, [*node.body[1:], None], strict=True):
            if not isinstance(field, ast.AnnAssign):
                continue
            doc = ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                doc = str(after.value.value)
            yield node.name, ast.unparse(field.target), ast.unparse(field.annotation), doc


def fields_that_need_it():
    for path in sorted(ROOT.rglob("*.py")):
        for owner, name, kind, doc in array_fields(path):
            words = kind.replace("|", " ").replace("[", " ").replace("]", " ").replace(".", " ").split()
            if any(word in ARRAYS for word in words) and "Callable" not in kind:
                yield pytest.param(doc, id=f"{owner}.{name}")


@pytest.mark.parametrize("doc", list(fields_that_need_it()))
def test_unit_and_shape(doc):
    assert "[" in doc, "unit in brackets, please"
    assert "shape" in doc, "shape, please"


def test_there_are_fields_to_look_at():
    assert len(list(fields_that_need_it())) > 20
