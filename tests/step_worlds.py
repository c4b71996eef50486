"""Small worlds whose steps have derivatives: shapes over planes, pairs of spheres, every joint, every force."""

import numpy as np

import stickslip as ss
from stickslip.mechanics.parameters import Parameters
from stickslip.state import State


def turned(p, way):
    """Quaternion p turned by the small rotation `way` in the frame of the body."""
    w = np.concatenate([[1.0], 0.5 * np.asarray(way)])
    a, b = p, w / np.linalg.norm(w)
    out = np.array(
        [
            a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
        ]
    )
    return out / np.linalg.norm(out)


def displaced(q, way):
    """q of bodies moved by displacements, 6 numbers each."""
    out = np.array(q, float).reshape(-1, 7)
    for body, d in zip(out, np.reshape(way, (-1, 6)), strict=True):
        body[:3] += d[:3]
        body[3:] = turned(body[3:], d[3:])
    return out.reshape(-1)


def displacement(q, other):
    """Displacements from q to `other`, which is close by."""
    out = []
    for a, b in zip(np.reshape(q, (-1, 7)), np.reshape(other, (-1, 7)), strict=True):
        w = a[3] * b[4:] - b[3] * a[4:] - np.cross(a[4:], b[4:])
        scalar = a[3:] @ b[3:]
        out.append(np.concatenate([b[:3] - a[:3], 2.0 * w / scalar]))
    return np.concatenate(out)


def moved_inputs(world, state, h, name, way):
    """World, state and h with `name` changed by `way`."""
    if name == "q":
        return world, State(state.t, displaced(state.q, way), state.v), h
    if name == "v":
        return world, State(state.t, state.q, state.v + way), h
    if name == "h":
        return world, state, h + float(np.ravel(way)[0])
    given = Parameters.of(world)
    value = getattr(given, name)
    return given.with_(**{name: value + np.reshape(way, value.shape)}).applied(world), state, h


def random_turn(rng, most=3.0):
    axis = rng.normal(size=3)
    return ss.rotation(axis, rng.uniform(0, most))
