"""The derivative of one step of a robot, by the implicit function theorem on its contact problem.

The equations (`robot_equations.py`) are linear in v⁺ and r, so that W and the law are those of the step;
`tangent.py` solves the linearised problem. In addition to the kinks of the contact laws, the scheme has
kinks:
a gap of 0 at the start, where the derivatives by q of a closing and of an overlapping contact differ;
restitution at zero approach velocity; and an inactive constraint that is about to become active.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from stickslip.gradients.robot_equations import BOUNCES, SHUT, Held, RobotEquations
from stickslip.gradients.solution_exact import DOUBT
from stickslip.gradients.solution_linear import ReducedLinearisation
from stickslip.gradients.solution_rows import Reduced
from stickslip.gradients.step import checked_kappa, checked_memory, checked_solver
from stickslip.gradients.tangent import Tangent, TangentDerivative
from stickslip.kernels import cones
from stickslip.kernels.robots.impulses import DEEPEST, NEGLIGIBLE
from stickslip.robots.robot import Robot
from stickslip.schemes import registry
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.schemes.robots import ReducedMoreauJean
from stickslip.schemes.step import Memory, Solver
from stickslip.simulation.clock import length
from stickslip.state import Array, BoolArray, ModelError, State
from stickslip.threads import single_threaded

REMEMBERED = ("key", "offset", "r", "reach", "qfrc_applied", "xfrc_applied")
"""Arrays of the memory of a step."""
STATE = ("q", "v", "act", "ctrl")
"""Inputs that are differentiated at construction, to detect kinks; other inputs are differentiated on use."""
MIXED = {"friction": "larger", "restitution": "smaller"}
"""Which coefficient of its two geoms a contact has."""


class RobotStepDerivative(TangentDerivative):
    """Derivative of one step of a robot.

    By: `q`, displacements of the start as in `mj_integratePos`, nv numbers (δθ in the frame of the body for
    ball joints, δx in the inertial frame before it for free joints), `v`, `act`, `ctrl`, `force`, an
    additional generalised force [N, N m], `h` [s], `mass` of bodies [kg] at constant inertia and centre of
    mass, `friction` of geoms, three coefficients each as in MuJoCo, `restitution` of geoms and
    `limit_restitution` of joints and tendons, whose derivative is 0 where the coefficient is. Of: `q`, `v`
    and `act` at the end, and the impulses `r` of the problem of the step, in the order of MuJoCo's
    constraints.
    """

    def __init__(self, equations: RobotEquations, tolerance: float, kappa: float, carried: bool = False):
        self._equations, self.step, self.kappa = equations, equations.step, kappa
        self.by, m = equations.shapes, equations.prepared.model
        n = equations.K.size
        self.of = {"q": (m.nv,), "v": (m.nv,), "act": (m.na,), "r": (n,)}
        self._keep, self._carried = np.arange(n), ("act",)
        self._tangent = self._linearised(tolerance)
        core, notes = self._tangent.core, [] if kappa else self._kinks(carried)
        if not self.step.solved:
            notes.append(f"the step itself failed: {self.step.fault}")
        laws = () if core is None else tuple(self._named(note) for note in core.notes)
        self.exists, self.unique = (core is None or core.exists) and not notes, core is None or core.unique
        self.notes = (*laws, *notes)
        self._matrices: dict[str, Array] = {}
        for name in STATE:
            self._matrix(name)

    def _linearised(self, tolerance: float) -> Tangent:
        """Linearise the step: compute the tangent, and the quantities that are held while inputs change."""
        # 1. The contact problem in r alone, and its solution.
        posed, base, kappa, h = self._equations, self._equations.base, self.kappa, self._equations.h
        core, r, end = None, posed.r, np.array(self.step.state.v)
        if r.size:
            W = base.J @ np.linalg.solve(base.A, base.J.T)
            problem = Reduced(posed.K, W, base.J @ base.v + base.bias)
            core = ReducedLinearisation(problem, r, tolerance, kappa, share=DOUBT)
            r = core.r
        v = base.v + np.linalg.solve(base.A, base.J.T @ r)
        # 2. The correction of positions: w and p solve its equations exactly.
        touching = self._touching() if core is not None and not kappa else np.zeros(r.size, bool)
        w, p, acting = posed.correction(end, touching)
        bears = np.isin(acting, posed.normals)
        free = np.isin(acting, np.flatnonzero(np.repeat(posed.K.kind == cones.FREE, np.diff(posed.K.offset))))
        within = np.where(free, np.abs(base.gap[acting]) <= DEEPEST, base.gap[acting] >= -DEEPEST)
        self._held = Held(v, r, end, w, p, acting, bears, within.astype(float))
        self._by_q, by_v, self._by_w = posed.chart.end_slopes(h, end, w)
        # 3. Derivatives of q⁺, and the rows of the equations.
        J = base.J[acting]
        self._shift = _shift(base.A, J)
        pulled = np.zeros((base.v.size + acting.size, v.size))
        pulled[base.v.size :] = np.where(bears[:, None], J, 0.0)
        sizes = {
            "balance": v.size, "law": r.size, "coefficient": posed.K.coefficient.size,
            "lower": len(posed.K), "upper": len(posed.K), "act": base.act.size, "q": v.size,
        }  # fmt: skip
        ends = np.cumsum([0, *sizes.values()]).tolist()
        rows = {name: slice(ends[i], ends[i + 1]) for i, name in enumerate(sizes)}
        self._closing, self._opened = posed.closing(end, w)
        by_v = self._closing @ (by_v + self._by_w @ self._shift @ pulled)
        return Tangent(v, r, base.A, base.J.T, base.J, by_v, core, rows)

    def _touching(self) -> BoolArray:
        """Components of loaded contacts and limits with gap 0 and no restitution."""
        posed = self._equations
        out = np.zeros(posed.K.size, bool)
        shut = (posed.branch == SHUT) & (np.abs(posed.base.gap[posed.normals]) <= NEGLIGIBLE)
        out[posed.normals] = shut & (posed.r[posed.normals] > 0.0)
        return out

    def _kinks(self, carried: bool) -> list[str]:
        """Return sentences about the kinks of the scheme.

        carried: within a run, where a gap of 0 remains 0 whatever changes if the step before left it loaded.
        """
        posed, core, notes = self._equations, self._tangent.core, []
        h, v, base, n = posed.h, self._tangent.v, posed.base, posed.normals
        fast = DOUBT * h * max(1e-3, float(np.abs(base.J @ v).max(initial=0.0)))
        if core is not None and n.size:
            blocks = np.searchsorted(posed.K.offset, n, side="right") - 1
            gap, before, near = base.gap[n], posed.before(), h * core.near[n]
            bears = core.presses[n]
            zero = (posed.branch != BOUNCES) & (np.abs(gap) <= np.maximum(NEGLIGIBLE, near))
            last, offset = posed.memory["key"], posed.memory["offset"][:-1].astype(np.int64)
            last = last[posed.memory["r"][offset] > 0.0]
            pressed = np.isin(4 * posed.blocks.key[blocks] + posed.blocks.what[blocks], last)
            for k in np.flatnonzero(bears & zero & ~(pressed & carried)).tolist():
                notes.append(
                    f"{posed.name_of(int(blocks[k]))} has a gap of 0 and bears: by q there is one derivative"
                    " where it overlaps and another where it gapes (taken: it overlaps); by all else there is"
                    " one"
                )
            grazes = (np.abs(h * before) <= near) | (np.abs(gap + h * before) <= near)
            for k in np.flatnonzero(bears & (posed.e > 0.0) & grazes).tolist():
                notes.append(
                    f"{posed.name_of(int(blocks[k]))} has restitution and is about to be approached, or not"
                )
        rows, gaps = posed.inactive
        if (np.abs(gaps + h * rows @ v) <= max(fast, NEGLIGIBLE)).any():
            notes.append(
                "something that takes no part in the step would touch at its end: it is about to take part"
            )
        return list(dict.fromkeys(notes))

    def _named(self, note: str) -> str:
        """Return the sentence with the number of a block replaced by its name."""
        word, _, rest = note.partition(" ")
        number, _, why = rest.partition(" ")
        known = word == "contact" and number.isdigit()
        return f"{self._equations.name_of(int(number))} {why}" if known else note

    def _effects(self, names: Iterable[str]) -> dict[str, Array]:
        return {name: self._matrix(name) for name in names}

    def _matrix(self, name: str) -> Array:
        """Return the derivatives of the equations by an input, with rows as in `Tangent.rows`."""
        if name not in self._matrices:
            posed, held, tangent = self._equations, self._held, self._tangent
            lines, bent = posed.effect(name, held)
            if not np.isfinite(lines).all():
                raise ModelError(f"the equations of the step are not finite beside this {name}")
            out = np.zeros((tangent.size, lines.shape[1]))
            before = tangent.rows["q"].start
            out[:before] = lines[:before]
            q = self._by_w @ self._shift @ lines[before:]
            if name == "q":
                q += self._by_q
            elif name == "h":
                # d/dh of q ∘ h v ∘ h w: the motion continues with v and w.
                q[:, 0] += self._by_v_over_h() @ held.end + held.w
            out[tangent.rows["q"]] = self._closing @ q
            if name == "h":
                out[tangent.rows["q"], 0] += self._opened
            self._matrices[name] = out
            self._add_notes(name, bent)
        return self._matrices[name]

    def _by_v_over_h(self) -> Array:
        """Derivative of the displacement of q⁺ by v over h, rotated by the correction [-], shape (nv, nv)."""
        posed = self._equations
        return posed.chart.end_slopes(posed.h, np.zeros(posed.base.v.size), self._held.w)[0]

    def _add_notes(self, name: str, bent: list[int]) -> None:
        """Add notes on inputs with two slopes, and on blocks that are missing for nearby inputs."""
        posed, notes = self._equations, []
        if name in MIXED and bent:
            both = ", ".join(posed.number_of(name, j) for j in bent)
            self.notes += (
                f"{both}: a contact has the {MIXED[name]} coefficient of its geoms, and these are the same:"
                " each has half of the derivative",
            )
        else:
            notes = [f"there are two slopes by {posed.number_of(name, j)}" for j in bent]
        notes += [
            f"{posed.name_of(i)} is where others take over: it is not found again beside the step"
            for i in sorted(posed.lost)
        ]
        posed.lost.clear()
        notes = [note for note in dict.fromkeys(notes) if note not in self.notes]
        self.notes += tuple(notes)
        self.exists = self.exists and not notes


def _shift(A: Array, J: Array) -> Array:
    """Return -dw by changes of the residuals A w - J' p and J w + ..., shape (nv, nv + acting).

    Impulses that are not unique have least norm.
    """
    nv, n = A.shape[0], J.shape[0]
    if not n:
        return np.zeros((nv, nv + n))
    solved = np.linalg.solve(A, np.hstack([np.eye(nv), J.T]))
    inverse, pushed = solved[:, :nv], solved[:, nv:]
    answer = np.linalg.pinv(J @ pushed, rcond=1e-10, hermitian=True)
    return -np.hstack([inverse - pushed @ answer @ J @ inverse, pushed @ answer])


def robot_derivative(
    robot: Robot | PreparedRobot, state: State | None = None, *, h: float | None, solver: Solver,
    scheme: Any = None, memory: Memory | None = None, kappa: float = 0.0,
) -> RobotStepDerivative:  # fmt: skip
    """Make a step and differentiate it.

    h       length of the step [s]; by default that of the model
    state   state at the start of the step; by default the robot's start
    """
    prepared = robot if isinstance(robot, PreparedRobot) else PreparedRobot(robot)
    chosen = registry.chosen_for_robots(scheme)
    begin = prepared.robot.start if state is None else state
    if not isinstance(begin, State):
        raise ModelError(f"state is {type(begin).__name__}; expected a State, such as robot.key('home')")
    prepared.robot.check_state(begin)
    checked_solver(solver)
    h = length("h", float(prepared.robot.model.opt.timestep) if h is None else h)
    last = chosen.begin(prepared, begin, h) if memory is None else checked_memory(memory, REMEMBERED)
    return differentiated_robot(chosen, prepared, begin, last, h, solver, checked_kappa(kappa))


@single_threaded
def differentiated_robot(
    scheme: ReducedMoreauJean, prepared: PreparedRobot, state: State, memory: Memory, h: float,
    solver: Solver, kappa: float, carried: bool = False,
) -> RobotStepDerivative:  # fmt: skip
    """Make a step and differentiate it; arguments are not checked.

    carried: whether the step is part of a run (see `RobotStepDerivative._kinks`).
    """
    step = scheme.step(prepared, state, memory, h, solver)
    equations = RobotEquations(prepared, state, memory, h, step, every=kappa > 0.0)
    tolerance = max((one.tolerance for one in step.solves), default=1e-10)
    return RobotStepDerivative(equations, tolerance, kappa, carried)
