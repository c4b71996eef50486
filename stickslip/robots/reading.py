"""Reader of robot files, which opens only files that the model names and the user allows.

Model files are untrusted input. The files that a model names (included models, meshes, height fields,
textures) are searched for in its folder and in the user's search path, read up to a limit of size, and passed
to MuJoCo in memory. XML with entities is rejected.
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
"""Largest total size of the files of a model [bytes]."""
MOST_TEXT = 2**24
"""Largest size of an XML file [bytes]."""
MOST_FILES = 4096
"""Largest number of meshes and other assets."""
MOST_DEPTH = 32
"""Largest depth of files that include each other."""
MOST_NUMBERS = 2**26
"""Largest number of entries of a height field or a texture, and largest value of an attribute of `size`."""
MOST_COPIES = 2**16
"""Largest number of copies of an element, the product over nested elements."""
MOST_MEMORY = 2**36
"""Largest memory that `size` may request [bytes]."""
COUNTED = {
    "hfield": ("nrow", "ncol"), "texture": ("width", "height"), "replicate": ("count",),
    "composite": ("count",), "flexcomp": ("count",),
}  # fmt: skip
"""Attributes whose product is the number of entries or copies that an element creates."""
COPIES = ("replicate", "composite", "flexcomp")
"""Elements of `COUNTED` that create copies."""
MOST_NESTED = 400
"""Largest depth of nested elements; the limit of MuJoCo's parser is 500."""
FOLDERS = {"mesh": "meshdir", "skin": "meshdir", "texture": "texturedir", "hfield": "meshdir"}
"""Elements of MJCF that name files, and the option of the compiler with their folder."""
PLACE = re.compile(r"Element (?:'([^']*)'|name '([^']*)', id -?\d+)(?:, line (-?\d+))?")
"""Pattern of the place of an error in MuJoCo's messages."""
PLUGIN = re.compile(r"plugin (\S+) not found(.*)")
"""Pattern of MuJoCo's message about a missing plugin."""
PACKAGE = re.compile(r"^(?:package|model)://([^/]+)/(.+)$")
"""Pattern of paths in packages of ROS: package, and path within it."""
XACRO = re.compile(r"^\{[^}]*/xacro\}")
"""Namespace of macros of xacro, in the names of elements."""
NOT_A_NUMBER = re.compile(r"(?:^|\s)[+-]?nan(?:\s|$)", re.IGNORECASE)
"""Pattern of attributes with a NaN."""
NAMES = ("name", "class", "childclass")
"""Attributes that are names and are not checked for NaN."""
NAMED = ("file", "filename", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
"""Attributes that name files."""


@dataclass
class Source:
    """A model as text, with the files that it names."""

    name: str
    """Name in messages."""
    text: str
    """XML, with unique names of files."""
    kind: str
    """MJCF or URDF."""
    includes: dict[str, bytes] = field(default_factory=dict)
    """Included and attached models, by name."""
    assets: dict[str, bytes] = field(default_factory=dict)
    """Contents of meshes and other files, by name."""

    @property
    def ignored(self) -> tuple[str, ...]:
        """Sentences about elements of URDF that MuJoCo does not read."""
        elements = ignored_elements(self.text) if self.kind == "URDF" else ()
        return *elements, *(
            f"{name}: {sentence}"
            for name, content in self.includes.items()
            if ElementTree.fromstring(content).tag == "robot"
            for sentence in ignored_elements(content.decode())
        )


def read_source(source: str | PathLike[str], search: Sequence[str | PathLike[str]] = ()) -> Source:
    """Read the model in a file, or in a text that begins with `<`."""
    text = fspath(source)
    if text.lstrip().startswith("<"):
        return _Reader("the model", None, search).read(text)
    path = Path(text)
    if not path.is_file():
        reason = "this is a folder" if text.strip() and path.is_dir() else "there is no such file"
        raise ModelError(f"{text!r}: {reason}; give the path or the text of an MJCF or URDF model")
    reader = _Reader(str(path), path.resolve().parent, search)
    return reader.read(reader.text_of(path))


def check_text(text: str, name: str) -> None:
    """Raise a ModelError for XML that is too long or has entities."""
    if len(text) > MOST_TEXT:
        raise ModelError(f"{name}: {len(text):,} characters; the limit is {MOST_TEXT:,}")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ModelError(f"{name}: document types and entities are rejected; remove <!DOCTYPE ...>")


class _Reader:
    """Reads a model and collects the files that it names."""

    def __init__(self, name: str, folder: Path | None, search: Sequence[str | PathLike[str]]):
        self.name, self.folder = name, folder
        folders = (search,) if isinstance(search, str | PathLike) else search
        try:
            self.search = [Path(fspath(path)).resolve() for path in folders]
        except TypeError:
            raise ModelError(f"search is {search!r}; expected paths of folders") from None
        for path in self.search:
            if not path.is_dir():
                reason = "is not a folder" if path.exists() else "does not exist"
                raise ModelError(f"search: {str(path)!r} {reason}; give folders for meshes and packages")
        self.source = Source(name, "", "")
        self.bytes = 0
        """Total size of the files read so far."""

    def read(self, text: str) -> Source:
        """Return the model with all of its files."""
        root = self.parsed(text, self.name)
        kinds = {"mujoco": "MJCF", "robot": "URDF"}
        if root.tag not in kinds:
            raise ModelError(
                f"{self.name}: the first element is <{root.tag}>; expected <mujoco> (MJCF) or <robot> (URDF)"
            )
        self.source.kind = kinds[root.tag]
        self.check_expanded(root, text)
        self.source.text = self.collect(text, root, self.folder, self.name, {}, 0)
        return self.source

    def parsed(self, text: str, name: str) -> Any:
        """Parse XML without entities; return its root element."""
        check_text(text, name)
        try:
            return ElementTree.fromstring(text)
        except ElementTree.ParseError as error:
            line, column = error.position
            raise ModelError(f"{name}: line {line}, column {column + 1}: malformed XML ({error})") from None
        except UnicodeEncodeError as error:
            raise ModelError(f"{name}: malformed text ({error})") from None

    def check_expanded(self, root: Any, text: str) -> None:
        """Raise a ModelError for macros of xacro, which a tool of ROS expands to URDF."""
        for element, line in zip(root.iter(), lines_of(text), strict=True):
            if XACRO.match(element.tag):
                raise ModelError(
                    f"{self.name}: line {line}: <{XACRO.sub('xacro:', element.tag)}>: macros of xacro are not"
                    " read; make URDF of them first: xacro robot.urdf.xacro > robot.urdf"
                )

    def text_of(self, path: Path) -> str:
        """Return the text of an XML file."""
        try:
            return self.content(path, MOST_TEXT).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ModelError(f"{path}: not text in UTF-8 ({error.reason} at byte {error.start})") from None

    def content(self, path: Path, most: int = MOST_BYTES) -> bytes:
        """Return the content of a file of at most `most` bytes."""
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
        """Raise a ModelError if an element requests so many entries or copies that they could exhaust the
        memory.

        copies: number of copies that the enclosing elements create.
        """
        if depth > MOST_NESTED:
            raise ModelError(
                f"{name}: line {lines[element]}: elements are nested more than {MOST_NESTED} deep"
            )
        requests = {"count": _product(element.get(key, "1") for key in COUNTED.get(element.tag, ()))}
        most = MOST_NUMBERS
        if element.tag in COPIES:
            copies = max(1, copies) * requests["count"]
            requests, most = {"count": copies}, MOST_COPIES
        elif element.tag == "size":
            requests = {key: _product([value]) for key, value in element.attrib.items() if key != "memory"}
            self.check_memory(element, lines, name)
        for key, value in requests.items():
            if value > most:
                label = f"{key} of " if element.tag == "size" else ""
                raise ModelError(
                    f"{name}: line {lines[element]}: {label}<{element.tag}> is {value:,}; at most {most:,}"
                )
        for inner in element:
            self.check_sizes(inner, lines, name, copies, depth + 1)

    def check_memory(self, element: Any, lines: dict[Any, int], name: str) -> None:
        """Raise a ModelError if `size` requests too much memory."""
        memory = element.get("memory", "0").strip().upper()
        factor = 2 ** (10 * ("KMGTPE".find(memory[-1:]) + 1)) if memory[-1:] in "KMGTPE" else 1
        if factor * _product([memory.rstrip("KMGTPE")]) > MOST_MEMORY:
            raise ModelError(
                f"{name}: line {lines[element]}: memory of <size> is {memory}; at most {MOST_MEMORY:,} bytes"
            )

    def collect(
        self, text: str, root: Any, folder: Path | None, name: str, options: Mapping[str, str], depth: int
    ) -> str:
        """Check a model and collect its files; return its text with unique names of files.

        folder: where its files are searched first; options: meshdir and texturedir of models that include it.
        """
        if depth > MOST_DEPTH:
            raise ModelError(f"{name}: files include each other more than {MOST_DEPTH} deep")
        # 1. Checks of sizes and numbers.
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
        # 2. Folders of files from the compiler's options.
        options = dict(options)
        for compiler in root.iter("compiler"):
            directory = compiler.get("assetdir")
            if directory is not None:
                options |= {"meshdir": directory, "texturedir": directory}
            options |= {key: compiler.get(key) for key in ("meshdir", "texturedir") if compiler.get(key)}
        # 3. Included models. MuJoCo searches for them in the folder of the main model.
        for element in root.iter("include"):
            self.include(element.get("file") or "", f"{name}: line {lines[element]}", options, depth)
        # 4. Meshes, textures and attached models.
        visual = self.visual_elements(root)
        for element in root.iter():
            for attribute in NAMED:
                file = element.get(attribute)
                if not file or element.tag == "include" or element in visual:
                    continue
                if element.tag == "model":
                    self.include(file, f"{name}: line {lines[element]}", {}, depth, "model")
                elif attribute == "file" or element.tag in FILED:
                    where = f"{name}: line {lines[element]}"
                    text = self.asset(text, element, file, where, options, folder)
        return text

    def visual_elements(self, root: Any) -> set[Any]:
        """Return the visual elements of URDF, whose files MuJoCo does not open; none if the compiler's option
        keeps them."""
        keep = any(compiler.get("discardvisual") == "false" for compiler in root.iter("compiler"))
        if root.tag != "robot" or keep:
            return set()
        return {inner for visual in root.iter("visual") for inner in visual.iter()}

    def include(
        self, file: str, name: str, options: Mapping[str, str], depth: int, tag: str = "include"
    ) -> None:
        """Collect a model that another includes or attaches."""
        if file in self.source.includes:
            return
        path = self.resolved(file, "", f"{name}: <{tag} file={file!r}>")
        inner = self.text_of(path)
        self.source.includes[file] = b""
        root = self.parsed(inner, str(path))
        # Files of an included model are in the folder of the main model, those of an attached one in its own.
        folder = path.parent if tag == "model" else self.folder
        collected = self.collect(inner, root, folder, str(path), options, depth + 1)
        self.source.includes[file] = collected.encode()

    def asset(
        self, text: str, element: Any, file: str, name: str, options: Mapping[str, str], folder: Path | None
    ) -> str:
        """Collect a file; return the text, in which it is renamed if another file has the same name."""
        directory = options.get(FOLDERS.get(element.tag, "meshdir"), "")
        label = f" name={element.get('name')!r}" if element.get("name") else ""
        where = f"{name}: <{element.tag}{label}> file {file!r}"
        content = self.content(self.resolved(file, directory, where, folder))
        key = re.split(r"[\\/]", file)[-1]
        if self.source.assets.get(key, content) != content:
            count = len(self.source.assets)
            stem, dot, ending = key.rpartition(".")
            key = f"{stem}_{count}{dot}{ending}"
            quoted = re.escape(file)
            text = re.sub(rf"([\"']){quoted}\1", lambda m: f"{m.group(1)}{key}{m.group(1)}", text)
        if len(self.source.assets) >= MOST_FILES:
            raise ModelError(f"{self.name}: more than {MOST_FILES} files")
        self.source.assets[key] = content
        return text

    def resolved(self, file: str, directory: str, where: str, folder: Path | None = None) -> Path:
        """Return the path of a file in the model's folder or the search path; folder: the first to search."""
        package = PACKAGE.match(file)
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
                tried += [root / directory / file, root / file]
        tail = re.split(r"[\\/]", file)[-1]
        for root in roots:  # as MuJoCo does for URDF, whose absolute paths are often those of another machine
            tried.append(root / directory / tail)
        for path in tried:
            real = path.resolve()
            if real.is_file():
                if any(real.is_relative_to(root) for root in roots):
                    return real
                raise ModelError(
                    f"{where}: {real} is outside the model's folder; allow its folder with search=[...]"
                )
        hint = " (search=[...] names the folders of packages)" if package else ""
        raise ModelError(f"{where}: not found in {', '.join(map(str, roots))}{hint}")


FILED = frozenset((*FOLDERS, "filename"))
"""Elements whose attributes name files."""


def lines_of(text: str) -> list[int]:
    """Return the line of each element of a text of XML, in document order."""
    parser, lines = expat.ParserCreate(), list[int]()
    parser.StartElementHandler = lambda *_: lines.append(parser.CurrentLineNumber)
    parser.Parse(text, True)
    return lines


def explained(error: str, name: str, source: Any = None) -> str:
    """Return MuJoCo's error message as one sentence with file, element and line.

    MuJoCo does not report the lines of elements in included files; they are searched for.
    """
    text = " ".join(error.removeprefix("XML Error: ").removeprefix("Error: ").split())
    plugin = PLUGIN.match(text)
    if plugin:
        text = f"plugin {plugin[1]!r}: plugins are not supported; remove them from the model {plugin[2]}"
    match = PLACE.search(text)
    if match is None:
        return f"{name}: {text}"
    text, tag, label, line = text[: match.start()].strip(), *match.group(1, 2, 3)
    place = f"element {tag!r}" if tag else f"element of name {label!r}" if label else "an element"
    if int(line or 0) > 0:
        return f"{name}: {text} ({place}, line {line})"
    files = {"": source.text.encode(), **source.includes} if isinstance(source, Source) else {}
    words = {tag, label, *re.findall(r"'([^']*)'", text)} - {None, ""}
    places = [
        (file, number)
        for file, content in files.items()
        for element, number in zip(
            ElementTree.fromstring(content).iter(), lines_of(content.decode()), strict=True
        )
        if words
        and words <= {element.tag, *element.attrib, *element.attrib.values()}
        and (not label or element.get("name") == label)
    ]
    if len(places) == 1:
        file, number = places[0]
        return f"{name}: {text} ({place}, line {number}{f' of {file}' if file else ''})"
    candidates = ", ".join(file for file in dict.fromkeys(file for file, _ in places) if file)
    return f"{name}: {text} ({place}{', in ' + candidates if candidates else ''})"


def _product(values: Iterable[str]) -> int:
    """Return the product of all whole numbers in some texts; other words are left for MuJoCo to reject."""
    numbers = [word for value in values for word in value.split()]
    return prod(max(1, int(word)) for word in numbers if word.isdigit())
