"""Problem files of folders as one collection: each problem once, with a name, a family and a hash."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stickslip.bench.collections.features import Features
from stickslip.bench.results import Entry
from stickslip.files import FormatError, ProblemRecord, read_record
from stickslip.problem.fingerprint import fingerprint

ENDINGS = (".hdf5", ".h5", ".dat")
"""Files that are looked at; others in a folder are not."""

Reading = Callable[[str, int, int], None]
"""Called with the name of a file, how many files were read and how many there are."""


@dataclass(frozen=True)
class Skipped:
    """A file that is no problem of the collection, and why."""

    path: Path
    reason: str
    """In a sentence."""


@dataclass(frozen=True, eq=False)
class Collection:
    """Problems by name; it stores paths, not the problems themselves."""

    entries: tuple[Entry, ...]
    """In the order of the places, within a folder by name."""
    skipped: tuple[Skipped, ...] = ()
    """Files that were looked at and left out."""
    files: Mapping[str, tuple[Path, str | None]] = field(default_factory=dict)
    """Where each problem is read from, by its hash, and as which kind."""

    @classmethod
    def of(
        cls, places: Sequence[Path], kind: str | None = None, progress: Reading | None = None
    ) -> "Collection":
        """The problems in files and folders, walked to their bottom; `kind` is for text files in doubt.

        A file that is no problem is skipped and told, as is the second of two files with the same numbers. No
        problem at all is a ValueError, and so are two files that would have one name.
        """
        found = list(_files(places))
        entries: list[Entry] = []
        skipped: list[Skipped] = []
        files: dict[str, tuple[Path, str | None]] = {}
        names = _names(found)
        for k, one in enumerate(found):
            if progress is not None:
                progress(one.path.name, k, len(found))
            try:
                record, read_as = _read(one.path, kind)
            except (FormatError, OSError, MemoryError) as error:
                skipped.append(Skipped(one.path, str(error) or type(error).__name__))
                continue
            digest, info = fingerprint(record.problem), record.info
            if digest in files:
                same = next(entry.name for entry in entries if entry.hash == digest)
                skipped.append(Skipped(one.path, f"{one.path}: the same problem as {same}"))
                continue
            files[digest] = one.path, read_as
            family = info.get("family", "").strip() or one.family
            features = Features.of(record.problem).with_facts(info)
            more = info.get("recipe", ""), info.get("title", "").strip()
            entries.append(Entry(names[k], family, digest, features, *more))
        if not entries:
            where = ", ".join(map(str, places)) or "no place"
            why = skipped[0].reason if skipped else f"files end in {', '.join(ENDINGS)}"
            raise ValueError(f"{where}: no problem found; {why}")
        return cls(tuple(entries), tuple(skipped), files)

    def __len__(self) -> int:
        return len(self.entries)

    def path(self, entry: Entry) -> Path:
        """The file of an entry."""
        return self.files[entry.hash][0]

    def kind(self, entry: Entry) -> str | None:
        """The kind to read its file as, None where the file itself says it."""
        return self.files[entry.hash][1]


@dataclass(frozen=True)
class _File:
    """A file of a place."""

    path: Path
    folder: Path | None
    """The folder that was given; None for a file that was given by itself."""

    @property
    def name(self) -> str:
        """Path below the folder, or the file's name, without ending."""
        inner = Path(self.path.name) if self.folder is None else self.path.relative_to(self.folder)
        while inner.suffix.lower() in ENDINGS:  # «tower.hdf5.dat» was converted from one into the other
            inner = inner.with_suffix("")
        return inner.as_posix()

    @property
    def family(self) -> str:
        """Name of the sub-folder, else of the folder."""
        inner = self.name.split("/")[:-1]
        return "/".join(inner) or (self.path.parent if self.folder is None else self.folder).resolve().name


def _files(places: Sequence[Path]) -> Iterator[_File]:
    """All files of all places, each once."""
    seen: set[Path] = set()
    for place in map(Path, places):
        if not place.exists():
            raise FileNotFoundError(f"{place}: there is no such file or folder")
        folder = place if place.is_dir() else None
        for path in [place] if folder is None else _walked(place):
            real = path.resolve()
            if real not in seen:
                seen.add(real)
                yield _File(path, folder)


def _walked(folder: Path) -> list[Path]:
    """Files with the endings of problems below a folder, hidden ones apart, by name."""
    return sorted(
        (
            path
            for path in folder.rglob("*")
            if path.suffix.lower() in ENDINGS and path.is_file()
            and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        ),
        key=lambda path: path.relative_to(folder).as_posix(),
    )  # fmt: skip


def _names(found: Sequence[_File]) -> list[str]:
    """A name for each file: without its ending where that is unique in its place, else with it."""
    counts = Counter((one.folder, one.name) for one in found)
    owner: dict[str, Path] = {}
    for one in found:
        name = one.name if counts[one.folder, one.name] == 1 else one.name + one.path.suffix
        if name in owner:
            raise ValueError(
                f"{one.path} and {owner[name]} would both be named {name!r};"
                " give the folder above them, or rename one"
            )
        owner[name] = one.path
    return list(owner)


def _read(path: Path, kind: str | None) -> tuple[ProblemRecord, str | None]:
    """A file, and the kind it was read as: `kind` is asked only where the file leaves it open."""
    try:
        return read_record(path), None
    except FormatError:
        if kind is None or path.suffix.lower() != ".dat":
            raise
        return read_record(path, kind), kind
