"""Independent dense implementation of the equations of a step, as a reference for `problem/step_problem.py`.

Only names are shared: rotations are matrices, gaps and joint errors are implemented separately, every
derivative is a complex step (Squire & Trapp 1998), and the solver is a simple interior point: Newton's method
on the equations with κ, which decreases by a constant factor, without predictor, scaling or sparsity.
"""

from collections.abc import Callable

import numpy as np

from stickslip.problem.step_problem import LINEARISED, POINT_PLANE, StepProblem

FIXED, BALL, HINGE, SLIDER, CYLINDRICAL, DISTANCE = range(6)
TINY = 1e-30


def hat(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def rotation(p):
    w, x, y, z = p
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def cayley(a):
    """cay(a) = (I - â/2)⁻¹ (I + â/2)."""
    return np.linalg.solve(np.eye(3) - 0.5 * hat(a), np.eye(3) + 0.5 * hat(a))


def momentum(J, spin, h):
    l = J @ spin  # noqa: E741
    return l + 0.5 * h * np.cross(spin, l) + 0.25 * h * h * (spin @ l) * spin


class Reference:
    """A step problem as functions of dense unknowns."""

    def __init__(self, problem: StepProblem):
        self.problem = problem
        self.moving = np.flatnonzero(problem.row >= 0)
        self.nv = 6 * self.moving.size
        self.places = [(q[:3].copy(), rotation(q[3:])) for q in problem.q]
        c, j = problem.contacts, problem.joints
        self.normal_rows = [self.slope(lambda z, i=i: np.array([self.gap(z, i)])) for i in range(c.gap.size)]
        self.slips = [self.slip_rows(i) for i in range(c.gap.size)]
        self.parts = [part for k in range(j.kind.size) for part in self.joint_parts(k)]
        self.part_rows = [self.slope(value) for _, value, _ in self.parts]

    # Positions of bodies and their derivatives.

    def moved(self, v, h):
        """Return (x, R) of all bodies after moving with v (n, 6) for the time h."""
        return [(x + h * w[:3], R @ cayley(h * w[3:])) for (x, R), w in zip(self.places, v, strict=True)]

    def whole(self, v):
        """Return the velocities of all bodies from those of the moving ones."""
        out = np.array(self.problem.v, dtype=np.asarray(v).dtype)
        for b in self.moving:
            out[b] = v[6 * self.problem.row[b] : 6 * self.problem.row[b] + 6]
        return out

    def slope(self, value: Callable):
        """Return the derivative at the start by the velocities of all bodies, shape (m, n, 6)."""
        n, columns = len(self.places), []
        for k in range(6 * n):
            v = np.zeros(6 * n, complex)
            v[k] = 1j * TINY
            columns.append(np.atleast_1d(value(self.moved(v.reshape(n, 6), 1.0))).imag / TINY)
        return np.stack(columns, axis=-1).reshape(-1, n, 6)

    def gap(self, z, i):
        touching, c = self.problem.contacts, self.problem.contacts.forms
        a, b = c.body[i]
        first = z[a][0] + z[a][1] @ c.point[i, 0]
        second = z[b][0] + z[b][1] @ c.point[i, 1]
        if c.kind[i] == POINT_PLANE:
            return (z[b][1] @ c.normal[i]) @ (first - second) - c.radius[i, 0]
        if c.kind[i] == LINEARISED:
            return touching.gap[i] + touching.frame[i, 0] @ (first - second)
        d = first - second
        return np.sqrt(d @ d) - c.radius[i].sum()

    def slip_rows(self, i):
        """Return coefficient and rows (k, n, 6) at the start of every friction group of a contact."""
        c, forms, model = self.problem.contacts, self.problem.contacts.forms, self.problem.model
        a, b = forms.body[i]
        point = np.array(
            [self.places[s][0] + self.places[s][1] @ forms.point[i, k] for k, s in enumerate((a, b))]
        )
        if forms.kind[i] != LINEARISED:
            point[:] = point[0] - forms.radius[i, 0] * c.frame[i, 0]
        slides, turns = (np.zeros((3, len(self.places), 6)) for _ in range(2))
        for k, (body, sign) in enumerate(((a, 1.0), (b, -1.0))):
            x, R = self.places[body]
            slides[:, body, :3] += sign * np.eye(3)
            slides[:, body, 3:] -= sign * hat(point[k] - x) @ R
            turns[:, body, 3:] += sign * R
        n, t = c.frame[i, 0], c.frame[i, 1:]
        groups = [(c.law[i, 0], np.tensordot(t, slides, 1))]
        if c.law[i, 1] > 0.0:
            groups.append((c.law[i, 1], np.tensordot(t, turns, 1)))
        if c.law[i, 2] > 0.0:
            groups.append((c.law[i, 2], np.tensordot(n[None], turns, 1)))
        return [(0.0 if model == "impact" else mu, rows) for mu, rows in groups]

    # Joints.

    def side(self, z, k, side):
        """Return point and axes (columns) of a joint on one of its bodies."""
        j = self.problem.joints
        b = j.body[k, side]
        x, R = (np.zeros(3), np.eye(3)) if b < 0 else z[b]
        return x + R @ j.point[k, side], R @ j.frame[k, side].T

    def joint_parts(self, k):
        """Return the parts of joint k: (kind, function of (x, R) of all bodies, largest impulse).

        Kinds are `hold` (equalities), `stop` (limits) and `dry` (friction).
        """
        j = self.problem.joints
        kind, parts = j.kind[k], []
        rope = kind == DISTANCE and np.isfinite([j.lower[k, 0], j.upper[k, 0]]).any()
        if not rope:
            parts.append(("hold", lambda z: self.error(z, k), 0.0))
        for c, leaves in enumerate((kind in (SLIDER, CYLINDRICAL) or rope, kind in (HINGE, CYLINDRICAL))):
            if not leaves:
                continue
            if np.isfinite(j.lower[k, c]):
                parts.append(
                    (
                        "stop",
                        lambda z, c=c: self.free_coordinate(z, k, c) - j.lower[k, c] - j.bounce[k, c, 0],
                        0.0,
                    )
                )
            if np.isfinite(j.upper[k, c]):
                parts.append(
                    (
                        "stop",
                        lambda z, c=c: j.upper[k, c] - self.free_coordinate(z, k, c) - j.bounce[k, c, 1],
                        0.0,
                    )
                )
            if j.friction[k, c] > 0.0:
                parts.append(("dry", lambda z, c=c: self.free_coordinate(z, k, c), j.friction[k, c]))
        return parts

    def error(self, z, k):
        kind = self.problem.joints.kind[k]
        (P, A), (Q, B) = self.side(z, k, 0), self.side(z, k, 1)
        d = P - Q
        if kind == DISTANCE:
            return np.array([np.sqrt(d @ d) - self.problem.joints.length[k]])
        place = d if kind in (FIXED, BALL, HINGE) else B[:, 1:].T @ d
        S = B.T @ A
        if kind == BALL:
            return place
        if kind in (HINGE, CYLINDRICAL):
            return np.concatenate([place, [-S[2, 0], S[1, 0]]])
        w = np.sqrt(1.0 + np.trace(S))  # twice the scalar part of the quaternion
        return np.concatenate(
            [place, np.array([S[2, 1] - S[1, 2], S[0, 2] - S[2, 0], S[1, 0] - S[0, 1]]) / w]
        )

    def free_coordinate(self, z, k, c):
        """Return the free coordinate of a joint: slide (c = 0) or angle (c = 1)."""
        j = self.problem.joints
        (P, A), (Q, B) = self.side(z, k, 0), self.side(z, k, 1)
        d = P - Q
        if c == 0:
            return np.sqrt(d @ d) if j.kind[k] == DISTANCE else B[:, 0] @ d
        cosine, sine = B[:, 1] @ A[:, 1], B[:, 2] @ A[:, 1]
        angle = 2.0 * np.arctan(sine / (np.sqrt(cosine * cosine + sine * sine) + cosine))
        low, high = j.lower[k, 1], j.upper[k, 1]
        if np.isfinite([low, high]).all():
            angle = angle + 2.0 * np.pi * np.floor((0.5 * (low + high) - angle.real) / (2.0 * np.pi) + 0.5)
        return angle

    # The unknowns: v; of contacts γ, s and of each group b, η; of joints λ, or γ, s, or b, η.

    def guess(self):
        x = [self.problem.v[b] for b in self.moving[np.argsort(self.problem.row[self.moving])]]
        for groups in self.slips:
            x.append([1.0, 1.0])
            for mu, rows in groups:
                x.append([*np.zeros(len(rows)), 1.0] if mu > 0.0 else [])
        for role, value, _ in self.parts:
            x.append(np.zeros(np.atleast_1d(value(self.places)).size) if role == "hold" else [1.0, 1.0])
            if role == "dry":
                x[-1] = [0.0, 1.0]
        return np.concatenate([np.asarray(part, float) for part in x])

    def equations(self, x, kappa):
        """Return residuals, and pairs (a, |b|) for which a > |b| must hold."""
        p, at, out, inside = self.problem, self.nv, [], []
        v = self.whole(x[: self.nv])
        end, push = self.moved(v, p.h), np.zeros((len(self.places), 6), x.dtype)

        def take(k):
            nonlocal at
            at += k
            return x[at - k : at]

        for i, groups in enumerate(self.slips):
            y, s = take(2)
            push += y * self.normal_rows[i][0]
            gap = self.gap(end, i)
            if p.contacts.forms.kind[i] == LINEARISED:
                gap = p.contacts.gap[i] + p.h * np.tensordot(self.normal_rows[i][0], v, 2)
            out += [y * s - kappa, s - (gap - p.contacts.bounce[i])]
            inside += [(y, 0.0), (s, 0.0)]
            for mu, rows in groups:
                if mu == 0.0:
                    continue
                b, (eta,) = take(len(rows)), take(1)
                u = np.tensordot(rows, v, 2)
                push += np.tensordot(b, rows, 1)
                out += [mu * y * eta + b @ u - kappa, *(mu * y * u + eta * b)]
                inside += [(mu * y, np.sqrt(b @ b)), (eta, np.sqrt(u @ u))]
        for (role, value, largest), rows in zip(self.parts, self.part_rows, strict=True):
            if role == "hold":
                push += np.tensordot(take(len(rows)), rows, 1)
                out += [*(value(end) / p.h)]
                continue
            r, s = take(2)
            push += r * rows[0]
            if role == "stop":
                out += [r * s - kappa, s - value(end)]
                inside += [(r, 0.0), (s, 0.0)]
            else:
                u = np.tensordot(rows[0], v, 2)
                out += [largest * s + r * u - kappa, largest * u + s * r]
                inside += [(largest, abs(r.real)), (s, abs(u.real))]
        for b in self.moving[np.argsort(p.row[self.moving])]:
            out += [*(p.mass[b] * v[b, :3] - p.p[b, :3] - push[b, :3])]
            out += [*(momentum(p.J[b], v[b, 3:], p.h) - p.p[b, 3:] - push[b, 3:])]
        return np.array(out), [(np.real(a), np.real(b)) for a, b in inside]

    def solve(self, kappa=1e-13, factor=0.1):
        """Solve the equations at `kappa` nearly to rounding."""
        x, k = self.guess(), 0.1
        while True:
            for _ in range(50):
                F, inside = self.equations(x, k)
                if np.abs(F).max() < 0.1 * k or (k == kappa and np.abs(F).max() < 1e-12):
                    break
                jacobian = np.stack(
                    [self.equations(x + 1j * TINY * e, k)[0].imag / TINY for e in np.eye(x.size)], axis=1
                )
                dx = np.linalg.lstsq(jacobian, -F, rcond=1e-14)[0]
                step = 1.0
                while not all(
                    a1 - b1 > 0.01 * (a0 - b0)
                    for (a0, b0), (a1, b1) in zip(inside, self.equations(x + step * dx, k)[1], strict=True)
                    if a0 > b0
                ):
                    step *= 0.7
                    if step < 1e-12:
                        raise AssertionError("the reference is stuck")
                x = x + step * dx
            if k == kappa:
                return x
            k = max(factor * k, kappa)

    def unknowns(self, v, r, slack):
        """Return x from velocities, impulses and slacks in the order of a `StepPoint`."""
        x, at = [*v], 0
        for groups in self.slips:
            x += [r[at], slack[at]]
            at += 1
            for mu, rows in groups:
                x += [*r[at : at + len(rows)], slack[at]] if mu > 0.0 else []
                at += len(rows)
        for (role, _, _), rows in zip(self.parts, self.part_rows, strict=True):
            x += [*r[at : at + len(rows)]] if role == "hold" else [r[at], slack[at]]
            at += len(rows)
        return np.array(x)

    def impulses(self, x):
        """Return r from x in the order of `step_tangent`: normal and groups of each contact, then joints."""
        at, r = self.nv, []
        for groups in self.slips:
            r.append(x[at])
            at += 2
            for mu, rows in groups:
                r += [*x[at : at + len(rows)]] if mu > 0.0 else [0.0] * len(rows)
                at += len(rows) + 1 if mu > 0.0 else 0
        for (role, _, _), rows in zip(self.parts, self.part_rows, strict=True):
            size = len(rows)
            r += [*x[at : at + size]]
            at += size if role == "hold" else 2
        return np.array(r)
