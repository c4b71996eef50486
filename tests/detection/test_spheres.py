"""Spheres and planes against brute force: pairs, gaps, points, frames, filters; anywhere in space."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import stickslip.detection.spheres as spheres
from stickslip.detection.contacts import SLOTS
from stickslip.detection.spheres import SphereDetector
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.compounds import Compound
from stickslip.mechanics.shapes import Plane, Sphere
from stickslip.mechanics.world import BodyKind
from stickslip.state import ModelError


def cloud(centre, radius):
    builder = WorldBuilder()
    for i, (x, r) in enumerate(zip(centre, radius, strict=True)):
        builder.body(f"ball {i}", Sphere(float(r)), position=x)
    return builder.build()


def soup(rng, n, radius, centre):
    """Spheres alone and in pairs, planes before and after them, groups, materials and bodies kept apart."""
    builder = WorldBuilder()
    builder.material("rough", mu=0.8, e=0.25)
    names = []

    def plane(name, **how):
        pose = {"position": centre.mean(axis=0), "quaternion": rng.normal(size=4)}
        names.append(builder.body(name, Plane(), **pose, **how))

    plane("floor", fixed=True)
    for i in range(n):
        ball = Sphere(float(radius[i]))
        if i % 4 == 0:
            ball = Compound(
                (ball, (radius[i], 0, 0), (1, 0, 0, 0)),
                (Sphere(0.7 * float(radius[i])), (0, 0, 0), (1, 0, 0, 0)),
            )
        how = {"group": ("default", "ghost", "mist")[i % 3], "material": ("default", "rough")[i % 2]}
        pose = {"position": centre[i], "quaternion": rng.normal(size=4)}
        names.append(builder.body(f"ball {i}", ball, fixed=i % 7 == 3, **pose, **how))
    plane("belt", motion=((1.0, 0.0, 0.0), (0.0, 0.0, 0.0)), material="rough", group="ghost")
    builder.apart_groups("ghost", "mist")
    for first, second in zip(names[:-3:2], names[3::2], strict=False):
        builder.apart(first, second)
    return builder.build()


def brute_force(world, q, margin):
    """(first, second): gap, n, point of every contact, one by one."""
    x, turn = q.reshape(-1, 7)[:, :3], Rotation.from_quat(q.reshape(-1, 7)[:, 3:], scalar_first=True)
    shapes, filters = world.shapes, world.filters
    centre = [x[b] + turn[b].apply(shapes.position[s].copy()) for s, b in enumerate(shapes.body)]
    up = [
        (turn[b] * Rotation.from_quat(shapes.quaternion[s], scalar_first=True)).apply((0.0, 0.0, 1.0))
        for s, b in enumerate(shapes.body)
    ]
    apart = set(map(tuple, filters.apart.tolist()))
    dynamic = world.kind == BodyKind.DYNAMIC
    found = {}
    for s, one in enumerate(shapes.shape):
        for t in range(s + 1, len(shapes.shape)):
            other, b, c = shapes.shape[t], shapes.body[s], shapes.body[t]
            kept_apart = (min(b, c), max(b, c)) in apart or not filters.collide[
                shapes.group[s], shapes.group[t]
            ]
            if b == c or kept_apart or not (dynamic[b] or dynamic[c]):
                continue
            if isinstance(one, Plane):
                n = -up[s]
                gap = np.dot(centre[t] - centre[s], up[s]) - other.radius
                point = centre[t] - up[s] * (other.radius + gap / 2)
            elif isinstance(other, Plane):
                n = up[t]
                gap = np.dot(centre[s] - centre[t], up[t]) - one.radius
                point = centre[s] - up[t] * (one.radius + gap / 2)
            else:
                n = centre[s] - centre[t]
                length = np.linalg.norm(n)
                n = n / length
                gap = length - one.radius - other.radius
                point = ((centre[s] - one.radius * n) + (centre[t] + other.radius * n)) / 2
            if gap <= margin:
                found[s, t] = gap, n, point
    return found


def as_bytes(contacts):
    return [getattr(contacts, name).tobytes() for name in contacts.__slots__]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(3, 24),
    spread=st.sampled_from([0.0, 0.5, 3.0, 5.0]),
    width=st.sampled_from([0.3, 3.0, 100.0]),
    shift=st.sampled_from([0.0, -1e6, 1e6]),
    margin=st.sampled_from([-0.01, 0.0, 0.05, 2.0]),
)
def test_the_grid_finds_what_brute_force_finds(seed, n, spread, width, shift, margin):
    rng = np.random.default_rng(seed)
    radius = 10.0 ** rng.uniform(-spread, 0.0, n)
    world = soup(rng, n, radius, rng.uniform(-width, width, (n, 3)) + shift)
    contacts = SphereDetector(world).find(world.start.q, margin)
    expected = brute_force(world, world.start.q, margin)
    rounding = 1e-14 + 4e-16 * abs(shift)
    unsure = {pair for pair, (gap, _, _) in expected.items() if abs(gap - margin) <= 10 * rounding}
    found = list(map(tuple, contacts.shape.tolist()))
    assert set(expected) - unsure <= set(found) <= set(expected)
    ns, shapes, law = len(world.shapes.shape), world.shapes, world.materials
    assert (np.diff(contacts.id) > 0).all()
    assert (contacts.id == (contacts.shape[:, 0] * ns + contacts.shape[:, 1]) * SLOTS).all()
    assert (contacts.body == shapes.body[contacts.shape]).all()
    for c, pair in enumerate(found):
        gap, n, point = expected[pair]
        first, second = shapes.material[list(pair)]
        assert contacts.gap[c] == pytest.approx(gap, abs=20 * rounding)
        assert contacts.point[c] == pytest.approx(point, abs=20 * rounding + 1e-14 * abs(shift))
        assert contacts.law[c].tolist() == [
            t[first, second] for t in (law.mu, law.mu_roll, law.mu_spin, law.e)
        ]
        assert contacts.frame[c] @ contacts.frame[c].T == pytest.approx(np.eye(3), abs=4e-16 * 4)
        assert np.linalg.det(contacts.frame[c]) > 0.0
        assert contacts.frame[c, 0] == pytest.approx(n, abs=1e-9 if shift else 1e-11)


def test_the_same_contacts_in_other_memory_and_in_a_used_workspace():
    rng = np.random.default_rng(3)
    centre, radius = rng.uniform(-2, 2, (120, 3)), rng.uniform(0.05, 0.5, 120)
    world = cloud(centre, radius)
    q = world.start.q
    detector = SphereDetector(world)
    first = detector.find(q, 0.01)
    kept = as_bytes(first)
    moved = np.empty(q.size + 3)[3:]
    moved[:] = rng.permutation(q)
    moved.reshape(-1, 7)[:, 3:] = (1, 0, 0, 0)
    detector.find(moved, 5.0)
    moved[:] = q
    assert as_bytes(detector.find(moved, 0.01)) == kept
    assert as_bytes(SphereDetector(cloud(centre, radius)).find(q, 0.01)) == kept
    assert as_bytes(first) == kept, "a result must not change when the workspace is used again"


@pytest.mark.parametrize("shift", [(64.0, -128.0, 32.0), (2.0**20, -(2.0**19), -(2.0**20))])
def test_contacts_do_not_depend_on_where_they_are(shift):
    rng = np.random.default_rng(5)
    centre = np.round(rng.uniform(-2, 2, (200, 3)) * 2**20) / 2**20  # so that sums are exact
    world = cloud(centre, rng.uniform(0.05, 0.4, 200))
    detector = SphereDetector(world)
    here = detector.find(world.start.q, 0.0)
    q = world.start.q.copy()
    q.reshape(-1, 7)[:, :3] += shift
    there = detector.find(q, 0.0)
    assert len(here) > 100
    for name in ("id", "gap", "frame", "law"):
        assert getattr(here, name).tobytes() == getattr(there, name).tobytes()
    assert there.point == pytest.approx(here.point + np.array(shift), abs=1e-9)


def test_far_away_spheres_cost_no_memory_and_hide_nothing():
    rng = np.random.default_rng(7)
    centre = rng.uniform(-2, 2, (60, 3))
    centre[50:] = 1e300, -1e300, 1e12
    centre[55:, 2] += 0.5
    centre[42:50, 0] = 1e5 * np.arange(1, 9)
    centre[40], centre[41] = (3e17, 0, 0), (-3e17, 0, 0)
    world = cloud(centre, np.full(60, 0.5))
    detector = SphereDetector(world)
    found = set(map(tuple, detector.find(world.start.q, 0.0).shape.tolist()))
    near = set(brute_force(cloud(centre[:40], np.full(40, 0.5)), world.start.q[: 7 * 40], 0.0))
    far = {(s, t) for s in range(50, 60) for t in range(s + 1, 60)}
    assert found == near | far
    assert sum(array.nbytes for array in detector._grid) < 20_000


def test_coincident_centres_part_upwards():
    world = cloud([(1.0, 2.0, 3.0)] * 3, [0.5, 0.25, 0.5])
    contacts = SphereDetector(world).find(world.start.q, 0.0)
    assert contacts.shape.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert contacts.frame[:, 0].tolist() == [[0.0, 0.0, 1.0]] * 3
    assert contacts.gap.tolist() == [-0.75, -1.0, -0.75]


def test_nothing_to_touch_is_an_empty_set():
    builder = WorldBuilder()
    builder.body("floor", Plane(), fixed=True)
    world = builder.build()
    contacts = SphereDetector(world).find(world.start.q, 1.0)
    assert len(contacts) == 0
    assert contacts.frame.shape == (0, 3, 3)
    assert contacts.law.shape == (0, 4)


def test_thousands_in_one_place_and_an_endless_margin_are_refused(monkeypatch):
    monkeypatch.setattr(spheres, "MOST_PAIRS", 1000)
    world = cloud([(0.0, 0.0, 0.0)] * 160 + [(9.0, 9.0, 9.0)], [0.5] * 161)
    with pytest.raises(ModelError, match="in one place, near body 'ball "):
        SphereDetector(world).find(world.start.q, 0.0)
    with pytest.raises(ModelError, match="margin"):
        SphereDetector(world).find(world.start.q, np.inf)


def test_room_for_pairs_grows():
    world = cloud([(0.0, 0.0, 1e-3 * i) for i in range(40)], [0.5] * 40)
    contacts = SphereDetector(world).find(world.start.q, 0.0)
    assert len(contacts) == 40 * 39 // 2
    assert (np.diff(contacts.id) > 0).all()
