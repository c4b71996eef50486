"""Step problems of a few bodies, for the tests of `StepProblem` and of its solvers."""

import numpy as np

from stickslip.kernels.bodies.gaps import Forms
from stickslip.kernels.bodies.layout import JointArrays
from stickslip.kernels.variational.layout import ContactArrays
from stickslip.problem.step_problem import (
    LINEARISED,
    POINT_PLANE,
    SPHERES,
    StepProblem,
)

FIXED, BALL, HINGE, SLIDER, CYLINDRICAL, DISTANCE = range(6)
ABOUT_Y = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
G = 9.81


def rotation(p):
    w, x, y, z = p
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def box_inertia(m, a, b, c):
    return m / 12.0 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])


def contact(body, point, law, kind=POINT_PLANE, normal=(0, 0, 1), radius=(0, 0)):
    return {"kind": kind, "body": body, "point": point, "law": law, "normal": normal, "radius": radius}


def corners(half, body, law, plane=-1):
    """Return the contacts of the eight corners of a box with the plane z = 0 of another body."""
    signs = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    return [contact((body, plane), [np.multiply(s, half), np.zeros(3)], law) for s in signs]


def joint(kind, body, point, **more):
    fields = {"frame": [ABOUT_Y, ABOUT_Y], "length": 0.0, "lower": [-np.inf] * 2, "upper": [np.inf] * 2}
    return {"kind": kind, "body": body, "point": point, "friction": [0.0, 0.0], **fields, **more}


def step(q, v, mass, J, contacts=(), joints=(), h=0.01, g=(0.0, 0.0, -G), model="cone", row=None, push=None):
    """Return a step problem under gravity, after steps of the same length."""
    q, v, mass, J = (np.array(x, float) for x in (q, v, mass, J))
    n, nc, nj = len(q), len(contacts), len(joints)
    p = np.zeros((n, 6)) if push is None else np.array(push, float)
    for i in range(n):
        spin = v[i, 3:]
        moment = J[i] @ spin
        p[i, :3] += mass[i] * (v[i, :3] + h * np.array(g))
        p[i, 3:] += moment - 0.5 * h * np.cross(spin, moment) + 0.25 * h * h * (spin @ moment) * spin
    column = {k: [c[k] for c in contacts] for k in ("kind", "body", "point", "normal", "radius", "law")}
    shapes = {"body": (nc, 2), "point": (nc, 2, 3), "normal": (nc, 3), "radius": (nc, 2), "law": (nc, 4)}
    arrays = {k: np.array(column[k], float).reshape(shape) for k, shape in shapes.items()}
    kind, body = np.array(column["kind"], np.int64), arrays["body"].astype(np.int64)
    places = [(x[:3], rotation(x[3:])) for x in q] + [(np.zeros(3), np.eye(3))]
    gap, frame = np.zeros(nc), np.zeros((nc, 3, 3))
    for i in range(nc):
        (x1, R1), (x2, R2) = places[body[i, 0]], places[body[i, 1]]
        apart = x1 + R1 @ arrays["point"][i, 0] - x2 - R2 @ arrays["point"][i, 1]
        n_ = apart / np.linalg.norm(apart) if kind[i] == SPHERES else arrays["normal"][i]
        n_ = R2 @ n_ if kind[i] == POINT_PLANE else n_
        gap[i] = n_ @ apart - (arrays["radius"][i].sum() if kind[i] != LINEARISED else 0.0)
        t = np.cross(n_, np.eye(3)[np.argmin(np.abs(n_))])
        t /= np.linalg.norm(t)
        frame[i] = n_, t, np.cross(n_, t)
    forms = Forms(
        kind,
        body,
        arrays["point"],
        arrays["normal"],
        np.zeros((nc, 3)),
        arrays["radius"],
        np.zeros((nc, 2, 3, 3)),
    )
    touching = ContactArrays(forms, gap, frame, arrays["law"], np.zeros(nc))
    names = ("point", "frame", "length", "lower", "upper", "friction")
    shapes = ((nj, 2, 3), (nj, 2, 3, 3), (nj,), (nj, 2), (nj, 2), (nj, 2))
    held = JointArrays(
        np.array([j["kind"] for j in joints], np.int64),
        np.array([j["body"] for j in joints], np.int64).reshape(nj, 2),
        *(np.array([j[k] for j in joints], float).reshape(s) for k, s in zip(names, shapes, strict=True)),
        np.zeros((nj, 2, 2)),
    )
    rows = np.arange(n) if row is None else np.array(row)
    return StepProblem(h, rows, q, v, mass, J, p, touching, held, model)


def box_on_plane(v=(0,) * 6, mu=0.5, half=0.1, law=None, tilt=0.0, **more):
    """Return a cube of 1 kg flat on the plane z = 0 with gravity tilted towards x."""
    law = [mu, 0, 0, 0] if law is None else law
    g = G * np.array([np.sin(tilt), 0.0, -np.cos(tilt)])
    J = box_inertia(1.0, 2 * half, 2 * half, 2 * half)
    return step([[0, 0, half, 1, 0, 0, 0]], [v], [1.0], [J], corners([half] * 3, 0, law), g=g, **more)


def chain(n, kind=HINGE, feet=True, **more):
    """Return links of 0.2 m along x, the first joined to the inertial frame, with balls at their ends on the
    plane z = 0."""
    q, joints, contacts = [], [], []
    for i in range(n):
        q.append([0.1 + 0.2 * i, 0, 0.02, 1, 0, 0, 0])
        at = [0.1, 0, 0] if i else [0, 0, 0.02]
        start = [-0.05, 0, 0] if kind == DISTANCE else [-0.1, 0, 0]
        joints.append(
            joint(kind, (i, i - 1), [start, at], **({"length": 0.05} if kind == DISTANCE else {}), **more)
        )
        if feet:
            contacts.append(contact((i, -1), [[0.1, 0, 0], [0, 0, 0]], [0.5, 0, 0, 0], radius=(0.02, 0)))
    J = box_inertia(1.0, 0.2, 0.04, 0.04)
    return step(q, np.zeros((n, 6)), np.ones(n), [J] * n, contacts, joints)


def four_bar(spin=1.0):
    """Return a four-bar linkage of links of 1 m with hinges, a redundant loop."""
    q = [[0, 0, 0.5, 1, 0, 0, 0], [0.5, 0, 1, 1, 0, 0, 0], [1, 0, 0.5, 1, 0, 0, 0]]
    v = [[0.5 * spin, 0, 0, 0, spin, 0], [spin, 0, 0, 0, 0, 0], [0.5 * spin, 0, 0, 0, spin, 0]]
    hinges = [
        joint(HINGE, (0, -1), [[0, 0, -0.5], [0, 0, 0]]),
        joint(HINGE, (1, 0), [[-0.5, 0, 0], [0, 0, 0.5]]),
        joint(HINGE, (2, 1), [[0, 0, 0.5], [0.5, 0, 0]]),
        joint(HINGE, (2, -1), [[0, 0, -0.5], [1, 0, 0]]),
    ]
    J = [box_inertia(1.0, 0.1, 0.1, 1.0), box_inertia(1.0, 1.0, 0.1, 0.1), box_inertia(1.0, 0.1, 0.1, 1.0)]
    return step(q, v, np.ones(3), J, joints=hinges)


def random_step(seed, model="cone"):
    """Return a random step: boxes in any pose, a tower of balls or boxes, or a chain, with any friction."""
    rng = np.random.default_rng(seed)
    n, h, kind_of_scene = int(rng.integers(1, 5)), 10 ** rng.uniform(-3, -1.7), seed % 4
    masses = rng.choice([1.0, 10 ** rng.uniform(0, 2)], n)

    def law():
        return [rng.choice([0, 0.1, 0.4, 0.8]), rng.choice([0, 0.01]), rng.choice([0, 0.01]), 0]

    if kind_of_scene == 3:
        arrays = chain(n, int(rng.integers(1, 6)))
        push = h * rng.normal(size=(n, 6)) * [5, 5, 5, 0.5, 0.5, 0.5]
        return StepProblem(
            arrays.h,
            arrays.row,
            arrays.q,
            arrays.v,
            arrays.mass,
            arrays.J,
            arrays.p + push,
            arrays.contacts,
            arrays.joints,
            model,
        )
    q, v, J, contacts = [], [], [], []
    for i in range(n):
        v.append(rng.normal(size=6) * rng.choice([0.0, 0.1, 2.0]))
        p = rng.normal(size=4)
        p /= np.linalg.norm(p)
        if kind_of_scene == 0:
            low = (np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) @ rotation(p).T)[
                :, 2
            ]
            q.append([float(i), 0, -0.1 * low.min() + rng.choice([0, 1e-4]), *p])
            contacts += corners([0.1] * 3, i, law())
            J.append(box_inertia(masses[i], 0.2, 0.2, 0.2))
        elif kind_of_scene == 1:
            q.append([0.02 * rng.normal(), 0.02 * rng.normal(), 0.1 + 0.2 * i, *p])
            kind, radius = (SPHERES, (0.1, 0.1)) if i else (POINT_PLANE, (0.1, 0))
            contacts.append(contact((i, i - 1), np.zeros((2, 3)), law(), kind, radius=radius))
            J.append(0.4 * masses[i] * 0.01 * np.eye(3))
        else:
            q.append([0.01 * i, 0, 0.1 + 0.2 * i, 1, 0, 0, 0])
            same, kind = law(), int(rng.choice([POINT_PLANE, LINEARISED])) if i else POINT_PLANE
            for x in (-0.1, 0.1):
                for y in (-0.1, 0.1):
                    on = [x + 0.01, y, 0.1] if i else [0, 0, 0]
                    contacts.append(contact((i, i - 1), [[x, y, -0.1], on], same, kind))
            J.append(box_inertia(masses[i], 0.2, 0.2, 0.2))
    return step(q, v, masses, J, contacts, h=h, model=model)
