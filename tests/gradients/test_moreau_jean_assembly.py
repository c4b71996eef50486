"""The assembly of a step in complex numbers: its real part is what the compiled step poses."""

import numpy as np
import pytest
from step_worlds import NOTHING, SOLVER, jointed, tumbling

from stickslip.gradients.along import EPSILON, freely
from stickslip.gradients.along_rows import JointBlocks
from stickslip.gradients.moreau_jean_equations import MoreauJeanEquations
from stickslip.kernels.bodies.rotation import spin_freely
from stickslip.schemes.bodies import SemiExplicitMoreauJean
from stickslip.schemes.body_start import Start
from stickslip.schemes.body_world import PreparedWorld


def assembly_of(scheme, world, h):
    prepared = PreparedWorld(world)
    step = scheme.step(prepared, world.start, NOTHING, h, SOLVER)
    joints = JointBlocks.of(step.memory["joint_id"], step.memory["joint_size"])
    all_bear = np.ones(len(step.contacts), bool)
    return step, MoreauJeanEquations(scheme, prepared, world.start, h, step.contacts, all_bear, joints)


@pytest.mark.parametrize(
    "kind", ["shapes", "fixed", "ball", "hinge", "slider", "cylindrical", "distance", "rope"]
)
@pytest.mark.parametrize("theta", [0.5, 0.8])
def test_real_parts_are_the_problem_of_the_step(kind, theta):
    world = tumbling(3) if kind == "shapes" else jointed(kind)
    step, assembly = assembly_of(SemiExplicitMoreauJean(theta=theta, correction=False), world, 0.01)
    start, (solution,) = Start.of(theta, assembly.prepared, world.start, 0.01), step.solves
    problem, K = solution.problem, solution.problem.K
    at = assembly.middle_base
    posed = assembly.posed(at)
    pairs = {
        "q": (at.q, start.q_m), "v_start": (at.v_start, start.v_start), "v_free": (at.v_free, start.v_free),
        "f": (at.f, start.f), "rows": (posed.rows, problem.H.rows), "u_bias": (posed.u_bias, problem.u_bias),
        "coefficient": (posed.coefficient, K.coefficient), "gap": (posed.gap, step.contacts.gap),
    }  # fmt: skip
    bounded = K.kind == 2
    pairs["bounds"] = (posed.bound[:, bounded], K.upper[bounded])
    for name, (found, expected) in pairs.items():
        assert found[0].shape == expected.shape, name
        size = max(1.0, np.abs(expected).max(initial=0.0))
        assert np.abs(found[0].real - expected).max(initial=0.0) < 1e-14 * size, name
        assert not np.imag(found).any(), name


def test_free_rotation_is_the_kernel_s():
    """Real parts those of the kernel, imaginary ones a derivative: momentum is kept along it too."""
    rng = np.random.default_rng(5)
    A = rng.normal(size=(3, 3))
    J = A @ A.T + np.eye(3)
    inverse = np.linalg.inv(J)
    spin, way, h = 5.0 * rng.normal(size=3), rng.normal(size=3), 0.1
    along = (spin + 1j * EPSILON * way)[None, None]
    args = J[None, None].astype(complex), inverse[None, None].astype(complex)
    found = np.array(spin_freely(args[0][0, 0], args[1][0, 0], *along[0, 0], complex(h)))
    assert np.abs(found.real - spin_freely(J, inverse, *spin, h)).max() < 1e-14
    step = 1e-6
    ends = [spin_freely(J, inverse, *(spin + side * step * way), h) for side in (1.0, -1.0)]
    expected = (np.array(ends[0]) - ends[1]) / (2.0 * step)
    assert np.abs(found.imag / EPSILON - expected).max() < 1e-8
    q = np.array([0.0, 0, 0, 1, 0, 0, 0])[None, None].astype(complex)
    v = np.concatenate([np.zeros((1, 1, 3)), along], axis=2)
    q_end, v_end = freely(np.array([0]), *args, q, v, np.array([h], complex))
    w, x, y, z = q_end[0, 0, 3:]
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    kept = R @ (J @ v_end[0, 0, 3:]) - J @ along[0, 0]
    assert np.abs(kept.real).max() < 1e-13
    assert np.abs(kept.imag).max() < 1e-13 * EPSILON
