"""Solves of random problems with every solver; the formulas of `laws` and `proofs` check all claims."""

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
"""Iteration limits, which bound the time of a hundred thousand solves. A limit cannot hide a false claim."""
FAMILIES = {groups: name for name, groups in SLIDING.items()}
"""Names of friction cones by the sizes of their groups."""
INNER = {"s-loop": {"inner_iterations": 500}, "tresca": {"inner_iterations": 500}}
"""Limits of inner iterations."""


@dataclass
class Tally:
    """Counts of claims by solver, and the false claims."""

    claims: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of each claim of each solver."""
    families: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Number of each claim for problems of each family and truth."""
    false: list[dict[str, object]] = field(default_factory=list)
    """Every false claim: solver, family, index, claim, reasons, file."""
    seconds: Counter[str] = field(default_factory=Counter)
    """Time by solver [s]."""

    def add(self, other: "Tally") -> None:
        """Add the counts of another process."""
        for name in ("claims", "families", "seconds"):
            getattr(self, name).update(getattr(other, name))
        self.false.extend(other.false)


def solver_names(external: bool = False) -> list[str]:
    """Names of the solvers of contact and box problems; external: include installed external solvers."""
    entries = (registry.entry(name) for name in registry.names())
    return [e.name for e in entries if e.accepts and (not e.package or (external and e.installed))]


def product_set(case: Case) -> ss.problem.ProductSet:
    """Convert the blocks to a product set of stickslip."""
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
    """Convert the case to a problem of stickslip, in blocks of bodies if its notes give their width."""
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
    """Return the kinds of block that a solver must accept, by registry names; none for a box problem."""
    if case.form == BOX:
        return set()
    kinds = {FAMILIES[b.groups] if b.kind == "friction" else b.kind for b in case.blocks}
    joints = case.form == GLOBAL and case.arrays["g_bias"].size
    return kinds | {"free"} if joints else kinds


def examine(name: str, case: Case) -> tuple[str, list[str], ss.Solution]:
    """Solve a case; return the claim of the solver, its faults, and the answer."""
    entry = registry.entry(name)
    known = {spec.name for spec in entry.options}
    options = {"max_iterations": LIMITS[name]} if name in LIMITS and "max_iterations" in known else {}
    solver = registry.make(name, tolerance=case.tolerance, **options, **INNER.get(name, {}))
    solution = solver.solve(problem_of(case), guess=case.guess)
    return solution.status.name, wrong(case, solution), solution


def wrong(case: Case, solution: ss.Solution) -> list[str]:
    """Return the faults of the claim of an answer."""
    claim = solution.status.name
    if np.isfinite(solution.r).all() and case.size:
        actual = laws.motion(case, solution.r, solution.v)
        if (np.abs(solution.u - actual.u) > 4.0 * actual.rounding).any():
            return [f"u does not belong to r: {float(np.abs(solution.u - actual.u).max()):.3e} m/s off"]
    if claim == "SOLVED":
        return proofs.refute_solved(case) + laws.refute(case, solution.r, solution.v, solution.lam)
    if claim == "RELAXED":
        return laws.refute(case, solution.r, solution.v, solution.lam, shifted=False)
    if claim == "INFEASIBLE":
        certificate = solution.certificate
        if certificate is None:
            return ["INFEASIBLE without a certificate"]
        return proofs.refute_infeasible(case, certificate.y, certificate.z, certificate.bases)
    return []


def attack(
    indices: range, seed: int, names: list[str], folder: Path | None, progress: object = None
) -> Tally:
    """Solve the problems of these indices, each by a random suitable solver, and check the claims."""
    tally = Tally()
    for index in indices:
        rng = np.random.default_rng([seed, index])
        case = problems.problem(rng)
        kinds = kinds_of(case)
        suiting = [name for name in names if registry.entry(name).accepts.issuperset(kinds)]
        if not suiting:
            continue
        plain = [name for name in suiting if "coulomb3d" not in registry.entry(name).accepts]
        if plain and rng.random() < 0.5:  # few problems suit solvers without friction
            suiting = plain
        name = suiting[int(rng.integers(len(suiting)))]
        _solve(tally, case, name, seed, index, folder)
        if rng.random() < 0.05 and case.form != BOX:
            _existence(tally, case, seed, index, folder)
        if progress is not None:
            progress(tally)  # type: ignore[operator]
    return tally


def _solve(tally: Tally, case: Case, name: str, seed: int, index: int, folder: Path | None) -> None:
    """Solve a case and count its claim."""
    start = perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            claim, faults, _ = examine(name, case)
    except ss.ProblemError as error:  # a valid reason to refuse: inconsistent joints
        claim, faults = "REFUSED", []
        if case.truth == cases.SOLVABLE:
            faults = [f"refused, but the problem was made from a solution: {error}"]
    except Exception as error:  # crashes and warnings are faults, too
        claim, faults = type(error).__name__, [f"{type(error).__name__}: {error}"]
    tally.seconds[name] += perf_counter() - start
    tally.claims[name, claim] += 1
    tally.families[case.family, case.truth, claim] += 1
    if faults:
        _note(tally, case, name, claim, faults, seed, index, folder)


def _existence(tally: Tally, case: Case, seed: int, index: int, folder: Path | None) -> None:
    """Check the claim of `prove_existence` for a case, and its witness."""
    try:
        proof = ss.solvers.prove_existence(problem_of(case))
    except Exception as error:
        tally.claims["existence", type(error).__name__] += 1
        _note(tally, case, "existence", "error", [f"{type(error).__name__}: {error}"], seed, index, folder)
        return
    claim = "EXISTS" if proof.holds and not proof.reason else "not shown"
    tally.claims["existence", claim] += 1
    if claim == "EXISTS" and proof.witness is not None:
        faults = proofs.refute_existence(case, np.asarray(proof.witness))
        if faults:
            _note(tally, case, "existence", claim, faults, seed, index, folder)


def _note(
    tally: Tally,
    case: Case,
    name: str,
    claim: str,
    faults: list[str],
    seed: int,
    index: int,
    folder: Path | None,
) -> None:
    """Add a false claim to the tally, and write it to a file of the folder."""
    about = {"solver": name, "claim": claim, "seed": seed, "index": index, "why": faults}
    line = {**about, "family": case.family, "truth": case.truth, "tolerance": case.tolerance}
    if folder is not None:
        path = folder / f"{name}-{seed}-{index}.npz"
        cases.save(path, case, about)
        line["file"] = str(path)
    tally.false.append(line)


def replay(path: Path) -> list[str]:
    """Solve the problem of a file again, print the claim and its faults, and return the faults."""
    case, about = cases.load(path)
    if about["solver"] == "existence":
        proof = ss.solvers.prove_existence(problem_of(case))
        print(proof)
        holds = proof.holds and proof.witness is not None
        faults = proofs.refute_existence(case, np.asarray(proof.witness)) if holds else []
    else:
        _, faults, solution = examine(str(about["solver"]), case)
        print(solution)
    print(f"family {case.family}, {case.truth}, closing {case.closing:.3g}, tolerance {case.tolerance:.0e}")
    print("\n".join(f"FALSE: {one}" for one in faults) or "no false claim")
    return faults
