"""Check the links of the built site and of the Markdown files: `python docs/links.py SITE`.

Links and anchors within the site must exist, and links of Markdown files to files, folders, pictures and
headings of the repository. External addresses are not fetched; they must have https, a host and no blanks.
"""

import re
import sys
from collections.abc import Callable, Container, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
"""Folder of the repository."""

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
        """Add the anchors and the links of a tag."""
        for key, value in attrs:
            if key in ("id", "name") and value:
                self.anchors.add(value)
            if key in ("href", "src") and value:
                self.links.append(value)


def broken_in_site(site: Path) -> list[str]:
    """Return one sentence for each broken link of a built site."""
    pages = sorted(site.rglob("*.html"))
    if not pages:
        return [f"{site} holds no pages; was it built?"]
    return [f"{page.relative_to(site)}: {fault}" for page in pages for fault in _faults_of_page(page)]


def broken_in_markdown(paths: list[Path]) -> list[str]:
    """Return one sentence for each broken link of Markdown files."""
    return [f"{path.relative_to(ROOT)}: {fault}" for path in paths for fault in _faults_of_text(path)]


def markdown_files() -> list[Path]:
    """Return the Markdown files of the repository and of its docs."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def _faults_of_page(path: Path) -> Iterator[str]:
    for link in sorted(set(_parsed(path).links)):
        yield from _faults_of_link(path, link, ".html", lambda target: _parsed(target).anchors)


def _faults_of_text(path: Path) -> Iterator[str]:
    for match in _LINK.finditer(_CODE.sub("", path.read_text(encoding="utf-8"))):
        yield from _faults_of_link(path, match[1] or match[2] or match[3], ".md", _headings, within=ROOT)


def _faults_of_link(
    path: Path, link: str, pages: str, anchors: Callable[[Path], Container[str]], within: Path | None = None
) -> Iterator[str]:
    """Yield the faults of a link of the file at `path`.

    pages: suffix of files with anchors. anchors: returns the anchors of such a file. within: folder that
    links must not leave.
    """
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        yield from _faults_of_address(link)
        return
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.exists():
        yield f"{link} leads nowhere"
    elif within is not None and not target.is_relative_to(within):
        yield f"{link} leads out of the repository"
    elif parts.fragment and target.suffix == pages and unquote(parts.fragment) not in anchors(target):
        yield f"{link}: the page has no such anchor"


def _faults_of_address(link: str) -> Iterator[str]:
    """Yield the faults of an external address, which is not fetched."""
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
    """Return the anchors that git hosts and MyST derive from headings."""
    text = re.sub(r"^(`{3,}).*?^\1$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in _HEADING.findall(text)}


def main() -> int:
    """Check all Markdown files and the sites of the command line; return 1 if there are broken links."""
    faults = broken_in_markdown(markdown_files())
    faults += [fault for site in sys.argv[1:] for fault in broken_in_site(Path(site).resolve())]
    for fault in faults:
        print(fault, file=sys.stderr)
    if not faults:
        print("links: all targets inside the repository exist; external addresses were not fetched")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
