"""What is measured of a problem for `stickslip info`: friction, storage, symmetry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stickslip.problem.sets import ProductSet
    from stickslip.problem.solution import Problem


def friction(K: ProductSet) -> dict[str, list[float]]:
    """Smallest and largest friction coefficients by name: mu [-], mu_roll and mu_spin [m], ..."""
    import numpy as np

    count = np.diff(K.group_offset)
    found: dict[str, list[float]] = {}
    for group in range(int(count.max(initial=0))):
        index = K.group_offset[:-1][count > group] + group
        for size in np.unique(K.group_size[index]).tolist():
            values = K.coefficient[index[K.group_size[index] == size]]
            names = {(1, 2): "mu_roll", (1, 1): "mu_spin"}
            name = names.get((group, size), f"mu_{group}") if group else "mu"
            both = [*found.get(name, []), float(values.min()), float(values.max())]
            found[name] = [min(both), max(both)]
    return found


def storage(problem: Problem) -> dict[str, str]:
    """How each matrix of a problem is held: dense, block, sparse, bodies."""
    import scipy.sparse as sp

    from stickslip.problem.box import BoxProblem
    from stickslip.problem.contact import ContactProblem

    if isinstance(problem, BoxProblem):
        return {"A": "sparse" if sp.issparse(problem.A) else "dense"}
    if isinstance(problem, ContactProblem):
        form = type(problem.W).__name__.removesuffix("Delassus").lower()
        return {"W": {"body": "bodies"}.get(form, form)}
    M, maps = problem.M, {"H": problem.H, "G": problem.G}
    mass = "bodies" if M.is_body_blocks else "sparse" if sp.issparse(M.matrix) else "dense"
    held = {name: "sparse" if sp.issparse(x) else "bodies" for name, x in maps.items() if x is not None}
    return {"M": mass, **held}


def symmetry_defect(problem: Problem) -> float:
    """max |W - W'| / max |W| of a contact problem; of M for a global one, of A for a box [-]."""
    import scipy.sparse as sp

    from stickslip.problem.box import BoxProblem
    from stickslip.problem.contact import GlobalProblem
    from stickslip.problem.operator import BlockDelassus, BodyDelassus

    if isinstance(problem, BoxProblem):
        matrix: Any = problem.A
    elif isinstance(problem, GlobalProblem):
        matrix = problem.M.sparse
    elif isinstance(problem.W, BodyDelassus):
        return 0.0  # W = J J' by construction
    else:
        matrix = problem.W.sparse() if isinstance(problem.W, BlockDelassus) else problem.W.dense()
    if 0 in matrix.shape or (sp.issparse(matrix) and not matrix.nnz):
        return 0.0
    largest = float(abs(matrix).max())
    return float(abs(matrix - matrix.T).max()) / largest if largest else 0.0
