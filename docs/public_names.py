"""What the reference says of a public name: signature, fields, members, from the source and its docstrings.

Types are shown as the source spells them (`Array`, `ContactProblem | None`), defaults by their values.
"""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from docstrings import Link, indented, list_table, markup, rst

from stickslip.options import Options, allowed

HOUSE = "stickslip"
SIMPLE = (bool, int, float, str, tuple, type(None))
"""Defaults that are shown by their value; others as the source spells them."""

NOT_BESIDE = ":no-contents-entry:"
"""Members do not stand in the contents beside a page, where classes and functions do."""


@dataclass(frozen=True)
class Member:
    """A field, property or method of a class, in the order of the source."""

    name: str
    """As it is called."""
    directive: str
    """Directive of Sphinx's Python domain."""
    signature: str
    """Arguments and result, empty for what is not called."""
    options: tuple[str, ...]
    """Options of the directive."""
    doc: str
    """Docstring."""


def described(name: str, value: Any, home: ModuleType, link: Link) -> list[str]:
    """The directive of one public name of a module, with all that is in it."""
    if isinstance(value, type):
        return _class(name, value, link)
    if inspect.isfunction(value):
        head = f".. py:function:: {name}{signature(value, _function(value))}"
        return [head, "", *indented(rst(inspect.getdoc(value) or "", link))]
    head = f".. py:data:: {name}"
    return [head, "", *indented(rst(assigned(home, name), link))]


def first_line(value: Any, home: ModuleType, name: str) -> str:
    """The first sentence of a docstring."""
    called = isinstance(value, type) or inspect.isfunction(value)
    doc = (inspect.getdoc(value) or "") if called else assigned(home, name)
    paragraph = " ".join(doc.partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].rstrip(".")


def signature(function: Any, node: ast.FunctionDef, *, bound: bool = False) -> str:
    """Arguments and result as the source spells them, defaults by value; `bound` leaves the first one out."""
    given, known = node.args, inspect.signature(function)
    places = [*given.posonlyargs, *given.args]
    named = [*places, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    pairs = zip(
        [*reversed(places), *given.kwonlyargs],
        [*_padded(given.defaults, places), *given.kw_defaults],
        strict=True,
    )
    types = {one.arg: _type(one.annotation) for one in named}
    defaults = {one.arg: ast.unparse(default) for one, default in pairs if default is not None}
    arguments = list(known.parameters.values())[bound:]
    result = _type(node.returns) if node.name != "__init__" else ""
    return _spelled(arguments, types, defaults, result)


def options_table(specs: tuple[Any, ...]) -> list[str]:
    """Options with default, unit, range and meaning."""
    if not specs:
        return ["It has no options.", ""]
    rows = [
        (f"``{spec.name}``", f"``{_value(spec.default)}``", markup(spec.metadata["unit"]),
         markup(allowed(spec)), markup(spec.metadata["doc"]))
        for spec in specs
    ]  # fmt: skip
    return list_table(("option", "default", "unit", "range", "description"), rows, (16, 12, 8, 20, 44))


def assigned(home: ModuleType, name: str) -> str:
    """The docstring below an assignment in a module."""
    for body, docs in _strings_below(_module(home.__name__).body):
        if name in _targets(body):
            return docs
    return ""


def _class(name: str, cls: type, link: Link) -> list[str]:
    directive = "py:exception" if issubclass(cls, BaseException) else "py:class"
    lines = [f".. {directive}:: {name}{_constructor(cls)}", ""]
    body = rst(inspect.getdoc(cls) or "", link)
    parents = [base.__name__ for base in cls.__bases__ if link(base.__name__)]
    if parents:
        body += ["Is a " + markup(", ".join(f"`{each}`" for each in parents), link) + ".", ""]
    if issubclass(cls, Options):
        body += options_table(fields(cls))
    for member in members(cls, link):
        body += [f".. {member.directive}:: {member.name}{member.signature}"]
        body += [*indented([*member.options, NOT_BESIDE]), "", *indented(rst(member.doc, link))]
    return [*lines, *indented(body)]


def members(cls: type, link: Link) -> Iterator[Member]:
    """What is documented of a class: its own, and what it has from bases that are not public themselves."""
    seen: set[str] = set()
    options = {spec.name for spec in fields(cls)} if issubclass(cls, Options) else set()
    for base in cls.__mro__:
        if not base.__module__.startswith(HOUSE) or (base is not cls and link(base.__name__)):
            continue
        for member in _members(base, cls):
            if member.doc and member.name not in seen | options and not member.name.startswith("_"):
                seen.add(member.name)
                yield member


def _members(base: type, cls: type) -> Iterator[Member]:
    """What the body of one class defines: fields and methods, and attributes that `__init__` documents."""
    for node, doc in _strings_below(_node(base).body):
        if isinstance(node, ast.FunctionDef):
            yield _method(node, cls)
        for name in _targets(node):
            yield _attribute(name, node, doc or _sentence(cls, name))
    for node, doc in _strings_below(own.body if (own := _init(base)) else []):
        for target in _assigned_to(node):
            if isinstance(target, ast.Attribute):
                yield _attribute(target.attr, node, doc)


def _attribute(name: str, node: ast.stmt, doc: str) -> Member:
    shown = (f":type: {_type(node.annotation)}",) if isinstance(node, ast.AnnAssign) else ()
    return Member(name, "py:attribute", "", shown, doc)


def _sentence(cls: type, name: str) -> str:
    """The value of a member of an enumeration, where that is what users read."""
    value = cls[name].value if issubclass(cls, Enum) and name in cls.__members__ else None
    return f"{value}." if isinstance(value, str) else ""


def _method(node: ast.FunctionDef, cls: type) -> Member:
    marks = {ast.unparse(one).partition("(")[0].rpartition(".")[2] for one in node.decorator_list}
    doc = inspect.getdoc(getattr(cls, node.name, None)) or ""
    if marks & {"property", "cached_property"}:
        shown = (f":type: {_type(node.returns)}",) if node.returns else ()
        return Member(node.name, "py:property", "", shown, doc)
    options = tuple(f":{mark}:" for mark in ("staticmethod", "classmethod") if mark in marks)
    static = inspect.getattr_static(cls, node.name)
    function = inspect.unwrap(getattr(static, "__func__", static))
    arguments = signature(function, node, bound="staticmethod" not in marks)
    return Member(node.name, "py:method", arguments, options, doc)


def _constructor(cls: type) -> str:
    """Arguments that make an object: fields of a dataclass, or those of `__init__`; nothing for enums."""
    if issubclass(cls, Enum) or getattr(cls, "_is_protocol", False):
        return ""
    written = next((base for base in cls.__mro__ if "__init__" in vars(base)), object)
    if written.__module__.startswith(HOUSE) and (own := _init(written)) is not None:
        return signature(written.__init__, own, bound=True)  # type: ignore[misc]
    if not is_dataclass(cls):
        return ""
    types = {
        name: _type(node.annotation)
        for base in reversed(cls.__mro__)
        if base.__module__.startswith(HOUSE)
        for node in _node(base).body
        if isinstance(node, ast.AnnAssign)
        for name in _targets(node)
    }
    return _spelled(list(inspect.signature(cls).parameters.values()), types, {}, "")


def _spelled(
    arguments: list[inspect.Parameter], types: dict[str, str], defaults: dict[str, str], result: str
) -> str:
    """A signature whose types are these texts; defaults that have no short value are, too, or dots."""
    nothing = inspect.Parameter.empty
    shown = [
        one.replace(
            annotation=_Text(types[one.name]) if types.get(one.name) else nothing,
            default=_Text(_default(one.default, defaults.get(one.name, "...")))
            if one.default is not nothing
            else nothing,
        )
        for one in arguments
    ]
    return str(inspect.Signature(shown, return_annotation=_Text(result) if result else nothing))


class _Text:
    """Something that is shown as it is, for `inspect` to put into a signature."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _default(value: Any, spelled: str) -> str:
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    return repr(value) if isinstance(value, SIMPLE) else spelled


def _padded(defaults: list[ast.expr], places: list[ast.arg]) -> list[ast.expr | None]:
    """Defaults of the last places, backwards, None for those that have none."""
    return [*reversed(defaults), *[None] * (len(places) - len(defaults))]


def _init(cls: type) -> ast.FunctionDef | None:
    found = (n for n in _node(cls).body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
    return next(found, None)


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(value)


def _type(annotation: ast.expr | None) -> str:
    """An annotation as it is spelt, without the quotes of names that come later."""
    if annotation is None:
        return ""
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "InitVar":
        annotation = annotation.slice
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value
    return ast.unparse(annotation)


def _targets(node: ast.stmt) -> list[str]:
    return [target.id for target in _assigned_to(node) if isinstance(target, ast.Name)]


def _assigned_to(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.AnnAssign):
        return [node.target]
    return node.targets if isinstance(node, ast.Assign) else []


def _strings_below(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, str]]:
    """Statements, each with the string that stands below it."""
    for node, after in zip(body, [*body, None][1:], strict=True):
        string = after.value if isinstance(after, ast.Expr) else None
        text = string.value if isinstance(string, ast.Constant) and isinstance(string.value, str) else ""
        yield node, inspect.cleandoc(text)


def _function(value: Any) -> ast.FunctionDef:
    """The definition of a function: the last of its name, which follows its overloads."""
    value = inspect.unwrap(value)
    body = _module(value.__module__).body
    return [node for node in body if isinstance(node, ast.FunctionDef) and node.name == value.__name__][-1]


def _node(cls: type) -> ast.ClassDef:
    return next(
        node
        for node in ast.walk(_module(cls.__module__))
        if isinstance(node, ast.ClassDef) and node.name == cls.__name__
    )


@cache
def _module(name: str) -> ast.Module:
    return ast.parse(inspect.getsource(import_module(name)))
