"""Entries of the reference for public names: signature, fields and members, from the source code.

Types are shown as written in the source (`Array`, `ContactProblem | None`), and defaults by their values.
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
"""Types of defaults that are shown by value; others are shown as written in the source."""

NOT_BESIDE = ":no-contents-entry:"
"""Option that excludes members from the table of contents of a page."""


@dataclass(frozen=True)
class Member:
    """A field, property or method of a class, in the order of the source."""

    name: str
    """Name of the member."""
    directive: str
    """Directive of Sphinx's Python domain."""
    signature: str
    """Arguments and result; empty for fields and properties."""
    options: tuple[str, ...]
    """Options of the directive."""
    doc: str
    """Docstring."""


def described(name: str, value: Any, home: ModuleType, link: Link) -> list[str]:
    """Return the directive of one public name of a module, with its members."""
    if isinstance(value, type):
        return _class(name, value, link)
    if inspect.isfunction(value):
        head = f".. py:function:: {name}{signature(value, _function(value))}"
        return [head, "", *indented(rst(inspect.getdoc(value) or "", link))]
    head = f".. py:data:: {name}"
    return [head, "", *indented(rst(assigned(home, name), link))]


def first_line(value: Any, home: ModuleType, name: str) -> str:
    """Return the first sentence of the docstring of a public name."""
    called = isinstance(value, type) or inspect.isfunction(value)
    doc = (inspect.getdoc(value) or "") if called else assigned(home, name)
    paragraph = " ".join(doc.partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].rstrip(".")


def signature(function: Any, node: ast.FunctionDef, *, bound: bool = False) -> str:
    """Return arguments and result with types as in the source and defaults by value.

    bound: omit the first argument (`self` or `cls`).
    """
    spec, runtime = node.args, inspect.signature(function)
    positional = [*spec.posonlyargs, *spec.args]
    every = [*positional, *spec.kwonlyargs, *filter(None, (spec.vararg, spec.kwarg))]
    pairs = zip(
        [*reversed(positional), *spec.kwonlyargs],
        [*_padded(spec.defaults, positional), *spec.kw_defaults],
        strict=True,
    )
    types = {argument.arg: _type(argument.annotation) for argument in every}
    defaults = {argument.arg: ast.unparse(default) for argument, default in pairs if default is not None}
    arguments = list(runtime.parameters.values())[bound:]
    result = _type(node.returns) if node.name != "__init__" else ""
    return _format_signature(arguments, types, defaults, result)


def options_table(specs: tuple[Any, ...]) -> list[str]:
    """Return the table of options with default, unit, range and meaning."""
    if not specs:
        return ["It has no options.", ""]
    rows = [
        (f"``{spec.name}``", f"``{_value(spec.default)}``", markup(spec.metadata["unit"]),
         markup(allowed(spec)), markup(spec.metadata["doc"]))
        for spec in specs
    ]  # fmt: skip
    return list_table(("option", "default", "unit", "range", "description"), rows, (16, 12, 8, 20, 44))


def assigned(home: ModuleType, name: str) -> str:
    """Return the docstring below an assignment in a module."""
    for body, docs in _strings_below(_module(home.__name__).body):
        if name in _targets(body):
            return docs
    return ""


def _class(name: str, cls: type, link: Link) -> list[str]:
    """Return the directive of a class with its base classes, options and members."""
    directive = "py:exception" if issubclass(cls, BaseException) else "py:class"
    lines = [f".. {directive}:: {name}{_constructor(cls)}", ""]
    body = rst(inspect.getdoc(cls) or "", link)
    parents = [base.__name__ for base in cls.__bases__ if link(base.__name__)]
    if parents:
        body += ["Base: " + markup(", ".join(f"`{each}`" for each in parents), link) + ".", ""]
    if issubclass(cls, Options):
        body += options_table(fields(cls))
    for member in members(cls, link):
        body += [f".. {member.directive}:: {member.name}{member.signature}"]
        body += [*indented([*member.options, NOT_BESIDE]), "", *indented(rst(member.doc, link))]
    return [*lines, *indented(body)]


def members(cls: type, link: Link) -> Iterator[Member]:
    """Yield the documented members of a class, and those it inherits from bases that are not public."""
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
    """Yield the members defined by the body of one class, and the attributes documented in `__init__`."""
    for node, doc in _strings_below(_node(base).body):
        if isinstance(node, ast.FunctionDef):
            yield _method(node, cls)
        for name in _targets(node):
            yield _attribute(name, node, doc or _sentence(cls, name))
    for node, doc in _strings_below(init.body if (init := _init(base)) else []):
        for target in _assigned_to(node):
            if isinstance(target, ast.Attribute):
                yield _attribute(target.attr, node, doc)


def _attribute(name: str, node: ast.stmt, doc: str) -> Member:
    shown = (f":type: {_type(node.annotation)}",) if isinstance(node, ast.AnnAssign) else ()
    return Member(name, "py:attribute", "", shown, doc)


def _sentence(cls: type, name: str) -> str:
    """Return the value of an enumeration member as its docstring, if it is text."""
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
    """Return the signature of the constructor, from `__init__` or dataclass fields; empty for enums."""
    if issubclass(cls, Enum) or getattr(cls, "_is_protocol", False):
        return ""
    owner = next((base for base in cls.__mro__ if "__init__" in vars(base)), object)
    if owner.__module__.startswith(HOUSE) and (init := _init(owner)) is not None:
        return signature(owner.__init__, init, bound=True)  # type: ignore[misc]
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
    return _format_signature(list(inspect.signature(cls).parameters.values()), types, {}, "")


def _format_signature(
    arguments: list[inspect.Parameter], types: dict[str, str], defaults: dict[str, str], result: str
) -> str:
    """Format a signature with the given texts as types, result, and defaults without a short value."""
    empty = inspect.Parameter.empty
    parameters = [
        argument.replace(
            annotation=_Text(types[argument.name]) if types.get(argument.name) else empty,
            default=_Text(_default(argument.default, defaults.get(argument.name, "...")))
            if argument.default is not empty
            else empty,
        )
        for argument in arguments
    ]
    return str(inspect.Signature(parameters, return_annotation=_Text(result) if result else empty))


class _Text:
    """Text whose representation is the text itself, as `inspect` puts representations into signatures."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _default(value: Any, source: str) -> str:
    """Return a default by value if its type is simple, otherwise as written in the source."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    return repr(value) if isinstance(value, SIMPLE) else source


def _padded(defaults: list[ast.expr], positional: list[ast.arg]) -> list[ast.expr | None]:
    """Return the defaults of positional arguments in reverse order, with None for those without."""
    return [*reversed(defaults), *[None] * (len(positional) - len(defaults))]


def _init(cls: type) -> ast.FunctionDef | None:
    nodes = (n for n in _node(cls).body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
    return next(nodes, None)


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(value)


def _type(annotation: ast.expr | None) -> str:
    """Return an annotation as written in the source, without the quotes of forward references."""
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
    """Yield each statement with the string literal below it, or an empty string."""
    for node, after in zip(body, [*body, None][1:], strict=True):
        string = after.value if isinstance(after, ast.Expr) else None
        text = string.value if isinstance(string, ast.Constant) and isinstance(string.value, str) else ""
        yield node, inspect.cleandoc(text)


def _function(value: Any) -> ast.FunctionDef:
    """Return the definition of a function: the last of its name, after its overloads."""
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
