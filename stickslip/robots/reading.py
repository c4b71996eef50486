"""Files of robots, read so that nothing is opened but what the model names and the user allows.

A model file may come from anyone. All files that it names (included models, meshes, height fields, textures)
are found by us within its own folder or the user's search path, read with a limit on their size, and handed
to MuJoCo in memory. Entities of XML are refused.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from os import PathLike, fspath
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from stickslip.robots.urdf import check_mimics, ignored_elements
from stickslip.state import ModelError

MOST_BYTES = 2**28
"""Of all files of a model together."""
MOST_TEXT = 2**24
"""Of one file of XML."""
MOST_FILES = 4096
MOST_DEPTH = 32
"""Of files that include others."""
MOST_NUMBERS = 2**26
"""Of a height field or a texture, and of what `size` asks for."""
MOST_COPIES = 2**16
"""Of a part of the model, one in another."""
MOST_MEMORY = 2**36
"""Bytes that `size` asks for."""
COUNTED = {
    "hfield": ("nrow", "ncol"), "texture": ("width", "height"), "replicate": ("count",),
    "composite": ("count",), "flexcomp": ("count",),
}  # fmt: skip
"""Attributes of elements whose product is how much they make."""
COPIES = ("replicate", "composite", "flexcomp")
MOST_NESTED = 400
"""Elements within each other; MuJoCo's parser takes 500."""
FOLDERS = {"mesh": "meshdir", "skin": "meshdir", "texture": "texturedir", "hfield": "meshdir"}
"""Elements of MJCF that name files, and the folder that the compiler's options give for them."""
PLACE = re.compile(r"Element (?:'([^']*)'|name '([^']*)', id -?\d+)(?:, line (-?\d+))?")
"""How MuJoCo tells where an error is."""
PLUGIN = re.compile(r"plugin (\S+) not found(.*)")
"""How it tells of a plugin that it has not loaded."""
PACKAGE = re.compile(r"^(?:package|model)://([^/]+)/(.+)$")
XACRO = re.compile(r"^\{[^}]*/xacro\}")
"""Elements of macros."""
NOT_A_NUMBER = re.compile(r"(?:^|\s)[+-]?nan(?:\s|$)", re.IGNORECASE)
NAMES = ("name", "class", "childclass")
"""Attributes that are no numbers, whatever they look like."""
NAMED = ("file", "filename", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
"""Attributes that name files."""


@dataclass
class Source:
    """A model as text, with the files that it names."""

    name: str
    """For messages."""
    text: str
    kind: str
    """MJCF or URDF."""
    includes: dict[str, bytes] = field(default_factory=dict)
    assets: dict[str, bytes] = field(default_factory=dict)

    @property
    def ignored(self) -> tuple[str, ...]:
        """Sentences about elements of URDF that MuJoCo does not read."""
        own = ignored_elements(self.text) if self.kind == "URDF" else ()
        return *own, *(
            f"{name}: {sentence}"
            for name, content in self.includes.items()
            if ElementTree.fromstring(content).tag == "robot"
            for sentence in ignored_elements(content.decode())
        )


def read_source(source: str | PathLike[str], search: Sequence[str | PathLike[str]] = ()) -> Source:
    """The model in a file, or in a text that begins with `<`."""
    given = fspath(source)
    if given.lstrip().startswith("<"):
        return _Reader("the model", None, search).read(given)
    path = Path(given)
    if not path.is_file():
        what = "this is a folder" if given.strip() and path.is_dir() else "there is no such file"
        raise ModelError(f"{given!r}: {what}; give the path or the text of an MJCF or URDF model")
    reader = _Reader(str(path), path.resolve().parent, search)
    return reader.read(reader.text_of(path))


def checked_text(text: str, name: str) -> None:
    """A ModelError for a text of XML that is too long, or has entities."""
    if len(text) > MOST_TEXT:
        raise ModelError(f"{name}: {len(text):,} characters; the limit is {MOST_TEXT:,}")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ModelError(f"{name}: document types and entities are rejected; remove <!DOCTYPE ...>")


class _Reader:
    """Collects what a model names."""

    def __init__(self, name: str, folder: Path | None, search: Sequence[str | PathLike[str]]):
        self.name, self.folder = name, folder
        folders = (search,) if isinstance(search, str | PathLike) else search
        try:
            self.search = [Path(fspath(one)).resolve() for one in folders]
        except TypeError:
            raise ModelError(f"search is {search!r}; expected paths of folders") from None
        for path in self.search:
            if not path.is_dir():
                what = "is not a folder" if path.exists() else "does not exist"
                raise ModelError(f"search: {str(path)!r} {what}; give folders for meshes and packages")
        self.found = Source(name, "", "")
        self.bytes = 0

    def read(self, text: str) -> Source:
        """The model with all of its files."""
        root = self.parsed(text, self.name)
        kinds = {"mujoco": "MJCF", "robot": "URDF"}
        if root.tag not in kinds:
            raise ModelError(
                f"{self.name}: the first element is <{root.tag}>; expected <mujoco> (MJCF) or <robot> (URDF)"
            )
        self.found.kind = kinds[root.tag]
        self.check_expanded(root, text)
        self.found.text = self.collected(text, root, self.folder, self.name, {}, 0)
        return self.found

    def parsed(self, text: str, name: str) -> Any:
        """The tree of a text of XML without entities."""
        checked_text(text, name)
        try:
            return ElementTree.fromstring(text)
        except ElementTree.ParseError as error:
            line, column = error.position
            raise ModelError(f"{name}: line {line}, column {column + 1}: malformed XML ({error})") from None
        except UnicodeEncodeError as error:
            raise ModelError(f"{name}: malformed text ({error})") from None

    def check_expanded(self, root: Any, text: str) -> None:
        """A ModelError for a file of macros, from which a tool of ROS makes URDF."""
        for element, line in zip(root.iter(), lines_of(text), strict=True):
            if XACRO.match(element.tag):
                raise ModelError(
                    f"{self.name}: line {line}: <{XACRO.sub('xacro:', element.tag)}>: macros of xacro are not"
                    " read; make URDF of them first: xacro robot.urdf.xacro > robot.urdf"
                )

    def text_of(self, path: Path) -> str:
        """A file of XML."""
        try:
            return self.content(path, MOST_TEXT).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ModelError(f"{path}: not text in UTF-8 ({error.reason} at byte {error.start})") from None

    def content(self, path: Path, most: int = MOST_BYTES) -> bytes:
        """What is in a file, up to the limits."""
        try:
            size = path.stat().st_size
            if size > most or self.bytes + size > MOST_BYTES:
                raise ModelError(f"{path}: {size:,} bytes; the limit is {MOST_BYTES:,}")
            self.bytes += size
            return path.read_bytes()
        except OSError as error:
            raise ModelError(f"{path}: cannot be read ({error.strerror})") from None

    def check_sizes(
        self, element: Any, lines: dict[Any, int], name: str, copies: int = 1, depth: int = 0
    ) -> None:
        """A ModelError where an element makes more than there may be: MuJoCo would take all memory."""
        if depth > MOST_NESTED:
            raise ModelError(
                f"{name}: line {lines[element]}: elements are nested more than {MOST_NESTED} deep"
            )
        asked = {"count": _product(element.get(one, "1") for one in COUNTED.get(element.tag, ()))}
        most = MOST_NUMBERS
        if element.tag in COPIES:
            copies = max(1, copies) * asked["count"]
            asked, most = {"count": copies}, MOST_COPIES
        elif element.tag == "size":
            asked = {key: _product([value]) for key, value in element.attrib.items() if key != "memory"}
            self.check_memory(element, lines, name)
        for key, value in asked.items():
            if value > most:
                what = f"{key} of " if element.tag == "size" else ""
                raise ModelError(
                    f"{name}: line {lines[element]}: {what}<{element.tag}> is {value:,}; at most {most:,}"
                )
        for inner in element:
            self.check_sizes(inner, lines, name, copies, depth + 1)

    def check_memory(self, element: Any, lines: dict[Any, int], name: str) -> None:
        """A ModelError where `size` asks for too much memory."""
        given = element.get("memory", "0").strip().upper()
        factor = 2 ** (10 * ("KMGTPE".find(given[-1:]) + 1)) if given[-1:] in "KMGTPE" else 1
        if factor * _product([given.rstrip("KMGTPE")]) > MOST_MEMORY:
            raise ModelError(
                f"{name}: line {lines[element]}: memory of <size> is {given}; at most {MOST_MEMORY:,} bytes"
            )

    def collected(
        self, text: str, root: Any, folder: Path | None, name: str, options: Mapping[str, str], depth: int
    ) -> str:
        """The text, with names of files that MuJoCo can tell apart; the files themselves are kept."""
        if depth > MOST_DEPTH:
            raise ModelError(f"{name}: files include each other more than {MOST_DEPTH} deep")
        lines = dict(zip(root.iter(), lines_of(text), strict=True))
        self.check_sizes(root, lines, name)
        for element in root.iter():
            for attribute, value in element.attrib.items():
                if attribute not in NAMES and NOT_A_NUMBER.search(value):
                    raise ModelError(
                        f"{name}: line {lines[element]}: {attribute} of <{element.tag}> is {value!r};"
                        " expected numbers"
                    )
        if root.tag == "robot":
            check_mimics(root, lines, name)
        options = dict(options)
        for compiler in root.iter("compiler"):
            directory = compiler.get("assetdir")
            if directory is not None:
                options |= {"meshdir": directory, "texturedir": directory}
            options |= {key: compiler.get(key) for key in ("meshdir", "texturedir") if compiler.get(key)}
        # MuJoCo looks for included files beside the first one.
        for element in root.iter("include"):
            self.include(element.get("file") or "", f"{name}: line {lines[element]}", options, depth)
        unseen = self.unseen(root)
        for element in root.iter():
            for attribute in NAMED:
                named = element.get(attribute)
                if not named or element.tag == "include" or element in unseen:
                    continue
                if element.tag == "model":
                    self.include(named, f"{name}: line {lines[element]}", {}, depth, "model")
                elif attribute == "file" or element.tag in FILED:
                    where = f"{name}: line {lines[element]}"
                    text = self.asset(text, element, named, where, options, folder)
        return text

    def unseen(self, root: Any) -> set[Any]:
        """Elements of URDF that are for the eye, unless the compiler is told to keep them: MuJoCo does not
        look at what they name."""
        kept = any(one.get("discardvisual") == "false" for one in root.iter("compiler"))
        if root.tag != "robot" or kept:
            return set()
        return {inner for visual in root.iter("visual") for inner in visual.iter()}

    def include(
        self, named: str, name: str, options: Mapping[str, str], depth: int, tag: str = "include"
    ) -> None:
        """Keep a model that another includes or attaches."""
        if named in self.found.includes:
            return
        path = self.resolved(named, "", f"{name}: <{tag} file={named!r}>")
        inner = self.text_of(path)
        self.found.includes[named] = b""
        tree = self.parsed(inner, str(path))
        # Files of what is included are beside the first model, those of what is attached beside their own.
        folder = path.parent if tag == "model" else self.folder
        made = self.collected(inner, tree, folder, str(path), options, depth + 1)
        self.found.includes[named] = made.encode()

    def asset(
        self, text: str, element: Any, named: str, name: str, options: Mapping[str, str], folder: Path | None
    ) -> str:
        """Keep a file; the text, with another name for it where that of a file in another folder is taken."""
        directory = options.get(FOLDERS.get(element.tag, "meshdir"), "")
        own = f" name={element.get('name')!r}" if element.get("name") else ""
        where = f"{name}: <{element.tag}{own}> file {named!r}"
        content = self.content(self.resolved(named, directory, where, folder))
        key = re.split(r"[\\/]", named)[-1]
        if self.found.assets.get(key, content) != content:
            count = len(self.found.assets)
            stem, dot, ending = key.rpartition(".")
            key = f"{stem}_{count}{dot}{ending}"
            quoted = re.escape(named)
            text = re.sub(rf"([\"']){quoted}\1", lambda m: f"{m.group(1)}{key}{m.group(1)}", text)
        if len(self.found.assets) >= MOST_FILES:
            raise ModelError(f"{self.name}: more than {MOST_FILES} files")
        self.found.assets[key] = content
        return text

    def resolved(self, named: str, directory: str, where: str, folder: Path | None = None) -> Path:
        """The file of that name within the model's folder or the search path; folder: where to look first."""
        package = PACKAGE.match(named)
        roots = ([] if self.folder is None else [self.folder]) + self.search
        if not roots:
            raise ModelError(f"{where}: a model given as text has no folder; give search=[folder]")
        tried: list[Path] = []
        if package:
            for root in roots:
                tried += [root / package[1] / package[2]] + (
                    [root / package[2]] if root.name == package[1] else []
                )
        else:
            for root in roots if folder is None else [folder, *roots]:
                tried += [root / directory / named, root / named]
        tail = re.split(r"[\\/]", named)[-1]
        for root in roots:  # as MuJoCo does for URDF, whose paths are those of another machine
            tried.append(root / directory / tail)
        for path in tried:
            real = path.resolve()
            if real.is_file():
                if any(real.is_relative_to(root) for root in roots):
                    return real
                raise ModelError(
                    f"{where}: {real} is outside the model's folder; allow its folder with search=[...]"
                )
        asked = " (search=[...] names the folders of packages)" if package else ""
        raise ModelError(f"{where}: not found in {', '.join(map(str, roots))}{asked}")


FILED = frozenset((*FOLDERS, "filename"))
"""Elements whose attributes name files."""


def lines_of(text: str) -> list[int]:
    """Lines of the elements of a text of XML, in their order."""
    parser, lines = expat.ParserCreate(), list[int]()
    parser.StartElementHandler = lambda *_: lines.append(parser.CurrentLineNumber)
    parser.Parse(text, True)
    return lines


def explained(error: str, name: str, source: Any = None) -> str:
    """What MuJoCo says of a model in one sentence, with file, element and line. Of elements of included files
    it knows no line: they are looked for."""
    text = " ".join(error.removeprefix("XML Error: ").removeprefix("Error: ").split())
    plugin = PLUGIN.match(text)
    if plugin:
        text = f"plugin {plugin[1]!r}: plugins are not supported; remove them from the model {plugin[2]}"
    found = PLACE.search(text)
    if found is None:
        return f"{name}: {text}"
    text, tag, called, line = text[: found.start()].strip(), *found.group(1, 2, 3)
    what = f"element {tag!r}" if tag else f"element of name {called!r}" if called else "an element"
    if int(line or 0) > 0:
        return f"{name}: {text} ({what}, line {line})"
    files = {"": source.text.encode(), **source.includes} if isinstance(source, Source) else {}
    words = {tag, called, *re.findall(r"'([^']*)'", text)} - {None, ""}
    places = [
        (file, at)
        for file, content in files.items()
        for element, at in zip(
            ElementTree.fromstring(content).iter(), lines_of(content.decode()), strict=True
        )
        if words
        and words <= {element.tag, *element.attrib, *element.attrib.values()}
        and (not called or element.get("name") == called)
    ]
    if len(places) == 1:
        file, at = places[0]
        return f"{name}: {text} ({what}, line {at}{f' of {file}' if file else ''})"
    named = ", ".join(one for one in dict.fromkeys(file for file, _ in places) if one)
    return f"{name}: {text} ({what}{', in ' + named if named else ''})"


def _product(values: Iterable[str]) -> int:
    """Of all whole numbers in some texts; what is none is MuJoCo's to refuse."""
    numbers = [word for value in values for word in value.split()]
    return prod(max(1, int(word)) for word in numbers if word.isdigit())
