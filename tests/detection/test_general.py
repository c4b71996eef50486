"""The narrow phase in our conventions: closed forms of gaps, normals, points; manifolds, filters, limits."""

import itertools

import numpy as np
import pytest

from stickslip.detection import general
from stickslip.detection.general import GeneralDetector
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.compounds import Compound
from stickslip.mechanics.height_fields import HeightField
from stickslip.mechanics.hulls import ConvexHull
from stickslip.mechanics.shapes import Capsule, Cuboid, Cylinder, Ellipsoid, Plane, Sphere
from stickslip.rotations import matrices, product
from stickslip.state import ModelError

CORNERS = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))
STANDING = {
    "sphere": (Sphere(0.5), 0.5),
    "cuboid": (Cuboid((1.0, 0.75, 0.5)), 0.25),
    "capsule": (Capsule(0.3, 0.4), 0.5),
    "cylinder": (Cylinder(0.4, 0.6), 0.3),
    "ellipsoid": (Ellipsoid((0.5, 0.4, 0.3)), 0.3),
    "hull": (ConvexHull(CORNERS * [1.0, 0.75, 0.5]), 0.25),
}
"""Shapes centred in their frames, and half their heights."""
TURNED = np.array([0.8, 0.1, -0.4, 0.3]) / np.linalg.norm([0.8, 0.1, -0.4, 0.3])


def turn(axis, angle):
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    return np.array([np.cos(angle / 2), *np.sin(angle / 2) * axis])


def pair(first, second, position=(0, 0, 0), quaternion=(1, 0, 0, 0), **floor):
    """A world of a first body, fixed if it has no end, and a second."""
    b = WorldBuilder()
    b.body("first", first, fixed=bool(np.isinf(first.volume)), **floor)
    b.body("second", second, position=position, quaternion=quaternion)
    return b.build()


def contacts(world, margin=1e-2, spheres=True):
    return GeneralDetector(world, spheres=spheres).find(world.start.q, margin)


@pytest.mark.parametrize("below", [*STANDING, "plane", "field"])
def test_one_above_another_in_any_order_of_placement(below):
    """Gap, point midway, normal from the second to the first, and manifolds, for all pairs of kinds."""
    origin, n = np.array([0.3, -0.2, 0.1]), matrices(TURNED)[:, 2]
    endless = {"plane": (Plane(), 0.0), "field": (HeightField(np.full((4, 5), 0.25), (4.0, 4.0)), 0.25)}
    low, half = (STANDING | endless)[below]
    for (above, (high, other)), gap, swap in itertools.product(
        STANDING.items(), (-1e-3, -1e-7, 1e-9, 1e-3), (False, True)
    ):
        placed = [
            ("low", low, origin, below in endless),
            ("high", high, origin + (half + other + gap) * n, False),
        ]
        b = WorldBuilder()
        for name, shape, position, fixed in placed[::-1] if swap else placed:
            b.body(name, shape, position=position, quaternion=TURNED, fixed=fixed)
        found = contacts(b.build())
        case = f"{above} on {below}, gap {gap}, swapped {swap}: {found}"
        faces = {"cuboid", "hull", "cylinder"}
        assert len(found) >= (1 if above not in faces or below not in faces | {*endless} else 3), case
        assert np.abs(found.gap - gap).max() <= 1e-12, case
        assert np.abs(found.frame[:, 0] - (n if swap else -n)).max() <= 1e-9, case
        assert np.abs((found.point - origin) @ n - half - 0.5 * gap).max() <= 1e-11, case
        assert (found.body == [0, 1]).all()
        assert (found.shape == [0, 1]).all()
        assert np.abs(found.frame @ found.frame.transpose(0, 2, 1) - np.eye(3)).max() < 1e-14
        assert (np.linalg.det(found.frame) > 0).all()


@pytest.mark.parametrize("first", STANDING)
@pytest.mark.parametrize("second", STANDING)
def test_the_normal_separates(first, second):
    """Of two bodies that overlap, the first goes out of the second along +n: the gap grows by the way."""
    position = np.array([0.25, 0.3, 0.35])
    world = pair(STANDING[first][0], STANDING[second][0], position=position, quaternion=TURNED)
    detector = GeneralDetector(world, spheres=True)
    q = world.start.q.copy()
    for depth_left in (0.02, -1e-3):  # first until they only just overlap: from there it is out by the depth
        found = detector.find(q, 0.0)
        deepest = np.argmin(found.gap)
        assert found.gap[deepest] < -1e-2
        q[:3] -= (found.gap[deepest] + depth_left) * found.frame[deepest, 0]
    apart = detector.find(q, 1e-2)
    assert len(apart)
    # Boxes that do not touch are measured along an axis of theirs, which can be a little off.
    assert np.abs(apart.gap.min() - 1e-3) < (1e-4 if first == second == "cuboid" else 1e-7)
    assert not len(detector.find(q, 0.9e-3))


def test_closed_forms_of_round_shapes():
    """Capsules across each other; a sphere on an ellipsoid; a tilted cylinder on a plane, a hull on a box."""
    for gap in (-1e-4, 1e-4, 1e-10):
        crossed = pair(Capsule(0.2, 1), Capsule(0.1, 1), (0.3 + gap, 0, 0), turn((1, 0, 0), 1.1))
        one = contacts(crossed)
        assert one.gap == pytest.approx([gap], abs=1e-15)
        assert one.frame[0, 0] == pytest.approx([-1, 0, 0], abs=1e-15)

        a, direction = np.array([0.5, 0.4, 0.3]), np.array([0.3, -0.5, 0.8])
        foot = a * direction / np.linalg.norm(direction)
        n = foot / a**2 / np.linalg.norm(foot / a**2)
        one = contacts(pair(Ellipsoid(tuple(a)), Sphere(0.25), foot + (0.25 + gap) * n))
        assert one.gap == pytest.approx([gap], abs=1e-13)
        assert one.frame[0, 0] == pytest.approx(-n, abs=1e-12)
        assert one.point[0] == pytest.approx(foot + 0.5 * gap * n, abs=1e-12)

        p = turn((1, 2, 0), 0.5)
        up = matrices(p).T @ [0, 0, 1]
        lowest = 0.3 * abs(up[2]) + 0.4 * np.hypot(up[0], up[1])
        tilted = contacts(pair(Plane(), Cylinder(0.4, 0.6), (0, 0, lowest + gap), p))
        assert tilted.gap.min() == pytest.approx(gap, abs=1e-15)
        points = np.random.default_rng(3).normal((5.0, 0, 0), size=(40, 3))
        lowest = -(matrices(p) @ points.T)[2].min()
        b = WorldBuilder()
        b.body("floor", Cuboid((40, 40, 1)), position=(0, 0, -0.5), fixed=True)
        b.body("hull", ConvexHull(points), position=(0, 0, lowest + gap), quaternion=p)
        found = contacts(b.build())
        assert found.gap.min() == pytest.approx(gap, abs=5e-7)  # single precision of a size of 3
        assert found.frame[0, 0] == pytest.approx([0, 0, -1], abs=1e-9)


def test_edges_of_boxes():
    """Two edges at right angles: the gap is the distance of two lines."""
    s = np.sqrt(0.5)
    for gap in (-1e-5, 1e-5):
        lower, upper = turn((1, 0, 0), np.pi / 4), turn((0, 1, 0), np.pi / 4)
        b = WorldBuilder()
        b.body("lower", Cuboid((4, 1, 1)), quaternion=lower, fixed=True)
        b.body("upper", Cuboid((1, 4, 1)), quaternion=upper, position=(0.1, 0.2, 2 * s + gap))
        found = contacts(b.build(), margin=1e-3)
        assert found.gap == pytest.approx([gap], abs=1e-15)
        assert found.frame[0, 0] == pytest.approx([0, 0, -1], abs=1e-15)
        assert found.point[0] == pytest.approx([0.1, 0.0, s + 0.5 * gap], abs=1e-9)


@pytest.mark.parametrize("gap", [1e-13, 2e-12, 1e-11, 1e-9, 1e-7])
def test_normals_of_bodies_that_almost_touch(gap):
    """No digits are lost where the closest points all but coincide."""
    R, n, p = matrices(TURNED), matrices(TURNED)[:, 2], turn((1, 0.3, 0), 0.4)
    up = matrices(p).T @ [0, 0, 1]
    cases = {
        "cylinder": (Cylinder(0.4, 0.6), 0.3 * abs(up[2]) + 0.4 * np.hypot(up[0], up[1])),
        "ellipsoid": (Ellipsoid((0.5, 0.4, 0.3)), np.linalg.norm(up * [0.5, 0.4, 0.3])),
        "hull": (ConvexHull(CORNERS), 0.5 * np.abs(up).sum()),
    }
    for name, (shape, half) in cases.items():
        position = R @ [0.1, 0.05, 0.5 + half + gap]
        b = WorldBuilder()
        b.body("slab", Cuboid((4, 4, 1)), quaternion=TURNED, fixed=True)
        b.body("above", shape, position=position, quaternion=product(TURNED, p))
        found = contacts(b.build())
        assert found.gap == pytest.approx([gap], abs=2e-12), name
        assert np.abs(found.frame[0, 0] + n).max() < 1e-9, name


def test_sizes_far_from_one_and_hulls_away_from_their_frames():
    """Micrometres and kilometres are found as well as metres; a hull is where its points are."""
    for scale in (1e-6, 1e4):
        points = scale * (CORNERS @ matrices(TURNED).T + [7.0, -3.0, 2.0])
        back = TURNED * [1, -1, -1, -1]
        gap = -1e-4 * scale
        position = np.array([0, 0, 0.5 * scale + gap]) - scale * matrices(back) @ [7.0, -3.0, 2.0]
        found = contacts(pair(Plane(), ConvexHull(points), position, back), margin=0.1 * scale)
        assert found.gap == pytest.approx([gap] * 4, abs=2e-7 * scale)
        away = found.point[:, None, :2] - scale * CORNERS[::2, :2]
        assert np.linalg.norm(away, axis=2).min(axis=0).max() < 2e-7 * scale


def test_manifolds_hold_the_closest_point():
    """A capsule near a box given as a hull: the least gap is that of its axis, whatever the angle."""
    half, axis = np.array([0.5, 0.375, 0.25]), np.linspace(-0.2, 0.2, 401)
    rng = np.random.default_rng(2)
    world = pair(ConvexHull(2 * CORNERS * half), Capsule(0.3, 0.4), position=(0, 0, 3))
    detector = GeneralDetector(world)
    q = world.start.q.copy()
    for _ in range(40):
        p, away = rng.normal(size=(2, 4))
        q[10:] = p / np.linalg.norm(p)
        away = away[:3] / np.linalg.norm(away[:3])
        line = np.outer(axis, matrices(q[10:])[:, 2])
        for far in np.linspace(0.3, 1.2, 200):
            beyond = np.abs(far * away + line) - half
            gap = (
                np.linalg.norm(np.maximum(beyond, 0), axis=1) + np.minimum(beyond.max(axis=1), 0)
            ).min() - 0.3
            if gap > -0.02:
                break
        q[7:10] = far * away
        assert detector.find(q, 0.05).gap.min() == pytest.approx(gap, rel=1e-3, abs=2e-6)


def slope(x, y):
    return 0.2 * x + 0.1 * y + 0.7


def test_height_field_is_the_surface_between_its_heights():
    """A sphere and a box on a slope over many triangles: one contact, and all four corners."""
    x, y = np.linspace(-2, 2, 9), np.linspace(-1.5, 1.5, 7)
    field = HeightField(slope(x[:, None], y[None, :]), (4.0, 3.0))
    n = np.array([-0.2, -0.1, 1.0]) / np.linalg.norm([0.2, 0.1, 1.0])
    ball, box = pair(field, Sphere(0.3)), pair(field, Cuboid((0.4, 0.3, 0.2)))
    balls, boxes = GeneralDetector(ball), GeneralDetector(box)
    axis, angle = np.cross([0, 0, 1], n), np.arccos(n[2])
    p = product(turn(axis, angle), turn((0, 0, 1), 0.3))
    rng = np.random.default_rng(0)
    for gap in (-0.05, -1e-6, 1e-3):
        for a, b in [*rng.uniform(-1, 1, (5, 2)), (0.0, 0.5), (0.25, 0.25)]:
            foot = np.array([a, b, slope(a, b)])
            q = ball.start.q.copy()
            q[7:10] = foot + (0.3 + gap) * n
            found = balls.find(q, 2e-3)
            assert found.gap == pytest.approx([gap], abs=1e-7)
            assert found.frame[0, 0] == pytest.approx(-n, abs=1e-6)
            assert found.point[0] == pytest.approx(foot + 0.5 * gap * n, abs=1e-7)
            q[7:10], q[10:] = foot + (0.1 + gap) * n, p
            found = boxes.find(q, 2e-3)
            assert np.abs(found.gap - gap).max() < 1e-7
            assert np.abs(found.frame[:, 0] + n).max() < 1e-6
            corners = q[7:10] + (CORNERS[::2] * [0.4, 0.3, 0.2]) @ matrices(p).T
            away = np.linalg.norm(found.point[:, None] - corners + 0.5 * gap * n, axis=2)
            assert away.min(axis=0).max() < 1e-6


def test_height_field_of_hills_against_brute_force():
    """The deepest contact of a sphere is its distance to the nearest of all triangles, everywhere."""
    rng = np.random.default_rng(5)
    heights = rng.uniform(0, 0.4, (6, 5))
    world = pair(HeightField(heights, (5.0, 4.0)), Sphere(0.3), position=(0, 0, 5))
    detector = GeneralDetector(world)
    x, y = np.linspace(-2.5, 2.5, 6), np.linspace(-2, 2, 5)
    triangles = []
    for i, j in itertools.product(range(5), range(4)):
        corner = [
            np.array([x[a], y[b], heights[a, b]]) for a, b in ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1))
        ]
        triangles += [(corner[0], corner[1], corner[2]), (corner[0], corner[2], corner[3])]
    weights = np.array(
        [(a, b, 1 - a - b) for a in np.linspace(0, 1, 41) for b in np.linspace(0, 1, 41) if a + b <= 1]
    )
    cloud = np.concatenate([weights @ np.array(t) for t in triangles])
    q = world.start.q.copy()
    for _ in range(20):
        centre = np.array([*rng.uniform(-1.8, 1.8, 2), rng.uniform(0.45, 0.7)])
        q[7:10] = centre
        distance = np.linalg.norm(cloud - centre, axis=1).min() - 0.3
        found = detector.find(q, 0.2)
        if distance > 0.2:
            continue
        assert found.gap.min() == pytest.approx(distance, abs=2e-3)
        assert found.gap.min() <= distance + 1e-7  # the cloud is of points of the surface


def test_lying_and_standing_on_a_height_field():
    """A cylinder, a capsule and a hull on one triangle of a field have as many contacts as on a plane."""
    field = HeightField(np.zeros((2, 2)), (10.0, 10.0))
    lying = turn((1, 0, 0), np.pi / 2)
    for shape, half, p, least in (
        (Cylinder(0.4, 0.6), 0.3, (1, 0, 0, 0), 4), (Cylinder(0.4, 0.6), 0.4, lying, 2),
        (Capsule(0.4, 0.6), 0.4, lying, 2), (ConvexHull(CORNERS), 0.5, (1, 0, 0, 0), 4),
    ):  # fmt: skip
        found = contacts(pair(field, shape, (2.0, -1.0, half - 1e-6), p))
        low = np.abs(found.gap + 1e-6) < 1e-9
        assert low.sum() >= least
        assert np.abs(found.frame[:, 0] - [0, 0, -1]).max() < 1e-9
        assert np.ptp(found.point[low, 1]) > 0.59


def many(shape, n=3):
    b = WorldBuilder()
    for k in range(n):
        b.body(f"b{k}", shape, position=(0.1 * k, 0, 0))
    return b


def bodies(found):
    return sorted(set(map(tuple, found.body.tolist())))


def test_filters():
    """Pairs kept apart, groups, and bodies that both do not answer give no contacts; the rest do."""
    b = many(Cuboid((1, 1, 1)), 4)
    b.apart("b0", "b2")
    assert bodies(contacts(b.build())) == [(0, 1), (0, 3), (1, 2), (1, 3), (2, 3)]

    b = WorldBuilder()
    for k, group in enumerate(("a", "b", "c", "a")):
        b.body(f"b{k}", Cuboid((1, 1, 1)), position=(0.1 * k, 0, 0), group=group)
    b.apart_groups("a", "b")
    b.apart_groups("a", "a")
    assert bodies(contacts(b.build())) == [(0, 2), (1, 2), (2, 3)]

    b = WorldBuilder()
    still = ((0, 0, 0), (0, 0, 0))
    b.body("floor", Plane(), fixed=True)
    b.body("wall", Cuboid((1, 1, 1)), fixed=True)
    b.body("lift", Cuboid((1, 1, 1)), motion=still)
    b.body("belt", Plane(), motion=still)
    b.body("box", Cuboid((1, 1, 1)))
    b.body("two", Compound((Cuboid((1, 1, 1)), (0, 0, 0)), (Cuboid((1, 1, 1)), (0.2, 0, 0))))
    b.apart("floor", "two")
    found = contacts(b.build())
    assert bodies(found) == [(0, 4), (1, 4), (1, 5), (2, 4), (2, 5), (3, 4), (3, 5), (4, 5)]
    assert (found.shape[found.body[:, 1] == 5][:, 1] >= 5).all()


def test_laws_by_pairs_of_materials():
    b = WorldBuilder()
    b.material("wood", mu=0.4, mu_roll=0.01, mu_spin=0.02, e=0.3)
    b.body("a", Cuboid((1, 1, 1)))
    b.body("b", Cuboid((1, 1, 1)), position=(0, 0, 1), material="wood")
    b.body("c", Cuboid((1, 1, 1)), position=(0, 0, 2), material="wood")
    b.pair("default", "wood", mu=0.1, e=0.7)
    world = b.build()
    found = contacts(world)
    m = world.materials
    rows = world.shapes.material[found.shape]
    for k, table in enumerate((m.mu, m.mu_roll, m.mu_spin, m.e)):
        assert np.array_equal(found.law[:, k], table[rows[:, 0], rows[:, 1]])
    assert found.law[0, 0] == 0.1
    assert found.law[-1, 0] == pytest.approx(0.4)


def test_margin_changes_from_call_to_call():
    world = pair(Plane(), Cuboid((1, 1, 1)), (0, 0, 0.51))
    detector = GeneralDetector(world)
    sizes = [len(detector.find(world.start.q, margin)) for margin in (0.0, 0.02, 0.009, 0.0101, -1.0)]
    assert sizes == [0, 4, 0, 4, 0]


def test_more_contacts_than_there_is_room_for_are_an_error(monkeypatch, tmp_path, capfd):
    """Never silently fewer, and MuJoCo's own log is not written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(general, "CONTACTS", 0)
    b = many(Cuboid((1, 1, 1)), 60)
    with pytest.raises(ModelError, match="room"):
        contacts(b.build(), margin=50.0)
    assert not list(tmp_path.iterdir())
    assert capfd.readouterr() == ("", "")

    field = HeightField(np.zeros((30, 30)), (1.0, 1.0))
    with pytest.raises(ModelError, match=r"'first' and 'second': 50 contacts"):
        contacts(pair(field, Cuboid((1, 1, 1)), (0, 0, 0.5)))


def test_what_cannot_be_is_named():
    world = pair(Plane(), Cuboid((1, 1, 1)), (0, 0, 0.5))
    detector = GeneralDetector(world)
    for entry, value in ((8, np.nan), (9, np.inf), (slice(10, 14), 0.0)):
        q = world.start.q.copy()
        q[entry] = value
        with pytest.raises(ModelError, match="'second': q is"):
            detector.find(q, 0.0)
    assert len(detector.find(world.start.q, 0.0)) == 4
