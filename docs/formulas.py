"""Formulas of the docs as MathML, which browsers typeset by themselves: no script, no font and no network.

TeX between dollar signs is converted by docutils when the docs are built.
"""

from typing import Any

from docutils import nodes  # type: ignore[import-untyped]
from docutils.utils.math import MathError  # type: ignore[import-untyped]
from docutils.utils.math.latex2mathml import tex2mathml  # type: ignore[import-untyped]
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError


def _mathml(node: nodes.Element, *, block: bool) -> str:
    tex = node.astext()
    try:
        return str(tex2mathml(tex, as_block=block))
    except (MathError, AttributeError) as error:  # the latter where braces do not match
        raise ExtensionError(f"{node.source}: the formula {tex!r} is not understood: {error}") from error


def _inline(self: Any, node: nodes.Element) -> None:
    self.body.append(f'<span class="formula">{_mathml(node, block=False)}</span>')
    raise nodes.SkipNode


def _block(self: Any, node: nodes.Element) -> None:
    self.body.append(f'<div class="formula" tabindex="0">{_mathml(node, block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
