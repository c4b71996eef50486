"""Steps of many members as one function of JAX and torch: rows are those of single functions, bit for bit."""

import numpy as np
import pytest
from bridge_worlds import MOREAU, arguments, thrown
from robot_models import gripper
from system_families import swing

import stickslip as ss
from stickslip.bridges.batch_function import BatchFunction, arrays_function
from stickslip.differentiation import made_solver

N = 3
SOLVER = made_solver("auto", 1e-12)
ROBOT = ss.Robot.load(gripper())


def moved(one, rng, size=1e-3):
    return one + size * rng.standard_normal((N, *np.shape(one)))


def world_case():
    world = thrown()
    q, v, e = arguments(world, e=[0.6])
    rng = np.random.default_rng(0)
    given = q, np.array([v, 1.01 * v, 0.99 * v]), np.array([[0.1], [0.15], [0.2]]), e
    return world, given, {"scheme": MOREAU, "inputs": ("mu", "e")}, rng


def robot_case():
    rng, state = np.random.default_rng(1), ROBOT.state(ctrl=[0.0, 8.0, 8.0])
    v = moved(state.v, rng)
    return ROBOT, (np.array(state.q), v, np.array([[0.0, 8.0, 8.0]] * N)), {"inputs": ("ctrl",)}, rng


def system_case():
    family = ss.systems.Family(swing, length=0.7, mu=0.3)
    q, v, rng = family.system.q0, family.system.v0, np.random.default_rng(2)
    return family, (q, moved(v, rng), 0.7, np.array([0.2, 0.3, 0.4])), {"inputs": ("length", "mu")}, rng


@pytest.mark.parametrize("path", [False, True])
@pytest.mark.parametrize("case", [world_case, robot_case, system_case])
def test_rows_are_those_of_single_functions(case, path):
    thing, given, how, rng = case()
    how = how | {"steps": 2, "path": path}
    both = arrays_function(thing, 2e-3, SOLVER, how | {"batch": N})
    one = arrays_function(thing, 2e-3, SOLVER, how)
    assert isinstance(both, BatchFunction)
    given = [np.asarray(each, float) for each in given]
    both.check([each.shape for each in given])
    has_rows = [len(each.shape) > len(one.shapes(name)[0])
                for name, each in zip(("q", "v", *one.inputs), given, strict=True)]  # fmt: skip
    rows = [[x[k] if r else x for x, r in zip(given, has_rows, strict=True)] for k in range(N)]
    q, v = both.value(*given)
    assert (q.shape, v.shape) == both.results
    weights = [rng.standard_normal(shape) for shape in both.results]
    changes = [rng.standard_normal(each.shape) for each in given]
    back = both.transposed(given[0], given[1], given[2:], *weights)
    ahead = both.tangent(given[0], given[1], given[2:], *changes)
    total = [np.zeros(each.shape) for each in given]
    for k, row in enumerate(rows):
        for found, known in zip((q, v), one.value(*row), strict=True):
            assert found[k].tobytes() == known.tobytes()
        own = one.transposed(row[0], row[1], row[2:], weights[0][k], weights[1][k])
        for i, part in enumerate(own):
            if has_rows[i]:
                assert np.array_equal(back[i][k], part)
            else:
                total[i] += part
        change = [x[k] if r else x for x, r in zip(changes, has_rows, strict=True)]
        for found, known in zip(ahead, one.tangent(row[0], row[1], row[2:], *change), strict=True):
            assert np.array_equal(found[k], known)
    for i, r in enumerate(has_rows):
        if not r:
            assert np.array_equal(back[i], total[i])
    # Both directions are of the same derivative.
    forwards = sum(float((w * c).sum()) for w, c in zip(weights, ahead, strict=True))
    backwards = sum(float((w * c).sum()) for w, c in zip(back, changes, strict=True))
    assert forwards == pytest.approx(backwards, rel=1e-6, abs=1e-8)


def test_processes_give_the_same_bits_and_errors_at_first_hand():
    world, given, how, rng = world_case()
    how = how | {"steps": 2, "batch": N}
    alone, shared = (arrays_function(world, 2e-3, SOLVER, how | {"processes": k}) for k in (1, 2))
    q, v, *inputs = (np.asarray(each, float) for each in given)
    weights = [rng.standard_normal(shape) for shape in alone.results]
    changes = [rng.standard_normal(each.shape) for each in (q, v, *inputs)]
    try:
        for verb, more in (("value", None), ("transposed", weights), ("tangent", changes)):
            arguments = (q, v, *inputs) if more is None else (q, v, inputs, *more)
            found, known = (getattr(each, verb)(*arguments) for each in (shared, alone))
            assert [each.tobytes() for each in found] == [each.tobytes() for each in known]
        v[1, 3] = np.nan
        with pytest.raises(ss.ModelError, match="v is not finite"):
            shared.value(q, v, *inputs)
    finally:
        shared.processes.close()


def test_models_that_do_not_go_to_processes_are_refused():
    family = ss.systems.Family(lambda length: swing(length=length, mu=0.3), length=0.7)
    with pytest.raises(ss.ModelError, match=r"processes is 2, .* at the top of a module"):
        arrays_function(family, 1e-3, SOLVER, {"batch": 3, "processes": 2})


def test_under_torch():
    torch = pytest.importorskip("torch", reason="the extra torch is not installed")
    world, given, how, _ = world_case()
    how = how | {"tolerance": 1e-12, "steps": 2}
    step = ss.step_function(world, 0.01, "torch", batch=N, **how)
    single = ss.step_function(world, 0.01, "torch", **how)
    q, v, mu, e = (torch.tensor(each, requires_grad=True) for each in given)
    loss = step(q, v, mu, e)[0][:, 7].sum()
    loss.backward()
    assert mu.grad.shape == (N, 1)
    assert e.grad.shape == (1,)
    assert (mu.grad < 0.0).all()
    for k in range(N):
        own = mu[k].detach().requires_grad_()
        single(q.detach(), v[k].detach(), own, e.detach())[0][7].backward()
        assert torch.equal(own.grad, mu.grad[k])


def test_under_jax():
    jax = pytest.importorskip("jax", reason="the extra jax is not installed")
    jax.config.update("jax_enable_x64", True)
    world, given, how, _ = world_case()
    how = how | {"tolerance": 1e-12, "steps": 2}
    step = ss.step_function(world, 0.01, "jax", batch=N, **how)
    single = ss.step_function(world, 0.01, "jax", **how)
    q, v, mu, e = given

    def far(mu, e):
        return step(q, v, mu, e)[0][:, 7].sum()

    def alone(v, mu):
        return single(q, v, mu, e)[0][7]

    by_mu, by_e = jax.jit(jax.grad(far, argnums=(0, 1)))(mu, np.asarray(e))
    assert by_e.shape == (1,)
    np.testing.assert_array_equal(by_mu, jax.vmap(jax.grad(alone, argnums=1))(v, mu))
    np.testing.assert_allclose(jax.jacfwd(far)(mu, e), by_mu, atol=1e-10)


@pytest.mark.parametrize(
    ("batch", "shapes", "said"),
    [
        (0, [], "batch is 0"),
        (2.5, [], "batch is 2.5"),
        ({"batch": 3, "processes": 0}, [], "processes is 0"),
        ({"processes": 2}, [], "there is one member"),
        (3, [(4, 14), (12,)], r"q has shape \(4, 14\), expected \(3, 14\) or \(14,\)"),
        (3, [(14,)], "1 arguments are given"),
    ],
)
def test_what_is_given_wrongly_is_said(batch, shapes, said):
    how = batch if isinstance(batch, dict) else {"batch": batch}
    with pytest.raises(ss.ModelError, match=said):
        arrays_function(thrown(), 1e-3, SOLVER, how).check(shapes)
