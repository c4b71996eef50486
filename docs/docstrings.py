"""Conversion of the docstrings of stickslip to reStructuredText.

The docstrings are plain text: paragraphs, names between single backticks, code, and tables of arguments (a
name, at least two spaces, and its meaning). Other characters that look like markup (`K*`, `|u_T|`, `u_`) are
literal.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence

INDENT = "    "
"""Indentation of one level of the reStructuredText."""

Link = Callable[[str], str | None]
"""Function that returns the link target of a name between backticks, or None if it is only code."""

_ROW = re.compile(r"(\w[\w.,* ]*?) {2,}(?=\S)")
_SPAN = re.compile(r"(`+)(.+?)\1(?!`)", re.DOTALL)
_COMPOUND = re.compile(r"(?<![\w.(`/])([A-Z][a-z]+[A-Z]\w+)(?=[\s,;:.)]|$)")
_LIST = re.compile(r"^(?:[-+•]|\(?\w{1,3}[.)])(?=\s|$)")
_SPECIAL = re.compile(r"([\\*|_`])")


def no_link(name: str) -> None:
    """Return no target: a `Link` that links nothing."""


def markup(text: str, link: Link = no_link) -> str:
    """Convert text to one line: names between backticks become code or links, the rest is literal."""
    text = " ".join(text.split())
    parts, end = [], 0
    for span in _SPAN.finditer(text):
        parts.append(_prose(text[end : span.start()], link))
        target = link(span[2])
        name = f"``{span[2]}``" if target is None else f":py:obj:`{span[2]} <{target}>`"
        parts.append(_separator(text, span.start(), -1) + name + _separator(text, span.end(), 0))
        end = span.end()
    return _LIST.sub(r"\\\g<0>", "".join(parts) + _prose(text[end:], link))


def rst(docstring: str, link: Link = no_link) -> list[str]:
    """Convert a docstring (dedented, from `inspect.getdoc`) to lines, with a blank line after each block."""
    lines: list[str] = []
    for block in _blocks(docstring):
        lines += [*_block(block, link), ""]
    return lines


def indented(lines: list[str], levels: int = 1) -> list[str]:
    """Indent lines by some levels."""
    return [INDENT * levels + line if line else line for line in lines]


def list_table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], widths: tuple[int, ...]) -> list[str]:
    """Make a table; heads and rows contain reStructuredText, widths are relative."""
    lines = [".. list-table::", f"{INDENT}:header-rows: 1", f"{INDENT}:widths: {' '.join(map(str, widths))}"]
    lines += [f"{INDENT}:class: options", ""]
    for row in (heads, *rows):
        for k, cell in enumerate(row):
            lines.append(f"{INDENT}{'* -' if k == 0 else '  -'} {cell}".rstrip())
    return [*lines, ""]


def _blocks(docstring: str) -> Iterator[list[str]]:
    """Yield the paragraphs; code with blank lines is one paragraph."""
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
    """Convert one paragraph: code, a table, a list or prose."""
    if _is_code(block):
        return [".. code-block:: python", "", *indented(_dedented(block))]
    if _ROW.match(block[0]):
        return _table(block, link)
    if block[0].startswith("- "):
        items = re.split(r"\n(?=- )", "\n".join(block))
        return [f"- {markup(item[2:], link)}" for item in items]
    return [markup(" ".join(block), link)]


def _table(block: list[str], link: Link) -> list[str]:
    """Convert a table of arguments to a definition list."""
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
    """Whether a block is indented, or is Python code with a call (prose is not valid Python)."""
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
    """Convert text between code; compound names such as ModelError become links without backticks."""
    pieces = _COMPOUND.split(text)
    for k, piece in enumerate(pieces):
        target = link(piece) if k % 2 else None
        pieces[k] = f":py:obj:`{piece} <{target}>`" if target else _SPECIAL.sub(r"\\\1", piece)
    return "".join(pieces)


def _separator(text: str, position: int, side: int) -> str:
    """Escaped space that separates inline markup from an adjacent character; empty beside blanks."""
    adjacent = text[position + side : position + side + 1] if position + side >= 0 else ""
    return "\\ " if adjacent.strip() else ""
