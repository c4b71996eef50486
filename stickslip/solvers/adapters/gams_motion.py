"""The equations of motion with contact as a mixed complementarity problem in GAMS (EOM), by PATH and others.

    M v - f - H r - G lam = 0                      ⟂ v          G' v + g_bias = 0      ⟂ lam
    u_N >= 0                                       ⟂ r_N >= 0
    mu_k r_N u_k + sigma_k r_k = 0                 ⟂ r_k        every group k of a friction cone
    (mu_k r_N)² - |r_k|² >= 0                      ⟂ sigma_k >= 0

with u = H' v + u_bias; free blocks have u = 0, the others -u in the normal cone of their bounds. `relaxed`
subtracts sum_k mu_k (√(|u_k|² + eps²) - eps) from u_N, as the models of 2014 do (with eps added here, because
without it the derivative does not exist at sticking contacts). Their stationarity condition of friction,
u_k + 2 beta r_k = 0, has no solution at an opening contact; multiplied by mu_k r_N it has.

For the box with four corners on a plane PATH, KNITRO and NLPEC reach 1e-10 and better. MILES solves one
contact, and does not converge with four on a slope.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import cones
from stickslip.names import alternatives
from stickslip.problem.checks import Array
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.convert.units import group_starts
from stickslip.problem.sets import ProductSet
from stickslip.problem.solution import Status
from stickslip.solvers.adapters import gams_session

LAWS = ("exact", "relaxed")

SMOOTHING = 1e-9
"""eps of the relaxation, relative to the unit of velocity: √(|u_k|² + eps²) - eps."""


class MotionAnswer(NamedTuple):
    """Result of a complementarity solver as it reports it; the judge examines it afterwards."""

    v: Array
    """Velocities [m/s, rad/s], shape (nv,)."""
    r: Array
    """Contact impulses [N s], shape (n,)."""
    lam: Array
    """Bilateral multipliers [N s], shape (p,)."""
    status: Status
    """SOLVED, MAX_ITERATIONS, STALLED, NOT_FINITE or INFEASIBLE, as reported."""
    iterations: int
    """Number of iterations, as the solver counts them."""
    message: str
    """Last message of the solver."""


def run_motion(
    problem: GlobalProblem, tolerance: float, max_iterations: int, *, solver: str = "PATH", law: str = "exact"
) -> MotionAnswer:
    """Solve the equations of motion by GAMS's `solver`, in units where all numbers are of order one."""
    if law not in LAWS:
        raise ValueError(f"law is {law!r}; {alternatives(law, LAWS, 'expected one of')}")
    impulse, velocity = _units(problem)
    nv, n, p = problem.M.size, problem.K.size, problem.g_bias.size
    with gams_session.session() as (gamspy, container):
        model, v, r, lam = _model(gamspy, container, problem, impulse, velocity, law)
        report = gams_session.solve(gamspy, model, solver, tolerance, max_iterations)
        if not report.answered:
            nothing = np.zeros(nv), np.zeros(n), np.zeros(p)
            return MotionAnswer(*nothing, report.status, report.iterations, report.message)
        found_v = velocity * gams_session.column(v, nv)
        found_r = impulse * gams_session.column(r, n) if r is not None else np.zeros(0)
        found_lam = impulse * gams_session.column(lam, p) if lam is not None else np.zeros(0)
    finite = all(np.isfinite(part).all() for part in (found_v, found_r, found_lam))
    status = report.status if finite else Status.NOT_FINITE
    return MotionAnswer(found_v, found_r, found_lam, status, report.iterations, report.message)


def _units(problem: GlobalProblem) -> tuple[float, float]:
    """Return units of impulse [N s] and velocity [m/s]: the largest free velocity and what stops it."""
    u = problem.contact_velocity(problem.M.solve(problem.f))
    velocity = float(np.abs(np.concatenate([u, problem.g_bias])).max(initial=0.0)) or 1.0
    H = problem.H_sparse()
    W = np.asarray(H.multiply(problem.M.solve(H.toarray())).sum(axis=0)).reshape(-1)
    return velocity / (float(W[W > 0.0].mean()) if (W > 0.0).any() else 1.0), velocity


def _model(
    gamspy: Any, container: Any, problem: GlobalProblem, impulse: float, velocity: float, law: str
) -> tuple[Any, Any, Any, Any]:
    """Return the model in GAMS, and its unknowns v, r and lam (None if absent)."""
    labels, records, entries = gams_session.labels, gams_session.records, gams_session.entries
    K, zero = problem.K, gamspy.Number(0)
    nv, n, p = problem.M.size, K.size, problem.g_bias.size
    i = gamspy.Set(container, "i", records=labels(nv))
    j = gamspy.Alias(container, "j", alias_with=i)
    mass = sp.csr_array(problem.M.sparse * (velocity / impulse))
    M = gamspy.Parameter(container, "M", domain=[i, i], records=entries(mass))
    f = gamspy.Parameter(container, "f", domain=i, records=records(problem.f / impulse))
    v = gamspy.Variable(container, "v", domain=i)
    newton = gamspy.Equation(container, "newton", domain=i)
    balance = gamspy.Sum(j, M[i, j] * v[j]) - f[i]
    matches: dict[Any, Any] = {}
    r = lam = None
    if p:
        ell = gamspy.Set(container, "ell", records=labels(p))
        G = gamspy.Parameter(container, "G", domain=[i, ell], records=entries(problem.G_sparse()))
        g_bias = gamspy.Parameter(container, "g_bias", domain=ell, records=records(problem.g_bias / velocity))
        lam = gamspy.Variable(container, "lam", domain=ell)
        joint = gamspy.Equation(container, "joint", domain=ell)
        joint[ell] = gamspy.Sum(i, G[i, ell] * v[i]) + g_bias[ell] == zero
        balance = balance - gamspy.Sum(ell, G[i, ell] * lam[ell])
        matches[joint] = lam
    if n:
        k = gamspy.Set(container, "k", records=labels(n))
        H = gamspy.Parameter(container, "H", domain=[i, k], records=entries(problem.H_sparse()))
        u_bias = gamspy.Parameter(container, "u_bias", domain=k, records=records(problem.u_bias / velocity))
        r = gamspy.Variable(container, "r", domain=k, records=_start(K, impulse))
        balance = balance - gamspy.Sum(k, H[i, k] * r[k])
        _contacts(gamspy, container, K, law, matches, (i, k, H, u_bias, v, r))
    newton[i] = balance == zero
    matches[newton] = v
    return gamspy.Model(container, "motion", problem="MCP", matches=matches), v, r, lam


def _contacts(
    gamspy: Any, container: Any, K: ProductSet, law: str, matches: dict[Any, Any], symbols: tuple[Any, ...]
) -> None:
    """Add the rows of r and sigma to `matches`."""
    i, k, H, u_bias, v, r = symbols
    zero, sqr, total = gamspy.Number(0), gamspy.math.sqr, gamspy.Sum

    def u(row: Any) -> Any:
        return total(i, H[i, row] * v[i]) + u_bias[row]

    law_row = gamspy.Equation(container, "law_row", domain=k, type="nonbinding")
    groups = K.group_size.size
    if not groups:
        law_row[k] = u(k) == zero
        matches[law_row] = r
        return
    members, normals = _groups(K)
    labels = gams_session.labels
    g = gamspy.Set(container, "groups", records=labels(groups))
    e = gamspy.Alias(container, "e", alias_with=k)
    member = gamspy.Set(container, "member", domain=[g, k], records=members)
    normal = gamspy.Set(container, "normal", domain=[g, k], records=normals)
    mu = gamspy.Parameter(container, "mu", domain=g, records=gams_session.records(K.coefficient))
    sigma = gamspy.Variable(container, "sigma", type="positive", domain=g, records={"level": np.ones(groups)})
    tangents = {row for _, row in members}
    plain = gamspy.Set(container, "plain", domain=k, records=[a for a in labels(K.size) if a not in tangents])
    closing = u(k)
    if law == "relaxed":
        speed = gamspy.math.sqrt(total(e.where[member[g, e]], sqr(u(e))) + SMOOTHING**2) - SMOOTHING
        closing = closing - total(g.where[normal[g, k]], mu[g] * speed)
    pressed = mu[g] * total(e.where[normal[g, e]], r[e])
    friction = total(g.where[member[g, k]], pressed * u(k) + sigma[g] * r[k])
    law_row[k] = closing.where[plain[k]] + friction == zero
    matches[law_row] = r
    cone = gamspy.Equation(container, "cone", domain=g)
    cone[g] = sqr(pressed) - total(k.where[member[g, k]], sqr(r[k])) >= zero
    matches[cone] = sigma


def _groups(K: ProductSet) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the components of every group of the friction cones, and their normals."""
    block = K.group_owner
    spans = enumerate(zip(group_starts(K).tolist(), K.group_size.tolist(), strict=True))
    members = [(str(g), str(row)) for g, (first, size) in spans for row in range(first, first + size)]
    return members, [(str(g), str(K.offset[b])) for g, b in enumerate(block.tolist())]


def _start(K: ProductSet, impulse: float) -> dict[str, Array]:
    """Return initial value and bounds of r, in units of impulse, shape (n,) each; normals start at 1."""
    sizes = np.diff(K.offset)
    lower, upper = np.repeat(K.lower, sizes) / impulse, np.repeat(K.upper, sizes) / impulse
    free = np.repeat(K.kind == cones.FREE, sizes)
    for members in (np.flatnonzero(free), np.array([int(row) for _, row in _groups(K)[0]], int)):
        lower[members], upper[members] = -np.inf, np.inf
    level = np.where(np.isfinite(lower), np.minimum(lower + 1.0, upper), 0.0)
    return {"level": level, "lower": lower, "upper": upper}
