"""Docstrings of the house as reStructuredText.

They are plain text: paragraphs, single backticks for names, code, and tables of arguments with a name, two
spaces or more, and what it is. Whatever else looks like markup (`K*`, `|u_T|`, `u_`) is meant as
it stands.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence

INDENT = "    "
"""What one level of reStructuredText is indented by here."""

Link = Callable[[str], str | None]
"""The target of a name between backticks, None where it is only code."""

_ROW = re.compile(r"(\w[\w.,* ]*?) {2,}(?=\S)")
_SPAN = re.compile(r"(`+)(.+?)\1(?!`)", re.DOTALL)
_COMPOUND = re.compile(r"(?<![\w.(`/])([A-Z][a-z]+[A-Z]\w+)(?=[\s,;:.)]|$)")
_LIST = re.compile(r"^(?:[-+•]|\(?\w{1,3}[.)])(?=\s|$)")
_SPECIAL = re.compile(r"([\\*|_`])")


def no_link(name: str) -> None:
    """Nothing is linked."""


def markup(text: str, link: Link = no_link) -> str:
    """`text` on one line, its names between backticks as code or links, everything else as it stands."""
    text = " ".join(text.split())
    parts, at = [], 0
    for span in _SPAN.finditer(text):
        parts.append(_prose(text[at : span.start()], link))
        target = link(span[2])
        shown = f"``{span[2]}``" if target is None else f":py:obj:`{span[2]} <{target}>`"
        parts.append(_apart(text, span.start(), -1) + shown + _apart(text, span.end(), 0))
        at = span.end()
    return _LIST.sub(r"\\\g<0>", "".join(parts) + _prose(text[at:], link))


def rst(docstring: str, link: Link = no_link) -> list[str]:
    """The lines of a docstring (dedented, as `inspect.getdoc` gives it), blocks with a blank line between."""
    lines: list[str] = []
    for block in _blocks(docstring):
        lines += [*_block(block, link), ""]
    return lines


def indented(lines: list[str], levels: int = 1) -> list[str]:
    """These lines, further in."""
    return [INDENT * levels + line if line else line for line in lines]


def list_table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], widths: tuple[int, ...]) -> list[str]:
    """A table of cells that are markup already."""
    lines = [".. list-table::", f"{INDENT}:header-rows: 1", f"{INDENT}:widths: {' '.join(map(str, widths))}"]
    lines += [f"{INDENT}:class: options", ""]
    for row in (heads, *rows):
        for k, cell in enumerate(row):
            lines.append(f"{INDENT}{'* -' if k == 0 else '  -'} {cell}".rstrip())
    return [*lines, ""]


def _blocks(docstring: str) -> Iterator[list[str]]:
    """The paragraphs; code with blank lines in it is one."""
    block: list[str] = []
    gap = False
    for line in docstring.splitlines():
        if not line.strip():
            gap = True
            continue
        if gap and block:
            if _is_code(block) and line.startswith("  "):
                block.append("")
            else:
                yield block
                block = []
        gap = False
        block.append(line.rstrip())
    if block:
        yield block


def _block(block: list[str], link: Link) -> list[str]:
    if _is_code(block):
        return [".. code-block:: python", "", *indented(_dedented(block))]
    if _ROW.match(block[0]):
        return _table(block, link)
    if block[0].startswith("- "):
        items = re.split(r"\n(?=- )", "\n".join(block))
        return [f"- {markup(item[2:], link)}" for item in items]
    return [markup(" ".join(block), link)]


def _table(block: list[str], link: Link) -> list[str]:
    """A table of arguments as a list of definitions."""
    lines: list[str] = []
    text: list[str] = []
    for line in [*block, ""]:
        row = _ROW.match(line)
        if text and (row or not line):
            lines.append(INDENT + markup(" ".join(text), link))
            text = []
        if row:
            lines.append(f"``{row[1]}``")
        text.append(line[row.end() :] if row else line)
    return lines


def _is_code(block: list[str]) -> bool:
    """Whether a block is indented, or is Python that does something: prose does not parse."""
    if all(line.startswith("  ") for line in block if line):
        return True
    try:
        tree = ast.parse("\n".join(block))
    except SyntaxError:
        return False
    return any(isinstance(node, ast.Call) for node in ast.walk(tree))


def _dedented(block: list[str]) -> list[str]:
    least = min(len(line) - len(line.lstrip()) for line in block if line)
    return [line[least:] for line in block]


def _prose(text: str, link: Link) -> str:
    """Text between code: compound names such as ModelError are links without backticks, too."""
    pieces = _COMPOUND.split(text)
    for k, piece in enumerate(pieces):
        target = link(piece) if k % 2 else None
        pieces[k] = f":py:obj:`{piece} <{target}>`" if target else _SPECIAL.sub(r"\\\1", piece)
    return "".join(pieces)


def _apart(text: str, at: int, side: int) -> str:
    """What ends or begins inline markup beside a character that would keep it going."""
    beside = text[at + side : at + side + 1] if at + side >= 0 else ""
    return "\\ " if beside.strip() else ""
