"""Parts of models in files: their keys are the arguments of the classes, or builder methods, that make them.

The classes are the only definition of the format: their signatures give the keys and defaults, the docstrings
of their fields give the descriptions and shapes, and their constructors check the values. Pydantic finds all
errors of a file with their positions, and generates the schema.
"""

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from functools import cache
from inspect import Parameter, getsource, signature
from itertools import pairwise
from textwrap import dedent
from types import NoneType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    PlainValidator,
    StringConstraints,
    Tag,
    WithJsonSchema,
    create_model,
)
from pydantic_core import CoreSchema

from stickslip.files.model_functions import KEY, FunctionNode
from stickslip.files.model_trees import INFINITE, kind_of
from stickslip.mechanics.given import numbers
from stickslip.mechanics.inputs import Input
from stickslip.state import ModelError

COUNT = 1000
"""Largest integer of a model, such as the number of components of a law, which determines array sizes."""
LONGEST = 1000
"""Largest number of characters of a text."""
SHAPE = re.compile(r"shape \((\d+(?:, \d+)*),?\)")
"""Pattern of the shape of an array in docstrings."""
Text = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST)]


class Keys(BaseModel):
    """Keys of a part of a model in a file."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, use_attribute_docstrings=True)

    def given(self) -> dict[str, Any]:
        """Keys that are present in the file, with their values."""
        return {key: getattr(self, key) for key in self.model_fields_set}


class As:
    """In `Annotated[Any, As(type)]`: a type computed at run time, which type checkers would reject."""

    def __init__(self, type_: Any):
        self.type = type_

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(self.type)


def array(*shape: int | None) -> Any:
    """Type of arrays of finite numbers of this shape (None: any length); () is one number."""

    def check(value: Any) -> Any:
        checked_value = _checked(value, shape)
        return checked_value if shape else float(checked_value)

    return Annotated[Any, PlainValidator(check), WithJsonSchema(_array_schema(shape))]


def bounds(*shape: int | None) -> Any:
    """Type of numbers that may be infinite: "inf" or "-inf"."""

    def check(value: Any) -> Any:
        listed = value if isinstance(value, list) else [value]
        plain = [0.0 if isinstance(x, str) and x in INFINITE else x for x in listed]
        checked_values = np.array(_checked(plain, (None,)))
        for k, one in enumerate(listed):
            checked_values[k] = (
                INFINITE.get(one, checked_values[k]) if isinstance(one, str) else checked_values[k]
            )
        if isinstance(value, list) and shape and len(value) != shape[0]:
            raise ValueError(f"it has {len(value)} entries, expected {shape[0]}")
        return tuple(checked_values.tolist()) if isinstance(value, list) else float(checked_values[0])

    one = {"anyOf": [{"type": "number"}, {"enum": list(INFINITE)}]}
    return Annotated[Any, PlainValidator(check), WithJsonSchema({"anyOf": [one, _listed(one, *shape[:1])]})]


def _any_array(value: Any) -> Any:
    if isinstance(value, FunctionNode):
        return value.function
    depth = 0
    inner = value
    while isinstance(inner, list) and depth < 2:
        depth, inner = depth + 1, inner[0] if inner else 0.0
    return _checked(value, (None,) * depth)


def _checked(value: Any, shape: tuple[int | None, ...]) -> Any:
    if isinstance(value, FunctionNode):
        raise ValueError("it is a function; numbers are required here")
    if isinstance(value, str | bool | dict):
        raise ValueError("it must be numbers" if shape else "it must be a number")
    try:
        return numbers("here", "it", value, shape)
    except ModelError as error:
        raise ValueError(str(error).removeprefix("here: ")) from None


def _listed(inner: Mapping[str, Any], size: int | None = None) -> dict[str, Any]:
    return {"type": "array", "items": inner} | ({} if size is None else {"minItems": size, "maxItems": size})


def _array_schema(shape: tuple[int | None, ...]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "number"}
    for size in reversed(shape):
        schema = _listed(schema, size)
    return schema


Number = array()
_FUNCTION = {"type": "object", "properties": {KEY: {"type": "string"}}, "required": [KEY]}
Function = Annotated[Any, PlainValidator(lambda node: node.function), WithJsonSchema(_FUNCTION)]
"""A function, given by name."""
AnyArray = Annotated[
    Any,
    PlainValidator(_any_array),
    WithJsonSchema({"anyOf": [*(_array_schema(shape) for shape in ((), (None,), (None, None))), _FUNCTION]}),
]
"""A number, a list of numbers, a matrix, or the name of a function."""


class InputKeys(Keys):
    """A number or a vector that is set between steps."""

    input: AnyArray
    """Initial value."""


def or_input(plain: Any) -> Any:
    """Type of `plain`, of `{input = default}` for values set between steps, or of `{function = name}`."""
    keys_type = Annotated[InputKeys, AfterValidator(lambda keys: Input(keys.input))]
    options = Union[Annotated[plain, Tag("constant")], Annotated[keys_type, Tag("input")]]  # noqa: UP007
    form = Discriminator(lambda value: "input" if isinstance(value, dict) else "constant")
    return or_function(Annotated[options, form])


def or_function(plain: Any) -> Any:
    """Type of `plain`, or of `{function = name}`."""
    options = Union[Annotated[plain, Tag("constant")], Annotated[Function, Tag("function")]]  # noqa: UP007
    form = Discriminator(lambda value: "function" if isinstance(value, FunctionNode) else "constant")
    return Annotated[options, form]


def keys_of(
    makes: Callable[..., Any], kind: str = "", own: Mapping[str, Any] | None = None, needed: bool = True
) -> type[Keys]:
    """Keys for the arguments of `makes`, with a key `kind` if it is not empty.

    own: types of some keys; None for arguments that files do not have. needed: whether keys without a default
    are required.
    """
    own = own or {}
    docs = _field_docs(makes) if isinstance(makes, type) else {}
    types: dict[str, Any] = {"kind": (Literal[kind], ...)} if kind else {}
    for argument in signature(makes).parameters.values():
        doc = docs.get(argument.name, "")
        type_ = own[argument.name] if argument.name in own else _typed(argument.annotation, doc)
        if argument.name != "self" and type_ is not None:
            default = (
                ... if needed and argument.default is Parameter.empty else _plain_default(argument.default)
            )
            types[argument.name] = Annotated[type_, Field(description=doc or None)], default
    text = " ".join((makes.__doc__ or "").split("\n\n")[0].split())
    return create_model(makes.__name__, __base__=Keys, __doc__=text, **types)


def choices(classes: Iterable[type], own: Mapping[type, Mapping[str, Any]] | None = None) -> list[Any]:
    """Types of objects of these classes, made by validation; own: argument `own` of `keys_of` by class."""
    return [
        tagged(keys_of(cls, kind_of(cls), (own or {}).get(cls)), _maker(cls), kind_of(cls)) for cls in classes
    ]


def tagged(keys: Any, make: Callable[..., Any], kind: str) -> Any:
    """Type of objects made from these keys, tagged by `kind` for `one_of`."""
    return Annotated[keys, AfterValidator(make), Tag(kind)]


def one_of(options: Iterable[Any]) -> Any:
    """Union of these `choices`, discriminated by their kind."""
    return Annotated[Union[tuple(options)], Discriminator(_tag)]  # noqa: UP007


NAMED = Annotated[Text, Tag("its name")]
"""Among choices: the name of an object defined elsewhere in the file."""


def _tag(value: Any) -> str | None:
    if isinstance(value, str):
        return "its name"
    kind = value.get("kind") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else None


def _maker(cls: type) -> Callable[[Keys], Any]:
    def make(keys: Keys) -> Any:
        return cls(**{key: value for key, value in keys.given().items() if key != "kind"})

    return make


def _typed(annotation: Any, doc: str) -> Any:
    """Type in files of an argument with this annotation and docstring."""
    inner = [one for one in get_args(annotation) if one is not NoneType]
    if NoneType in get_args(annotation) and len(inner) == 1:
        annotation = inner[0]
    if annotation is int:
        return Annotated[int, Field(ge=0, le=COUNT)]
    plain = {str: Text, bool: bool, float: Number}
    if annotation in plain:
        return plain[annotation]
    if get_origin(annotation) is tuple:
        return array(len(get_args(annotation)))
    match = SHAPE.search(doc)
    return array(*map(int, match[1].split(", "))) if match else AnyArray


@cache
def _field_docs(cls: type) -> dict[str, str]:
    """Docstrings of the fields of a class and its base classes."""
    docs: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if is_dataclass(base):
            body = ast.parse(dedent(getsource(base))).body[0].body  # type: ignore[attr-defined]
            for name, text in pairwise(body):
                if isinstance(name, ast.AnnAssign) and isinstance(text, ast.Expr):
                    docs[ast.unparse(name.target)] = " ".join(str(ast.literal_eval(text.value)).split())
    return docs


def _plain_default(value: Any) -> Any:
    return value if isinstance(value, str | bool | int | float) else None
