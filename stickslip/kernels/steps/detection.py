"""Detection of contacts within a compiled step: spheres by their grid, other shapes by MuJoCo's C function.

A finder is (data, q, margin) -> (found, contacts). `found` is False where Python has to decide: contacts are
too many, a normal is in doubt, or q is not finite. Finders that few worlds need are functions of their own,
so that only these compile them.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.kernels.bodies.contacts import choose_manifolds, order_of, place_geoms, translate
from stickslip.kernels.bodies.faces import face_contacts
from stickslip.kernels.bodies.fields import field_contacts
from stickslip.kernels.bodies.grid import find_pairs, order, sift, write_contacts
from stickslip.kernels.bodies.layout import Contacts
from stickslip.kernels.jit import jit
from stickslip.kernels.steps.addresses import (
    call_with_two,
    read_address,
    read_double,
    read_int,
    write_double,
    write_int,
)
from stickslip.state import Array, IntArray

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
    placement: tuple[Any, ...]
    """Arguments of `place_geoms` after q."""
    shape_of: IntArray
    """Shape of each geom [-], shape (ng,)."""
    search: IntArray
    """As `translate` has it [-], shape (ng,)."""
    body: IntArray
    """Body of each shape [-], shape (ns,)."""
    material: IntArray
    """Material of each shape [-], shape (ns,)."""
    laws: Array
    """mu, mu_roll, mu_spin, e of pairs of materials [-, m, m, -], shape (nm, nm, 4)."""
    unit: float
    """Length of a unit [m]."""
    flags: int
    """What is disabled in MuJoCo."""
    single_flags: int
    """The same without manifolds."""
    faces: tuple[Any, ...]
    """Polyhedra as `face_contacts` takes them."""
    terrain: tuple[Any, ...] | None
    """Height fields: `fields`, `solids`, `flat` and `most` of `field_contacts`; None without any."""


class SphereArrays(NamedTuple):
    """A world's spheres and planes, as `detection/spheres.py` lays them out for the kernels of the grid."""

    elements: tuple[Any, ...]
    levels: tuple[Any, ...]
    planes: tuple[Any, ...]
    work: tuple[Any, ...]
    pairs: NDArray[np.int32]
    """Room for pairs [-], shape (most, 2)."""
    begin: NDArray[np.int32]
    """Room for the first pair of each [-], shape (n + 1,)."""
    end: NDArray[np.int32]
    """Room for the end of the pairs of each [-], shape (n,)."""
    first: NDArray[np.int32]
    """Room for the first of each pair [-], shape (most,)."""
    second: NDArray[np.int32]
    """Room for the second of each pair [-], shape (most,)."""
    which: IntArray
    """Place among the planes, -1 for spheres [-], shape (n,)."""
    radius: Array
    """0 for planes [m], shape (n,)."""
    traits: tuple[Any, ...]
    filtered: bool
    """Whether some pairs do not touch by rule."""
    filters: tuple[Any, ...]


@jit
def room(nc):
    """`Contacts` of nc contacts, not filled."""
    return Contacts(
        np.empty(nc, np.int64), np.empty((nc, 2), np.int64), np.empty((nc, 2), np.int64), np.empty((nc, 3)),
        np.empty((nc, 3, 3)), np.empty(nc), np.empty((nc, 4)),
    )  # fmt: skip


@jit
def collide(m, flags):
    """(dist (n,), pos, normal (n, 3), geom (n, 2)) of MuJoCo's contacts, copied.   m: `MujocoMemory`."""
    write_int(m.flags, np.int32(flags))
    call_with_two(m.function, m.model, m.data)
    n, first = read_int(m.contacts), read_address(m.contact)
    dist, pos, normal, geom = np.empty(n), np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 2), np.int64)
    for k in range(n):
        at = first + k * m.stride
        dist[k] = read_double(at + m.dist)
        for i in range(3):
            pos[k, i], normal[k, i] = read_double(at + m.pos + 8 * i), read_double(at + m.normal + 8 * i)
        for i in range(2):
            geom[k, i] = read_int(at + m.geom + 4 * i)
    return dist, pos, normal, geom


@jit
def place_and_collide(g, q, margin):
    """(whether q is finite, MuJoCo's contacts)."""
    body, offset, turn, per_unit, body_x, body_R, geom_x, geom_R = g.placement
    bad = place_geoms(q.reshape(-1), body, offset, turn, per_unit, body_x, body_R, geom_x, geom_R)
    write_double(g.memory.margin, max(margin, 0.0) / g.unit)
    return bad < 0, collide(g.memory, g.flags)


@jit
def translated(g, given, margin):
    """(found, contacts) from MuJoCo's."""
    dist, pos, normal, geom = given
    found, doubt, full = translate(
        dist, pos, normal, geom, g.shape_of, g.search, g.body, g.material, g.laws, g.unit, margin, SLOTS
    )
    ids, shape, bodies, point, frame, gap, law = found
    return doubt.shape[0] == 0 and full < 0, Contacts(ids, shape, bodies, point, frame, gap, law)


@jit
def with_faces(g, given, margin):
    """Contacts of faces that lie on each other, found again in double precision."""
    dist, pos, normal, geom = given
    box, face_start, normals, corner_start, corners = g.faces
    return face_contacts(
        dist, pos, normal, geom, box, face_start, normals, corner_start, corners,
        max(margin, 0.0) / g.unit, g.placement[6], g.placement[7],
    )  # fmt: skip


@jit
def on_terrain(g, given, margin):
    """(whether there is room, contacts) with those of height fields set right."""
    dist, pos, normal, geom = given
    fields, solids, flat, most = g.terrain
    dist, pos, normal, geom, full = field_contacts(
        dist, pos, normal, geom, fields, solids, max(margin, 0.0) / g.unit, flat, most, g.placement[6],
        g.placement[7],
    )  # fmt: skip
    return full < 0, (dist, pos, normal, geom)


@jit
def find_plain(g, q, margin):
    """Finder of shapes that touch in formulas."""
    finite, given = place_and_collide(g, q, margin)
    good, contacts = translated(g, given, margin)
    return finite and good, contacts


@jit
def find_boxes(g, q, margin):
    """Finder of worlds with several cuboids."""
    finite, given = place_and_collide(g, q, margin)
    good, contacts = translated(g, with_faces(g, given, margin), margin)
    return finite and good, contacts


@jit
def place_and_choose(g, q, margin):
    """`place_and_collide`, where single contacts check the manifolds of hulls and cylinders."""
    finite, given = place_and_collide(g, q, margin)
    dist, pos, normal, geom = given
    dist_1, pos_1, normal_1, geom_1 = collide(g.memory, g.single_flags)
    chosen = choose_manifolds(g.shape_of.shape[0], dist, pos, normal, geom, dist_1, pos_1, normal_1, geom_1)
    return finite, with_faces(g, chosen, margin)


@jit
def find_hulls(g, q, margin):
    """Finder of worlds with hulls or cylinders."""
    finite, given = place_and_choose(g, q, margin)
    good, contacts = translated(g, given, margin)
    return finite and good, contacts


@jit
def find_terrain(g, q, margin):
    """Finder of worlds with height fields."""
    finite, given = place_and_collide(g, q, margin)
    few, given = on_terrain(g, with_faces(g, given, margin), margin)
    good, contacts = translated(g, given, margin)
    return finite and few and good, contacts


@jit
def find_hulls_on_terrain(g, q, margin):
    """Finder of worlds with height fields, and hulls or cylinders."""
    finite, given = place_and_choose(g, q, margin)
    few, given = on_terrain(g, given, margin)
    good, contacts = translated(g, given, margin)
    return finite and few and good, contacts


@jit
def find_spheres(s, q, margin):
    """Finder of worlds of spheres and planes."""
    finite = True
    for i in range(q.shape[0]):
        for k in range(7):
            finite = finite and abs(q[i, k]) < np.inf
    count = 0
    if finite and s.levels[0].shape[0] > 0:
        count = find_pairs(q.reshape(-1), margin, s.elements, s.levels, s.planes, s.work, s.pairs)
    if not finite or count >= s.pairs.shape[0]:
        return False, room(0)
    if s.filtered:
        body, group, collides, start, partners = s.filters
        count = sift(s.pairs, count, body, group, collides, start, partners)
    nc = order(s.pairs, count, s.begin, s.end, s.first, s.second) if count > 0 else 0
    contacts = room(nc)
    if nc > 0:
        arrays = (
            contacts.id, contacts.shape, contacts.body, contacts.point, contacts.frame, contacts.gap,
            contacts.law,
        )  # fmt: skip
        write_contacts(s.begin, s.second, s.which, s.radius, s.work[0], s.work[1], s.traits, SLOTS, arrays)
    return True, contacts


@jit
def joined(a, b):
    """The contacts of both, sorted by id."""
    n, m = a.id.shape[0], b.id.shape[0]
    out, key = room(n + m), np.empty(n + m, np.int64)
    key[:n], key[n:] = a.id, b.id
    places = order_of(key)
    for c in range(n + m):
        i = places[c]
        if i < n:
            _copy(a, i, out, c)
        else:
            _copy(b, i - n, out, c)
    return out


@jit
def _copy(given, i, out, c):
    """Row c of `out` <- row i."""
    out.id[c], out.gap[c] = given.id[i], given.gap[i]
    for k in range(2):
        out.shape[c, k], out.body[c, k] = given.shape[i, k], given.body[i, k]
    for k in range(3):
        out.point[c, k] = given.point[i, k]
        for d in range(3):
            out.frame[c, k, d] = given.frame[i, k, d]
    for k in range(4):
        out.law[c, k] = given.law[i, k]


@jit
def find(finder, shapes, spheres, q, margin):
    """(found, contacts) of a finder and its data; spheres: `SphereArrays` where a world has spheres beside
    other shapes, else None."""
    found, contacts = finder(shapes, q, margin)
    if spheres is not None:
        fine, others = find_spheres(spheres, q, margin)
        found, contacts = found and fine, joined(contacts, others)
    return found, contacts
