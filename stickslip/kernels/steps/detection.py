"""Contact detection within a compiled step: spheres with their grid, other shapes with MuJoCo's C function.

A finder is a function (data, q, margin) -> (success, contacts). `success` is False if Python has to decide:
there are too many contacts, a normal is in doubt, or q is not finite. Optional parts of the data are None in
worlds that do not need them; then the kernels for them are not compiled.
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.bodies.contacts import (
    GeomTraits,
    Placement,
    choose_manifolds,
    copy_contact,
    empty_contacts,
    order_of,
    place_geoms,
    room_for,
    translate,
)
from stickslip.kernels.bodies.faces import Polyhedra, face_contacts
from stickslip.kernels.bodies.features import ShapeFeatures
from stickslip.kernels.bodies.fields import Terrain, field_contacts
from stickslip.kernels.bodies.grid import (
    Elements,
    Filters,
    Grid,
    Levels,
    Pairs,
    Traits,
    find_pairs,
    order,
    sift,
    write_contacts,
)
from stickslip.kernels.bodies.refined import doubtful, refine
from stickslip.kernels.jit import jit
from stickslip.kernels.steps.addresses import (
    call_with_two,
    read_address,
    read_double,
    read_int,
    write_double,
    write_int,
)

SLOTS = 64
"""Largest number of contacts between two shapes."""


class MujocoMemory(NamedTuple):
    """Addresses of members of MuJoCo's model and data, and byte offsets of members of mjContact."""

    function: int
    """Address of `mj_collision`."""
    model: int
    """Address of the mjModel."""
    data: int
    """Address of the mjData."""
    margin: int
    """Address of the detection margin in the model's options, a double [units]."""
    flags: int
    """Address of the flags of disabled features, an int."""
    contacts: int
    """Address of the number of contacts, an int."""
    contact: int
    """Address of the pointer to the first contact."""
    stride: int
    """Size of an mjContact [bytes]."""
    dist: int
    """Offset of the gap, a double [units]."""
    pos: int
    """Offset of the position, three doubles [units]."""
    normal: int
    """Offset of the normal, three doubles [-]."""
    geom: int
    """Offset of the two geoms, ints."""


class GeneralArrays(NamedTuple):
    """Shapes of a world that MuJoCo detects contacts of; lengths in units."""

    memory: MujocoMemory
    placement: Placement
    traits: GeomTraits
    flags: int
    """Flags of MuJoCo's disabled features."""
    single_flags: int | None
    """The same flags with single contacts instead of manifolds; None without hulls and cylinders."""
    faces: Polyhedra | None
    """Shapes with faces; None if fewer than two have faces."""
    terrain: Terrain | None
    """Height fields; None if there are none."""
    features: ShapeFeatures | None
    """Features of all shapes, if some contacts are recomputed from them; else None."""


class SphereArrays(NamedTuple):
    """Spheres and planes of a world for the kernels of the grid, as `detection/spheres.py` prepares them."""

    elements: Elements
    levels: Levels
    grid: Grid
    pairs: Pairs
    traits: Traits
    filtered: bool
    """Whether some pairs are excluded from contact."""
    filters: Filters


@jit
def collide(m, flags):
    """Run MuJoCo's collision detection; return a copy of its contacts, a `Touching`.   m: `MujocoMemory`."""
    write_int(m.flags, np.int32(flags))
    call_with_two(m.function, m.model, m.data)
    n, first = read_int(m.contacts), read_address(m.contact)
    out = room_for(np.int64(n))
    for k in range(n):
        at = first + k * m.stride
        out.dist[k] = read_double(at + m.dist)
        for i in range(3):
            out.pos[k, i] = read_double(at + m.pos + 8 * i)
            out.normal[k, i] = read_double(at + m.normal + 8 * i)
        for i in range(2):
            out.geom[k, i] = read_int(at + m.geom + 4 * i)
    return out


@jit
def choose(single_flags, g, touching):
    """Return contacts with the manifolds of hulls and cylinders checked against single contacts.

    Worlds without such shapes get the contacts unchanged.
    """
    if single_flags is None:
        return touching
    return choose_manifolds(g.traits.shape_of.shape[0], touching, collide(g.memory, single_flags))


@jit
def with_faces(faces, g, touching, within):
    """Return contacts with those of faces that lie on each other recomputed in double precision."""
    if faces is None:
        return touching
    return face_contacts(touching, faces, within, g.placement)


@jit
def refined(features, contacts, q):
    """contacts <- contacts recomputed from features of shapes. Return False if a normal is in doubt."""
    if features is None:
        return True
    remaining = refine(contacts, features, q)
    return doubtful(contacts, remaining, features).shape[0] == 0


@jit
def on_terrain(terrain, g, touching, within):
    """Return (success, contacts) with the contacts of height fields replaced; fails if there are too many."""
    if terrain is None:
        return True, touching
    touching, full = field_contacts(touching, terrain, within, g.placement)
    return full < 0, touching


@jit
def find_shapes(g, q, margin):
    """Finder of contacts of general shapes with MuJoCo.   g: `GeneralArrays`."""
    within = max(margin, 0.0) / g.traits.unit
    bad = place_geoms(q.reshape(-1), g.placement)
    write_double(g.memory.margin, within)
    touching = choose(g.single_flags, g, collide(g.memory, g.flags))
    fits, touching = on_terrain(g.terrain, g, with_faces(g.faces, g, touching, within), within)
    contacts, full = translate(touching, g.traits, margin, SLOTS)
    certain = refined(g.features, contacts, q)
    return bad < 0 and fits and full < 0 and certain, contacts


@jit
def among_spheres(s, q, margin):
    """Return (number of near pairs, contacts) of spheres and planes.   s: `SphereArrays`; q (7 n,).

    There are no contacts if the number of near pairs reaches the size of the buffer for pairs.
    """
    count = 0
    if s.levels.member.shape[0] > 0:
        count = find_pairs(q, margin, s.elements, s.levels, s.grid, s.pairs.pair)
    if count >= s.pairs.pair.shape[0]:
        return count, empty_contacts(0)
    count_kept = sift(s.pairs.pair, count, s.elements.body, s.filters) if s.filtered else count
    nc = order(s.pairs, count_kept) if count_kept > 0 else 0
    contacts = empty_contacts(nc)
    if nc > 0:
        write_contacts(s.pairs, s.elements, s.grid, s.traits, SLOTS, 0, s.elements.body.shape[0], contacts)
    return count, contacts


@jit
def find_spheres(s, q, margin):
    """Finder of contacts of spheres and planes.   s: `SphereArrays`."""
    finite = True
    for i in range(q.shape[0]):
        for k in range(7):
            finite = finite and abs(q[i, k]) < np.inf
    if not finite:
        return False, empty_contacts(0)
    count, contacts = among_spheres(s, q.reshape(-1), margin)
    return count < s.pairs.pair.shape[0], contacts


@jit
def joined(a, b):
    """Return the contacts of both sets, sorted by id."""
    n, m = a.id.shape[0], b.id.shape[0]
    out, key = empty_contacts(n + m), np.empty(n + m, np.int64)
    key[:n], key[n:] = a.id, b.id
    sequence = order_of(key)
    for c in range(n + m):
        i = sequence[c]
        if i < n:
            copy_contact(a, i, out, c)
        else:
            copy_contact(b, i - n, out, c)
    return out


@jit
def find(finder, shapes, spheres, q, margin):
    """Return (success, contacts) of a finder and its data `shapes`.

    spheres: `SphereArrays` if a world has spheres besides other shapes, else None.
    """
    success, contacts = finder(shapes, q, margin)
    if spheres is not None:
        spheres_success, sphere_contacts = find_spheres(spheres, q, margin)
        success, contacts = success and spheres_success, joined(contacts, sphere_contacts)
    return success, contacts
