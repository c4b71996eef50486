"""Rows of redundant joints: singular vectors by rotations, and the projection along directions."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.kernels.bodies import redundancy
from stickslip.schemes.body_joints import joint_rows
from stickslip.schemes.body_redundancy import project_redundant_rows
from stickslip.schemes.body_world import Bodies


@pytest.mark.parametrize(("m", "n", "rank"), [(4, 12, 4), (10, 12, 5), (15, 12, 12), (18, 12, 6), (1, 12, 1)])
def test_left_vectors_are_those_of_the_singular_value_decomposition(m, n, rank):
    rng = np.random.default_rng(m)
    A = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
    U, sigma = redundancy.left_vectors(A)
    expected, values, _ = np.linalg.svd(A)
    assert np.abs(U.T @ U - np.eye(m)).max() <= 1e-14
    assert sigma[: values.size] == pytest.approx(values, abs=1e-13 * values[0])
    assert sigma[values.size :] == pytest.approx(0.0, abs=1e-13 * values[0])
    ours, theirs = U[:, :rank], expected[:, :rank]
    assert ours @ ours.T == pytest.approx(theirs @ theirs.T, abs=1e-12)


def door():
    b = ss.WorldBuilder()
    b.body("frame", ss.Cuboid((0.2, 0.2, 2.0)), position=(-0.2, 0, 0))
    b.body("door", ss.Cuboid((1.0, 0.1, 2.0)), position=(0.5, 0, 0))
    b.joint("low", "hinge", "door", "frame", point=(0, 0, -0.8), axis=(0, 0, 1))
    b.joint("high", "hinge", "frame", "door", point=(0, 0, 0.8), axis=(0, 0, 1))
    return b.build()


def test_the_projection_along_directions_is_that_of_steps_and_its_derivative():
    world = door()
    bodies, rng, eps = Bodies(world), np.random.default_rng(0), 1e-6
    found = joint_rows(world, 0.0, world.start.q, np.zeros(12), 1e-3, 0.5)
    names = found.bodies, found.joint, found.part, found.size
    open_ = np.full(found.error.size, 1e-4)
    way, bias = rng.normal(size=found.rows.shape), rng.normal(size=found.bias.size)

    def projected(step):
        rows, right = found.rows + step * way, bias.copy()
        redundancy.project_redundant_rows(bodies.linkage, found.arrays, bodies.row, rows, right, open_)
        return rows, right

    rows, right = (found.rows + 1e-30j * way)[None], bias[None].astype(complex)
    project_redundant_rows(bodies, *names, rows, right, open_)
    for k, told in enumerate((rows[0], right[0])):
        assert told.real == pytest.approx(projected(0.0)[k], abs=1e-13)
        change = (projected(eps)[k] - projected(-eps)[k]) / (2.0 * eps)
        assert told.imag / 1e-30 == pytest.approx(change, abs=1e-5 * np.abs(change).max())
