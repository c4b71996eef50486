"""Random problems with every solver; all claims are checked by the formulas of `laws` and `proofs`."""

import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import numpy as np

import stickslip as ss
from benchmarks.attack import cases, laws, problems, proofs
from benchmarks.attack.blocks import SLIDING
from benchmarks.attack.cases import BOX, GLOBAL, LOCAL, Case
from stickslip.solvers import registry

LIMITS = {
    "auto": 500, "nsgs": 1000, "anderson": 1000, "apgd": 1000, "bb": 1000, "extragradient": 1000,
    "fixed-point": 1000, "admm": 500, "pgs": 1000, "s-loop": 50, "tresca": 50, "prox": 200, "mcp": 100,
    "newton-ac": 100, "newton-jm": 100, "newton-nm": 100, "newton-fb": 100, "newton-min": 100, "ipm": 80,
    "ipm-lcp": 80, "lemke": 2000, "enumerate": 3000,
}  # fmt: skip
"""Iterations at most, so that a hundred thousand solves take bounded time. A limit can make no claim true."""
FAMILIES = {groups: name for name, groups in SLIDING.items()}
"""Names of friction cones by the sizes of their groups."""
INNER = {"s-loop": {"inner_iterations": 500}, "tresca": {"inner_iterations": 500}}


@dataclass
class Tally:
    """What was claimed, by solver, and what was wrong."""

    claims: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each solver made each claim."""
    families: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """How often each claim was made of problems of a family and truth."""
    false: list[dict[str, object]] = field(default_factory=list)
    """Every false claim: solver, family, index, claim, reasons, file."""
    seconds: Counter[str] = field(default_factory=Counter)
    """Time by solver [s]."""

    def add(self, other: "Tally") -> None:
        """Take in what another process counted."""
        for name in ("claims", "families", "seconds"):
            getattr(self, name).update(getattr(other, name))
        self.false.extend(other.false)


def solver_names(external: bool = False) -> list[str]:
    """Solvers of problems that are data, ours or those of others that are installed as well."""
    entries = (registry.entry(name) for name in registry.names())
    return [e.name for e in entries if e.accepts and (not e.package or (external and e.installed))]


def product_set(case: Case) -> ss.problem.ProductSet:
    """The blocks as stickslip takes them."""
    K = ss.problem.nonnegative(0)
    for b in case.blocks:
        if b.kind == "friction":
            K = K + ss.problem.friction(b.groups, [b.mu])
        elif b.kind == "interval":
            K = K + ss.problem.interval(b.lower, b.upper)
        else:
            K = K + (ss.problem.free(b.size) if b.kind == "free" else ss.problem.nonnegative(1))
    return K


def problem_of(case: Case) -> ss.ContactProblem | ss.GlobalProblem | ss.BoxProblem:
    """The case as stickslip takes it; over bodies in blocks where it is made of such."""
    a = case.arrays
    if case.form == BOX:
        return ss.BoxProblem(a["A"], a["b"], a["lower"], a["upper"])
    K = product_set(case)
    if case.form == LOCAL:
        return ss.ContactProblem(a["W"], a["u_free"], K)
    G, g = (a["G"], a["g_bias"]) if a["g_bias"].size else (None, np.zeros(0))
    width = int(case.notes.get("body", 0))
    if not width or G is not None:
        return ss.GlobalProblem(a["M"], a["f"], a["H"], a["u_bias"], K, G, g)
    count = a["f"].size // width
    M = np.stack([a["M"][width * i : width * i + width, width * i : width * i + width] for i in range(count)])
    rows, sides = np.zeros((case.size, 2, width)), []
    for _, part in case.spans:
        H = a["H"][:, part].reshape(count, width, -1)
        touched = np.flatnonzero(np.abs(H).sum(axis=(1, 2)))[:2].tolist()
        for side, body in enumerate(touched):
            rows[part, side] = H[body].T
        sides.append([*touched, -1, -1][:2])
    return ss.GlobalProblem(M, a["f"], ss.problem.contact_blocks(sides, rows, K), a["u_bias"], K)


def kinds_of(case: Case) -> set[str]:
    """Kinds of block that a solver must take, by their names in the registry; none for a box problem."""
    if case.form == BOX:
        return set()
    kinds = {FAMILIES[b.groups] if b.kind == "friction" else b.kind for b in case.blocks}
    joints = case.form == GLOBAL and case.arrays["g_bias"].size
    return kinds | {"free"} if joints else kinds


def examine(name: str, case: Case) -> tuple[str, list[str], ss.Solution]:
    """The claim of a solver on a case, why it is wrong (empty where it is not), and its answer."""
    entry = registry.entry(name)
    known = {spec.name for spec in entry.options}
    options = {"max_iterations": LIMITS[name]} if name in LIMITS and "max_iterations" in known else {}
    solver = registry.make(name, tolerance=case.tolerance, **options, **INNER.get(name, {}))
    found = solver.solve(problem_of(case), guess=case.guess)
    return found.status.name, wrong(case, found), found


def wrong(case: Case, found: ss.Solution) -> list[str]:
    """Why the claim of an answer is wrong."""
    claim = found.status.name
    if np.isfinite(found.r).all() and case.size:
        told = laws.motion(case, found.r, found.v)
        if (np.abs(found.u - told.u) > 4.0 * told.rounding).any():
            return [f"u is not that of r: {float(np.abs(found.u - told.u).max()):.3e} m/s off"]
    if claim == "SOLVED":
        return proofs.refute_solved(case) + laws.refute(case, found.r, found.v, found.lam)
    if claim == "RELAXED":
        return laws.refute(case, found.r, found.v, found.lam, shifted=False)
    if claim == "INFEASIBLE":
        given = found.certificate
        if given is None:
            return ["INFEASIBLE without a certificate"]
        return proofs.refute_infeasible(case, given.y, given.z, given.bases)
    return []


def attack(
    indices: range, seed: int, names: list[str], folder: Path | None, progress: object = None
) -> Tally:
    """Solve the problems of these indices, each by one solver that takes it, and check what is claimed."""
    tally = Tally()
    for index in indices:
        rng = np.random.default_rng([seed, index])
        case = problems.problem(rng)
        kinds = kinds_of(case)
        suiting = [name for name in names if registry.entry(name).accepts.issuperset(kinds)]
        if not suiting:
            continue
        plain = [name for name in suiting if "coulomb3d" not in registry.entry(name).accepts]
        if plain and rng.random() < 0.5:  # solvers without friction see few problems
            suiting = plain
        name = suiting[int(rng.integers(len(suiting)))]
        _solve(tally, case, name, seed, index, folder)
        if rng.random() < 0.05 and case.form != BOX:
            _existence(tally, case, seed, index, folder)
        if progress is not None:
            progress(tally)  # type: ignore[operator]
    return tally


def _solve(tally: Tally, case: Case, name: str, seed: int, index: int, folder: Path | None) -> None:
    start = perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            claim, why, _ = examine(name, case)
    except ss.ProblemError as error:  # a true reason to refuse: joints that contradict each other
        claim, why = "REFUSED", []
        if case.truth == cases.SOLVABLE:
            why = [f"refused, but the problem was made from a solution: {error}"]
    except Exception as error:  # a crash or a warning is a fault too
        claim, why = type(error).__name__, [f"{type(error).__name__}: {error}"]
    tally.seconds[name] += perf_counter() - start
    tally.claims[name, claim] += 1
    tally.families[case.family, case.truth, claim] += 1
    if why:
        _note(tally, case, name, claim, why, seed, index, folder)


def _existence(tally: Tally, case: Case, seed: int, index: int, folder: Path | None) -> None:
    """`existence(problem)` on the same problem: what it says holds must, and on its witness."""
    try:
        told = ss.solvers.prove_existence(problem_of(case))
    except Exception as error:
        tally.claims["existence", type(error).__name__] += 1
        _note(tally, case, "existence", "error", [f"{type(error).__name__}: {error}"], seed, index, folder)
        return
    claim = "EXISTS" if told.holds and not told.reason else "not shown"
    tally.claims["existence", claim] += 1
    if claim == "EXISTS" and told.witness is not None:
        why = proofs.refute_existence(case, np.asarray(told.witness))
        if why:
            _note(tally, case, "existence", claim, why, seed, index, folder)


def _note(
    tally: Tally,
    case: Case,
    name: str,
    claim: str,
    why: list[str],
    seed: int,
    index: int,
    folder: Path | None,
) -> None:
    about = {"solver": name, "claim": claim, "seed": seed, "index": index, "why": why}
    line = {**about, "family": case.family, "truth": case.truth, "tolerance": case.tolerance}
    if folder is not None:
        path = folder / f"{name}-{seed}-{index}.npz"
        cases.save(path, case, about)
        line["file"] = str(path)
    tally.false.append(line)


def replay(path: Path) -> list[str]:
    """Solve the problem of a file again and print what is claimed and why it is wrong."""
    case, about = cases.load(path)
    if about["solver"] == "existence":
        told = ss.solvers.prove_existence(problem_of(case))
        print(told)
        holds = told.holds and told.witness is not None
        why = proofs.refute_existence(case, np.asarray(told.witness)) if holds else []
    else:
        _, why, found = examine(str(about["solver"]), case)
        print(found)
    print(f"family {case.family}, {case.truth}, closing {case.closing:.3g}, tolerance {case.tolerance:.0e}")
    print("\n".join(f"FALSE: {one}" for one in why) or "no false claim")
    return why
