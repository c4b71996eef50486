"""Detection of contacts within a compiled step: spheres by their grid, other shapes by MuJoCo's C function.

A finder is (data, q, margin) -> (found, contacts). `found` is False where Python has to decide: contacts are
too many, a normal is in doubt, or q is not finite. What few worlds need is None in the data of the others,
which compile nothing of it.
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
"""Most contacts between two shapes."""


class MujocoMemory(NamedTuple):
    """Addresses in a model and data of MuJoCo, and offsets within its contacts [bytes]."""

    function: int
    """Of `mj_collision`."""
    model: int
    """Of the model."""
    data: int
    """Of the data."""
    margin: int
    """Of the margin of detection in the model's options, a double [units]."""
    flags: int
    """Of the flags of what is disabled, an int."""
    contacts: int
    """Of the number of contacts, an int."""
    contact: int
    """Of the pointer to the first contact."""
    stride: int
    """From one contact to the next."""
    dist: int
    """Gap within a contact, a double [units]."""
    pos: int
    """Position within a contact, three doubles [units]."""
    normal: int
    """Normal within a contact, three doubles [-]."""
    geom: int
    """The two geoms within a contact, ints."""


class GeneralArrays(NamedTuple):
    """A world's shapes as MuJoCo has them; lengths in units."""

    memory: MujocoMemory
    placement: Placement
    traits: GeomTraits
    flags: int
    """What is disabled in MuJoCo."""
    single_flags: int | None
    """The same without manifolds; None without hulls and cylinders."""
    faces: Polyhedra | None
    """None where no two shapes have faces."""
    terrain: Terrain | None
    """Height fields; None without any."""
    features: ShapeFeatures | None
    """Of all shapes, where some contacts are found again by them; None without."""


class SphereArrays(NamedTuple):
    """A world's spheres and planes, as `detection/spheres.py` lays them out for the kernels of the grid."""

    elements: Elements
    levels: Levels
    grid: Grid
    pairs: Pairs
    traits: Traits
    filtered: bool
    """Whether some pairs do not touch by rule."""
    filters: Filters


@jit
def collide(m, flags):
    """MuJoCo's contacts, copied to `Touching`.   m: `MujocoMemory`."""
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
def choose(single_flags, g, given):
    """Contacts where single ones check the manifolds of hulls and cylinders; as given without such shapes."""
    if single_flags is None:
        return given
    return choose_manifolds(g.traits.shape_of.shape[0], given, collide(g.memory, single_flags))


@jit
def with_faces(faces, g, given, within):
    """Contacts of faces that lie on each other found again in double precision; as given without faces."""
    if faces is None:
        return given
    return face_contacts(given, faces, within, g.placement)


@jit
def refined(features, contacts, q):
    """Whether no normal is in doubt, with contacts found again by their features; as they are without any."""
    if features is None:
        return True
    left = refine(contacts, features, q)
    return doubtful(contacts, left, features).shape[0] == 0


@jit
def on_terrain(terrain, g, given, within):
    """(whether there is room, contacts) with those of height fields set right; as given without fields."""
    if terrain is None:
        return True, given
    given, full = field_contacts(given, terrain, within, g.placement)
    return full < 0, given


@jit
def find_shapes(g, q, margin):
    """Finder of shapes by MuJoCo; compiled for those that a world has."""
    within = max(margin, 0.0) / g.traits.unit
    bad = place_geoms(q.reshape(-1), g.placement)
    write_double(g.memory.margin, within)
    given = choose(g.single_flags, g, collide(g.memory, g.flags))
    few, given = on_terrain(g.terrain, g, with_faces(g.faces, g, given, within), within)
    contacts, full = translate(given, g.traits, margin, SLOTS)
    good = refined(g.features, contacts, q)
    return bad < 0 and few and full < 0 and good, contacts


@jit
def among_spheres(s, q, margin):
    """(number of pairs that are near, contacts) of spheres and planes; none where the room for pairs, which
    is more than their number, is too small.   s: `SphereArrays`; q (7 n,)."""
    count = 0
    if s.levels.member.shape[0] > 0:
        count = find_pairs(q, margin, s.elements, s.levels, s.grid, s.pairs.pair)
    if count >= s.pairs.pair.shape[0]:
        return count, empty_contacts(0)
    kept = sift(s.pairs.pair, count, s.elements.body, s.filters) if s.filtered else count
    nc = order(s.pairs, kept) if kept > 0 else 0
    contacts = empty_contacts(nc)
    if nc > 0:
        write_contacts(s.pairs, s.elements, s.grid, s.traits, SLOTS, 0, s.elements.body.shape[0], contacts)
    return count, contacts


@jit
def find_spheres(s, q, margin):
    """Finder of worlds of spheres and planes."""
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
    """The contacts of both, sorted by id."""
    n, m = a.id.shape[0], b.id.shape[0]
    out, key = empty_contacts(n + m), np.empty(n + m, np.int64)
    key[:n], key[n:] = a.id, b.id
    places = order_of(key)
    for c in range(n + m):
        i = places[c]
        if i < n:
            copy_contact(a, i, out, c)
        else:
            copy_contact(b, i - n, out, c)
    return out


@jit
def find(finder, shapes, spheres, q, margin):
    """(found, contacts) of a finder and its data; spheres: `SphereArrays` where a world has spheres beside
    other shapes, else None."""
    found, contacts = finder(shapes, q, margin)
    if spheres is not None:
        fine, others = find_spheres(spheres, q, margin)
        found, contacts = found and fine, joined(contacts, others)
    return found, contacts
