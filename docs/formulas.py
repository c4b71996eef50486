"""Sphinx extension that writes formulas as MathML, which browsers render without scripts or web fonts.

Docutils converts TeX between dollar signs when the docs are built.
"""

from typing import Any

from docutils import nodes  # type: ignore[import-untyped]
from docutils.utils.math import MathError  # type: ignore[import-untyped]
from docutils.utils.math.latex2mathml import tex2mathml  # type: ignore[import-untyped]
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError


def _mathml(node: nodes.Element, *, block: bool) -> str:
    """Convert the TeX of a node to MathML; raise an ExtensionError if it is invalid."""
    tex = node.astext()
    try:
        return str(tex2mathml(tex, as_block=block))
    except (MathError, AttributeError) as error:  # AttributeError: braces do not match
        raise ExtensionError(f"{node.source}: the formula {tex!r} is not understood: {error}") from error


def _inline(self: Any, node: nodes.Element) -> None:
    self.body.append(f'<span class="formula">{_mathml(node, block=False)}</span>')
    raise nodes.SkipNode


def _block(self: Any, node: nodes.Element) -> None:
    self.body.append(f'<div class="formula" tabindex="0">{_mathml(node, block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer of formulas; called by Sphinx."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
