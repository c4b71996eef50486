"""Collections of problem files in folders: each problem once, with a name, a family and a hash."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stickslip.bench.collections.features import Features
from stickslip.bench.results import Entry
from stickslip.files import FormatError, ProblemRecord, read_record
from stickslip.problem.fingerprint import fingerprint

ENDINGS = (".hdf5", ".h5", ".dat")
"""Suffixes of the files of a folder that are read."""

Reading = Callable[[str, int, int], None]
"""Called with the name of a file, the number of files read and the total number."""


@dataclass(frozen=True)
class Skipped:
    """A file that is not part of the collection, with the reason."""

    path: Path
    reason: str
    """Reason as a sentence."""


@dataclass(frozen=True, eq=False)
class Collection:
    """Problems by name; it stores paths, not the problems themselves."""

    entries: tuple[Entry, ...]
    """Problems in the order of the places, within a folder by name."""
    skipped: tuple[Skipped, ...] = ()
    """Files that were read and omitted."""
    files: Mapping[str, tuple[Path, str | None]] = field(default_factory=dict)
    """File and kind of each problem, by its hash."""

    @classmethod
    def of(
        cls, places: Sequence[Path], kind: str | None = None, progress: Reading | None = None
    ) -> "Collection":
        """Read the problems in files and folders, recursively; kind: kind of ambiguous text files.

        Files that are not problems, and files with the same numbers as another one, are listed in `skipped`.
        Raises a ValueError if there is no problem, or if two files would have the same name.
        """
        file_list = list(_files(places))
        entries: list[Entry] = []
        skipped: list[Skipped] = []
        files: dict[str, tuple[Path, str | None]] = {}
        names = _names(file_list)
        for k, file in enumerate(file_list):
            if progress is not None:
                progress(file.path.name, k, len(file_list))
            try:
                record, read_as = _read(file.path, kind)
            except (FormatError, OSError, MemoryError) as error:
                skipped.append(Skipped(file.path, str(error) or type(error).__name__))
                continue
            digest, info = fingerprint(record.problem), record.info
            if digest in files:
                same = next(entry.name for entry in entries if entry.hash == digest)
                skipped.append(Skipped(file.path, f"{file.path}: the same problem as {same}"))
                continue
            files[digest] = file.path, read_as
            family = info.get("family", "").strip() or file.family
            features = Features.of(record.problem).with_facts(info)
            texts = info.get("recipe", ""), info.get("title", "").strip()
            entries.append(Entry(names[k], family, digest, features, *texts))
        if not entries:
            searched = ", ".join(map(str, places)) or "no place"
            reason = skipped[0].reason if skipped else f"files end in {', '.join(ENDINGS)}"
            raise ValueError(f"{searched}: no problem found; {reason}")
        return cls(tuple(entries), tuple(skipped), files)

    def __len__(self) -> int:
        return len(self.entries)

    def path(self, entry: Entry) -> Path:
        """The file of an entry."""
        return self.files[entry.hash][0]

    def kind(self, entry: Entry) -> str | None:
        """Kind of the problem in the file of an entry; None if the file determines it."""
        return self.files[entry.hash][1]


@dataclass(frozen=True)
class _File:
    """A file of a place."""

    path: Path
    folder: Path | None
    """The searched folder; None for a file that was given directly."""

    @property
    def name(self) -> str:
        """Path relative to the folder, or the file name, without suffix."""
        inner = Path(self.path.name) if self.folder is None else self.path.relative_to(self.folder)
        while (
            inner.suffix.lower() in ENDINGS
        ):  # converted files may have two suffixes, such as tower.hdf5.dat
            inner = inner.with_suffix("")
        return inner.as_posix()

    @property
    def family(self) -> str:
        """Name of the subfolder, or of the folder."""
        inner = self.name.split("/")[:-1]
        return "/".join(inner) or (self.path.parent if self.folder is None else self.folder).resolve().name


def _files(places: Sequence[Path]) -> Iterator[_File]:
    """Yield all files of all places, each once."""
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
    """Files with suffixes of problems below a folder, except hidden ones, sorted by name."""
    return sorted(
        (
            path
            for path in folder.rglob("*")
            if path.suffix.lower() in ENDINGS and path.is_file()
            and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        ),
        key=lambda path: path.relative_to(folder).as_posix(),
    )  # fmt: skip


def _names(files: Sequence[_File]) -> list[str]:
    """Name of each file: without its suffix if that is unique in its folder, else with it."""
    counts = Counter((file.folder, file.name) for file in files)
    owner: dict[str, Path] = {}
    for file in files:
        name = file.name if counts[file.folder, file.name] == 1 else file.name + file.path.suffix
        if name in owner:
            raise ValueError(
                f"{file.path} and {owner[name]} would both be named {name!r};"
                " give the folder above them, or rename one"
            )
        owner[name] = file.path
    return list(owner)


def _read(path: Path, kind: str | None) -> tuple[ProblemRecord, str | None]:
    """Read a file; return the record, and `kind` if the file did not determine its kind."""
    try:
        return read_record(path), None
    except FormatError:
        if kind is None or path.suffix.lower() != ".dat":
            raise
        return read_record(path, kind), kind
