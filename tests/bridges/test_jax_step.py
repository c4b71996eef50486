"""Steps as functions of JAX, by its own checker of gradients."""

import numpy as np
import pytest
from bridge_worlds import MOREAU, arguments, thrown
from system_families import swing

import stickslip as ss

jax = pytest.importorskip("jax", reason="the extra jax is not installed")


@pytest.fixture(autouse=True)
def _double():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def made(world, **how):
    how = {"scheme": MOREAU, "tolerance": 1e-12, "steps": 2, "inputs": ("mu", "e")} | how
    return ss.step_function(world, 0.01, "jax", **how)


def of_ball(step, world):
    """The same as a function of what of it is the ball's."""
    q, v = (jax.numpy.array(one) for one in (world.start.q, world.start.v))
    return lambda x, w, *inputs: step(q.at[7:].set(x), v.at[6:].set(w), *inputs)


@pytest.mark.parametrize("scheme", [MOREAU, "variational"])
def test_gradients_by_its_checker(scheme):
    from jax.test_util import check_grads

    world = thrown()
    q, v, mu, e = arguments(world, mu=[0.15], e=[0.6])
    f = of_ball(made(world, scheme=scheme, path=True), world)
    check_grads(f, (q[7:], v[6:], mu, e), order=1, modes=["fwd", "rev"], eps=1e-5, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("scheme", [ss.schemes.MoreauJean(newton_tolerance=1e-13), "variational"])
def test_systems_written_as_equations_by_its_checker(scheme):
    from jax.test_util import check_grads

    family = ss.systems.Family(swing, length=0.7, mu=0.3)
    how = {"scheme": scheme, "tolerance": 1e-12, "steps": 2, "inputs": ("length", "mu"), "path": True}
    step = ss.step_function(family, 1e-3, "jax", **how)
    given = (np.array(family.system.q0), np.array(family.system.v0), np.array(0.7), np.array(0.3))
    check_grads(step, given, order=1, modes=["fwd", "rev"], eps=1e-6, atol=1e-6, rtol=1e-6)
    with pytest.raises(ss.ModelError, match="unknown input 'mass'; known: length, mu"):
        ss.step_function(family, 1e-3, "jax", inputs="mass")
    with pytest.raises(ss.ModelError, match="unknown input 'mu'; known: none"):
        ss.step_function(family.system, 1e-3, "jax", inputs="mu")


def test_compiled_and_mapped():
    world = thrown()
    q, v, _, e = arguments(world, mu=[0.15], e=[0.6])
    step = made(world)

    def far(mu):
        return step(q, v, mu, e)[0][7]

    some = np.array([[0.1], [0.15], [0.2]])
    plain = np.array([jax.grad(far)(mu) for mu in some])
    assert (plain < 0.0).all()
    np.testing.assert_array_equal(np.array([jax.jit(jax.grad(far))(mu) for mu in some]), plain)
    np.testing.assert_array_equal(jax.vmap(jax.grad(far))(some), plain)
    np.testing.assert_array_equal(jax.jit(jax.vmap(far))(some), [far(mu) for mu in some])


@pytest.mark.parametrize("path", [False, True])
def test_jacobians_forwards_are_those_backwards(path):
    world = thrown()
    q, v, mu, e = arguments(world, mu=[0.15], e=[0.6])
    wrench = np.zeros((2, 2, 6))
    step = made(world, path=path, inputs=("mu", "e", "wrench"))
    every = tuple(range(5))
    forwards = jax.jacfwd(step, argnums=every)(q, v, mu, e, wrench)
    backwards = jax.jacrev(step, argnums=every)(q, v, mu, e, wrench)
    compiled = jax.jit(jax.jacfwd(step, argnums=every))(q, v, mu, e, wrench)
    for one, other, third in zip(
        *map(jax.tree_util.tree_leaves, (forwards, backwards, compiled)), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-10 * max(1.0, np.abs(other).max()))
        np.testing.assert_array_equal(one, third)
    assert np.abs(forwards[0][2]).max() > 1e-3  # friction moves the ball


def test_mapped_and_differentiated_in_either_order():
    world = thrown()
    q, v, _, e = arguments(world, mu=[0.15], e=[0.6])
    step, some = made(world), np.array([[0.1], [0.15], [0.2]])

    def far(mu):
        return step(q, v, mu, e)[0][7]

    each = jax.vmap(jax.grad(far))(some)
    np.testing.assert_array_equal(jax.grad(lambda mu: jax.vmap(far)(mu).sum())(some), each)
    np.testing.assert_allclose(jax.vmap(jax.jacfwd(far))(some), each, atol=1e-10)
    _, along = jax.jvp(jax.vmap(far), (some,), (np.ones_like(some),))
    np.testing.assert_allclose(along, each[:, 0], atol=1e-10)
    _, linear = jax.linearize(far, some[0])
    assert linear(np.ones(1)) == pytest.approx(float(each[0, 0]), abs=1e-10)


def test_a_second_derivative_is_refused():
    world = thrown()
    q, v, mu, e = arguments(world, mu=[0.15], e=[0.6])
    step = made(world)

    def far(mu):
        return step(q, v, mu, e)[0][7]

    for second in (jax.jacfwd(jax.jacfwd(far)), jax.hessian(far), jax.jacrev(jax.jacfwd(far))):
        with pytest.raises(ss.ModelError, match="first derivatives only"):
            second(mu)


def test_single_precision_is_refused_and_single_numbers_are_taken_as_doubles():
    world = thrown()
    given = arguments(world, mu=[0.15], e=[0.6])
    step = made(world)
    singles = [jax.numpy.asarray(one, np.float32) for one in given]
    assert step(*singles)[0].dtype == np.float64
    assert jax.grad(lambda mu: step(*given[:2], mu, given[3])[0][7])(singles[2]).dtype == np.float32
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(ss.ModelError, match="jax_enable_x64"):
        step(*given)


def test_what_goes_wrong_is_told(caplog):
    world = thrown()
    q, v, mu, e = arguments(world, mu=[0.15], e=[0.6])
    step = made(world)
    with pytest.raises(ss.ModelError, match=r"q has shape \(13,\)"):
        jax.jit(step)(q[:-1], v, mu, e)
    with pytest.raises(Exception, match="parameter mu of pair 0 is"):
        jax.block_until_ready(step(q, v, -mu, e))
    with pytest.raises(Exception, match="parameter mu of pair 0 is"):
        jax.block_until_ready(jax.jit(step)(q, v, -mu, e))
