"""Read and write contact problems in GDX, the data format of GAMS, for the models of `gams_models.py`.

Sets: `dofs`, `contacts` and `constraints` (normal, v, w of each contact). D is minus H, phi_n is gap over h,
and p_ext are the momenta f. Problems contain only f: v_l are the velocities without contacts, and f_ext is 0.
Requires the package gamspy (extra `gams`), which contains GAMS's library, but no licence.
"""

from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from stickslip.extras import needed
from stickslip.files.errors import FormatError
from stickslip.files.gams_models import data_text, model_text, sets_text
from stickslip.files.record import ProblemRecord, StoredSolution
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.sets import coulomb
from stickslip.simulation.clock import choice
from stickslip.state import Array

LARGEST = 3_000
"""Largest number of unknowns, as the models contain dense matrices."""
LARGEST_TEXT = 600
"""Largest number of unknowns of data as text, which has a line for every number, up to 360,000 per matrix."""


class _Data(NamedTuple):
    """Data of the models: sizes of the sets, and parameters."""

    sets: dict[str, int]
    parameters: list[tuple[str, tuple[str, ...], Array]]
    """Name, names of the sets, values [unit of the parameter], shape (sizes of the sets,)."""


def _data(path: Path, record: ProblemRecord, largest: int) -> _Data:
    problem = record.problem
    if not isinstance(problem, GlobalProblem) or problem.G is not None:
        content = "one with joints" if isinstance(problem, GlobalProblem) else type(problem).__name__
        raise FormatError.at(
            path, "the problem", "a GlobalProblem without G, as the models of GAMS are", content
        )
    if set(problem.K.census) - {"coulomb3d"}:
        raise FormatError.at(
            path, "the blocks", "Coulomb contacts in space alone", ", ".join(sorted(problem.K.census))
        )
    if max(problem.M.size, problem.K.size) > largest:
        raise FormatError.at(path, "the problem", f"at most {largest} unknowns", repr(problem))
    dofs, contacts, constraints = "dofs", "contacts", "constraints"
    sizes = {dofs: problem.M.size, contacts: len(problem.K), constraints: problem.size}
    M, H = problem.M.sparse.toarray(), problem.H_sparse().toarray()
    inverse = problem.M.solve(np.eye(problem.M.size))
    u_free = H.T @ problem.M.solve(problem.f) + problem.u_bias
    parts = {name: slice(k, None, 3) for k, name in enumerate(("n", "v", "w"))}
    return _Data(sizes, [
        ("h", (), np.array(float(record.info.get("h", 1.0)))), ("M", (dofs, dofs), M),
        ("Minv", (dofs, dofs), inverse), ("D", (dofs, constraints), -H),
        *((f"D_{x}", (dofs, contacts), -H[:, at]) for x, at in parts.items()),
        ("f_ext", (dofs,), np.zeros(problem.M.size)), ("p_ext", (dofs,), problem.f),
        ("v_l", (dofs,), problem.M.solve(problem.f)), ("mu", (contacts,), problem.K.coefficient),
        ("phi_n", (contacts,), problem.u_bias[0::3]), ("b_v", (contacts,), problem.u_bias[1::3]),
        ("b_w", (contacts,), problem.u_bias[2::3]), ("Nshur", (constraints, constraints), H.T @ inverse @ H),
        ("Bshur", (constraints,), -u_free),
    ])  # fmt: skip


def write_gdx(path: Path, record: ProblemRecord) -> bytes:
    """Return the bytes of a GDX file: data of the models, and gamma and delta_v of a stored solution."""
    data, container = _data(path, record, LARGEST), _container()
    sets = {name: _set(container, name, count) for name, count in data.sets.items()}
    for name, domain, values in data.parameters:
        _parameter(container, name, [sets[one] for one in domain], values)
    if record.solution is not None and record.solution.v is not None:
        _parameter(container, "gamma", [sets["constraints"]], record.solution.r)
        _parameter(container, "delta_v", [sets["dofs"]], record.solution.v)
    with TemporaryDirectory(prefix="stickslip-gdx-") as folder:
        place = Path(folder) / "data.gdx"
        container.write(str(place))
        return place.read_bytes()


def read_gdx(path: Path) -> ProblemRecord:
    """Read the problem in a GDX file with the data of the models, and its solution if it is stored."""
    symbols = _Symbols(path)
    nv, nc = (len(symbols.labels(name)) for name in ("dofs", "contacts"))
    if len(symbols.labels("constraints")) != 3 * nc:
        content = f"{len(symbols.labels('constraints'))} for {nc} contacts"
        raise FormatError.at(path, "the set constraints", "three of each contact", content)
    M = symbols.array("M", "dofs", "dofs")
    H = np.empty((nv, 3 * nc))
    if "D" in symbols.container:
        H[:] = -symbols.array("D", "dofs", "constraints")
    else:
        for k, name in enumerate(("D_n", "D_v", "D_w")):
            H[:, k::3] = -symbols.array(name, "dofs", "contacts")
    if "p_ext" in symbols.container:
        f = symbols.array("p_ext", "dofs")
    else:
        f = symbols.array("f_ext", "dofs") + M @ symbols.array("v_l", "dofs")
    bias = np.zeros(3 * nc)
    for k, name in enumerate(("phi_n", "b_v", "b_w")):
        if k == 0 or name in symbols.container:
            bias[k::3] = symbols.array(name, "contacts")
    mu = symbols.array("mu", "contacts")
    try:
        problem = GlobalProblem(M, f, sp.csr_array(H), bias, coulomb(mu))  # type: ignore[arg-type]
    except ValueError as error:
        raise FormatError.at(path, "its numbers", "those of a contact problem", f"this: {error}") from None
    info = {"h": repr(float(symbols.array("h")))} if "h" in symbols.container else {}
    answered = "gamma" in symbols.container and "delta_v" in symbols.container
    return ProblemRecord(problem, info, read_gdx_answer(path, problem) if answered else None)


def read_gdx_answer(path: Path, problem: GlobalProblem) -> StoredSolution:
    """Read gamma and delta_v of a GDX file, such as `soln.gdx` of the models, as a solution of `problem`."""
    symbols = _Symbols(Path(path))
    r, v = symbols.vector("gamma", problem.size), symbols.vector("delta_v", problem.M.size)
    return StoredSolution(r, problem.contact_velocity(v), v)


def write_gams(
    folder: Path, record: ProblemRecord | GlobalProblem, law: str = "exact", *, data: str = "gdx"
) -> tuple[Path, ...]:
    """Write the data and the models `eom.gms`, `dual.gms` and `primal.gms` of a problem; return the files.

    law: law of the equations of motion, `exact` or `relaxed`. `gams eom.gms` requires a licence for EMP.
    data: `gdx` writes `data.gdx` with gamspy; `text` writes `data.inc` and `sets-data.inc` without it.
    """
    from stickslip.files.problems import replace_file

    folder = Path(folder)
    problem_record = record if isinstance(record, ProblemRecord) else ProblemRecord(record)
    if choice("data", data, ("gdx", "text")) == "gdx":
        files = {"data.gdx": write_gdx(folder / "data.gdx", problem_record)}
    else:
        data_ = _data(folder / "data.inc", problem_record, LARGEST_TEXT)
        files = {"data.inc": data_text(data_.parameters).encode()}
        files["sets-data.inc"] = sets_text(data_.sets).encode()
    read = next(iter(files))
    files |= {f"{name}.gms": model_text(name, read, law).encode() for name in ("eom", "dual", "primal")}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        replace_file(folder / name, text)
    return tuple(folder / name for name in files)


class _Symbols:
    """Symbols of a GDX file by name."""

    def __init__(self, path: Path):
        self.path = path
        try:
            self.container = _container(str(path.resolve()))
        except ImportError:
            raise
        except Exception as error:  # GAMS's library has no exception class
            raise FormatError.at(path, "the file", "a GDX file of GAMS", f"this: {error}") from None
        self._labels: dict[str, dict[str, int]] = {}

    def labels(self, name: str) -> dict[str, int]:
        """Members of a set, with their indices."""
        if name not in self._labels:
            records = self._symbol(name).records
            members = [] if records is None else records.iloc[:, 0].astype(str).tolist()
            self._labels[name] = {label: k for k, label in enumerate(members)}
        return self._labels[name]

    def array(self, name: str, *domain: str) -> Array:
        """A parameter over sets, 0 for missing entries [unit of the parameter], any shape."""
        places = [self.labels(each) for each in domain]
        out = np.zeros([len(each) for each in places])
        records = self._symbol(name).records
        if records is None:
            return out
        if records.shape[1] != len(domain) + 1 and not hasattr(records, "level"):
            content = f"{records.shape[1] - 1} dimensions"
            raise FormatError.at(self.path, f"the parameter {name}", f"{len(domain)} dimensions", content)
        values = records["value" if "value" in records else "level"].to_numpy(float)
        try:
            index = tuple(
                np.array([place[label] for label in records.iloc[:, k].astype(str)], np.int64)
                for k, place in enumerate(places)
            )
        except KeyError as error:
            words = f"members of {', '.join(domain)}"
            raise FormatError.at(self.path, f"the parameter {name}", words, str(error)) from None
        out[index if domain else ()] = values if domain else values[0]
        return out

    def vector(self, name: str, size: int) -> Array:
        """A parameter, or the levels of a variable, over 1 to `size` [unit of the symbol], shape (size,)."""
        self._labels[name] = {str(k + 1): k for k in range(size)}
        return self.array(name, name)

    def _symbol(self, name: str) -> Any:
        if name not in self.container:
            content = ", ".join(list(self.container.data)[:20]) or "nothing"
            raise FormatError.at(self.path, "the file", f"a symbol {name}", content)
        return self.container[name]


def _container(*arguments: str) -> Any:
    """Make a container of GAMS symbols; an ImportError names the extra if the library is missing."""
    transfer, base = needed("gams.transfer", "a GDX file"), needed("gamspy_base", "a GDX file")
    return transfer.Container(*arguments, system_directory=base.directory)


def _set(container: Any, name: str, count: int) -> Any:
    labels = [str(k + 1) for k in range(count)]
    return import_module("gams.transfer").Set(container, name, records=labels)


def _parameter(container: Any, name: str, domain: list[Any], values: Any) -> None:
    """Add a parameter with its nonzero values to a container."""
    transfer = import_module("gams.transfer")
    if not domain:
        transfer.Parameter(container, name, records=float(values))
        return
    where = np.nonzero(values)
    labels = [[str(k + 1) for k in axis.tolist()] for axis in where]
    records = list(zip(*labels, np.asarray(values)[where].tolist(), strict=True))
    transfer.Parameter(container, name, domain, records=records or None)
