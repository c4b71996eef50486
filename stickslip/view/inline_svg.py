"""Drawings inside a page: SVG of Matplotlib made small, with ids of its own and the colours of the page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.etree import ElementTree

LINK = "{http://www.w3.org/1999/xlink}href"
NUMBER = re.compile(r"-?\d+\.\d+")
REFERENCE = re.compile(r"url\(#([^)]+)\)")


def inline_svg(text: str, name: str, label: str, colours: Mapping[str, str]) -> str:
    """The SVG file `text` as an element of a page, called `label` by those who hear it.

    Every id begins with `name`, so that drawings of one page do not meet; ids that nothing refers to
    are left out, and so are fonts, which are those of the page. `colours`: what stands for a colour of
    Matplotlib (`#0072b2`) in the page, such as `var(--c0)`, in light and in dark. Coordinates are
    rounded to hundredths of a point.
    """
    root = ElementTree.fromstring(text)
    for parent in root.iter():
        for child in list(parent):
            if _local(child.tag) in ("metadata", "style"):
                parent.remove(child)
    new = {old: f"{name}-{k}" for k, old in enumerate(sorted(_referenced(root)))}
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = _attributes(element, new, colours)
        if element.tag not in ("text", "tspan"):
            element.text = None
        element.tail = None
    _unwrap(root)
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": label}
    return ElementTree.tostring(root, encoding="unicode")


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _referenced(root: ElementTree.Element) -> set[str]:
    found = set()
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == LINK:
                found.add(value.removeprefix("#"))
            found.update(REFERENCE.findall(value))
    return found


def _attributes(
    element: ElementTree.Element, new: Mapping[str, str], colours: Mapping[str, str]
) -> dict[str, str]:
    kept = {}
    for key, value in element.attrib.items():
        if key == "id":
            if value in new:
                kept["id"] = new[value]
        elif key == LINK:
            kept["href"] = f"#{new[value.removeprefix('#')]}"
        elif key == "style":
            kept["style"] = _style(value, colours)
        elif key == "transform" and value.startswith("rotate(-0 "):
            continue
        elif key in ("d", "x", "y", "transform", "points"):
            kept[key] = " ".join(NUMBER.sub(_rounded, value).split())
        else:
            kept[key] = REFERENCE.sub(lambda match: f"url(#{new[match[1]]})", value)
    return kept


def _style(text: str, colours: Mapping[str, str]) -> str:
    """A style without its font, and with the colours of the page."""
    parts = []
    for part in text.split(";"):
        key, _, value = (half.strip() for half in part.partition(":"))
        if key and key != "font-family":
            parts.append(f"{key}:{colours.get(value, value)}")
    return ";".join(parts)


def _rounded(match: re.Match[str]) -> str:
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")


def _unwrap(root: ElementTree.Element) -> None:
    """Groups that say nothing give way to what they hold."""
    for parent in list(root.iter()):
        while any(child.tag == "g" and not child.attrib for child in parent):
            flat: list[ElementTree.Element] = []
            for child in parent:
                flat.extend(child if child.tag == "g" and not child.attrib else [child])
            parent[:] = flat
