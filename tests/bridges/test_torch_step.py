"""Steps as functions of torch, by its own checker of gradients."""

import numpy as np
import pytest
from bridge_worlds import MOREAU, arguments, thrown
from system_families import swing

import stickslip as ss

torch = pytest.importorskip("torch", reason="the extra torch is not installed")


def made(world, **how):
    how = {"scheme": MOREAU, "tolerance": 1e-12, "steps": 2, "inputs": ("mu", "e")} | how
    return ss.step_function(world, 0.01, "torch", **how)


def tensors(world, grad=False):
    return [torch.tensor(one, requires_grad=grad) for one in arguments(world, mu=[0.15], e=[0.6])]


@pytest.mark.parametrize("scheme", [MOREAU, "variational"])
def test_gradients_by_its_checker(scheme):
    world = thrown()
    step = made(world, scheme=scheme, path=True)
    q, v, mu, e = tensors(world)

    def of_ball(x, w, mu, e):
        return step(torch.cat([q[:7], x]), torch.cat([v[:6], w]), mu, e)

    given = [one.clone().requires_grad_() for one in (q[7:], v[6:], mu, e)]
    assert torch.autograd.gradcheck(of_ball, given, eps=1e-5, atol=1e-7, rtol=1e-6, fast_mode=True)


@pytest.mark.parametrize("scheme", [ss.schemes.MoreauJean(newton_tolerance=1e-13), "variational"])
def test_systems_written_as_equations_by_its_checker(scheme):
    family = ss.systems.Family(swing, length=0.7, mu=0.3)
    how = {"scheme": scheme, "tolerance": 1e-12, "steps": 2, "inputs": ("length", "mu"), "path": True}
    step = ss.step_function(family, 1e-3, "torch", **how)
    system = family.system
    given = [torch.tensor(np.array(one), dtype=torch.float64, requires_grad=True)
             for one in (system.q0, system.v0, 0.7, 0.3)]  # fmt: skip
    assert step(*given)[0].shape == (2, 2)
    assert torch.autograd.gradcheck(step, given, eps=1e-6, atol=1e-6, rtol=1e-6, fast_mode=True)


def test_under_its_transforms():
    world = thrown()
    step, (q, v, _, e) = made(world), tensors(world)

    def far(mu):
        return step(q, v, mu, e)[0][7]

    some = torch.tensor([[0.1], [0.15], [0.2]], dtype=torch.float64)
    plain = torch.stack([torch.func.grad(far)(mu) for mu in some])
    assert (plain < 0.0).all()
    assert torch.equal(torch.func.vmap(torch.func.grad(far))(some), plain)
    assert torch.equal(torch.func.vmap(far)(some), torch.stack([far(mu) for mu in some]))
    leaf = some[1].clone().requires_grad_()
    far(leaf).backward()
    assert torch.equal(leaf.grad, plain[1])


def test_singles_are_taken_as_doubles():
    world = thrown()
    step, (q, v, mu, e) = made(world), tensors(world)
    single = mu.float().requires_grad_()
    end, _ = step(q, v, single, e)
    assert end.dtype == torch.float64
    end[7].backward()
    assert single.grad.dtype == torch.float32


def test_what_goes_wrong_is_told():
    world = thrown()
    step, given = made(world), tensors(world, grad=True)
    q, v, mu, e = given
    with pytest.raises(ss.ModelError, match=r"q has shape \(13,\)"):
        step(q[:-1], v, mu, e)
    with pytest.raises(ss.ModelError, match="3 arguments"):
        step(q, v, mu)
    with pytest.raises(ss.ModelError, match="parameter mu of pair 0 is"):
        step(q, v, -mu, e)
    with pytest.raises(ss.ModelError, match=r"give q.cpu\(\)"):
        step(torch.zeros(14, device="meta"), v, mu, e)
    (once,) = torch.autograd.grad(step(*given)[0][7], [mu], create_graph=True)
    with pytest.raises(ss.ModelError, match="first derivatives only"):
        once.sum().backward()
