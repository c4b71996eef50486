"""Checks that links lead somewhere: `python docs/links.py SITE`, after the site was built.

Links inside the site and anchors in it, and links from Markdown files of the repository to files, folders,
pictures and headings. Addresses elsewhere are not fetched, only looked at: https, a host, no blanks.
"""

import re
import sys
from collections.abc import Callable, Container, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
"""The repository."""

_CODE = re.compile(r"^(`{3,}).*?^\1$|^( {4,}).*?$|(`+).+?\3", re.DOTALL | re.MULTILINE)
_LINK = re.compile(
    r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)|(?:src|href)=\"([^\"]+)\"|^\[[^\]]+\]:\s*(\S+)", re.M
)
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)


class _Page(HTMLParser):
    """Anchors and links of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what can be linked to, and what links."""
        for key, value in attrs:
            if key in ("id", "name") and value:
                self.anchors.add(value)
            if key in ("href", "src") and value:
                self.links.append(value)


def broken_in_site(site: Path) -> list[str]:
    """What is wrong with the links of a built site, a sentence each."""
    pages = sorted(site.rglob("*.html"))
    if not pages:
        return [f"{site} holds no pages; was it built?"]
    return [f"{page.relative_to(site)}: {said}" for page in pages for said in _wrong_on_page(page)]


def broken_in_markdown(paths: list[Path]) -> list[str]:
    """What is wrong with the links of Markdown files, a sentence each."""
    return [f"{path.relative_to(ROOT)}: {said}" for path in paths for said in _wrong_in_text(path)]


def markdown_files() -> list[Path]:
    """The Markdown files of the repository that people read."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def _wrong_on_page(path: Path) -> Iterator[str]:
    for link in sorted(set(_parsed(path).links)):
        yield from _wrong_link(path, link, ".html", lambda target: _parsed(target).anchors)


def _wrong_in_text(path: Path) -> Iterator[str]:
    for found in _LINK.finditer(_CODE.sub("", path.read_text(encoding="utf-8"))):
        yield from _wrong_link(path, found[1] or found[2] or found[3], ".md", _headings, within=ROOT)


def _wrong_link(
    path: Path, link: str, pages: str, anchors: Callable[[Path], Container[str]], within: Path | None = None
) -> Iterator[str]:
    """What is wrong with a link of the file at `path`; files that end in `pages` have anchors."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        yield from _wrong_elsewhere(link)
        return
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.exists():
        yield f"{link} leads nowhere"
    elif within is not None and not target.is_relative_to(within):
        yield f"{link} leads out of the repository"
    elif parts.fragment and target.suffix == pages and unquote(parts.fragment) not in anchors(target):
        yield f"{link}: the page has no such anchor"


def _wrong_elsewhere(link: str) -> Iterator[str]:
    if link.startswith(("data:", "mailto:")):
        return
    parts = urlsplit(link)
    if parts.scheme != "https" or "." not in parts.netloc or re.search(r"\s", link):
        yield f"{link} is not a whole address with https"


@cache
def _parsed(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


@cache
def _headings(path: Path) -> set[str]:
    """The anchors that git hosts and MyST make of headings."""
    text = re.sub(r"^(`{3,}).*?^\1$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in _HEADING.findall(text)}


def main() -> int:
    """Check the site of the first argument and all Markdown files; 1 where something is broken."""
    wrong = broken_in_markdown(markdown_files())
    wrong += [said for site in sys.argv[1:] for said in broken_in_site(Path(site).resolve())]
    for said in wrong:
        print(said, file=sys.stderr)
    if not wrong:
        print("links: all lead somewhere inside the repository; addresses elsewhere were not fetched")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
