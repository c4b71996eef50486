"""Families of systems of equations, and finite differences of their steps as a reference for derivatives."""

import numpy as np

import stickslip as ss
from stickslip.differentiation import made_solver
from stickslip.gradients.system_step import system_derivative
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import first_state
from stickslip.state import State

SOLVER = made_solver("auto", 1e-13)
TIGHT = {"newton_tolerance": 1e-14}
MOREAU_JEAN = {
    "nearly implicit": ss.schemes.MoreauJean(**TIGHT),
    "semi-explicit": ss.schemes.MoreauJean(variant="semi-explicit"),
    "complete": ss.schemes.MoreauJean(variant="complete", theta=0.7, **TIGHT),
    "current frame": ss.schemes.MoreauJean(frame="current", **TIGHT),
    "global": ss.schemes.MoreauJean(form="global", **TIGHT),
    "by distance": ss.schemes.MoreauJean(activation="distance", delta=1e-2, **TIGHT),
}
VARIATIONAL = {"cone": ss.schemes.Variational(), "impact": ss.schemes.Variational(contact="impact")}
SCHEMES = MOREAU_JEAN | VARIATIONAL


def swing(m=1.0, length=0.7, mu=0.3, e=0.4, push=(0.0, 0.0)):
    """Return two coordinates with a variable mass matrix on a curved floor with friction."""

    def mass(q):
        c = 0.1 * np.cos(q[0])
        return np.array([[m * length**2 + 1.0, c], [c, m]])

    def force(q, v):
        return np.array([9.81 * m * length * np.sin(q[0]) + 0.2 * v[0], 5.0 * q[1] + 9.81 * m])

    body = ss.Lagrangian(
        "swing", M=mass, q0=[0.3, -0.0012], v0=[0.5, -0.8], F_int=force, F_ext=push,
        dF_int_dq=lambda q: [[9.81 * m * length * np.cos(q[0]), 0.0], [0.0, 5.0]],
        dF_int_dv=[[0.2, 0.0], [0.0, 0.0]],
    )  # fmt: skip
    floor = ss.Scleronomous(
        lambda q: [q[1] + 0.01 * q[0] ** 2 + 1e-4, length * np.sin(q[0])],
        dy_dq=lambda q: [[0.02 * q[0], 1.0], [length * np.cos(q[0]), 0.0]],
    )
    law = ss.NewtonImpact(e=e, mu=mu, dimension=2)
    return ss.NonsmoothSystem([body], [ss.Interaction("floor", "swing", floor, law)])


def dry(level=3.0, m=2.0, speed=0.5):
    """Return a mass that slides with dry friction along a curved output."""
    body = ss.Lagrangian("mass", M=m, q0=0.0, v0=speed, F_ext=-1.0)
    output = ss.Scleronomous(
        lambda q: [q[0] + 0.1 * np.sin(q[0])], dy_dq=lambda q: [[1.0 + 0.1 * np.cos(q[0])]]
    )
    return ss.NonsmoothSystem([body], [ss.Interaction("dry", "mass", output, ss.laws.Relay(level))])


def rod(length=1.0, m=2.0):
    """Return a mass on a rod, which is a joint."""
    start = [0.6 * length, -0.8 * length]
    body = ss.Lagrangian("bob", M=m * np.eye(2), q0=start, v0=[0.8, 0.6], F_ext=[0.0, -9.81 * m])
    held = ss.Scleronomous(lambda q: [0.5 * (q @ q - length**2)], dy_dq=lambda q: [q])
    return ss.NonsmoothSystem([body], [ss.Interaction("rod", "bob", held, ss.laws.Equality(1))])


def ball(mu=0.3, mass=2.0, speed=1.0):
    """Return a Newton-Euler ball that slides and spins on the floor."""
    body = ss.NewtonEuler(
        "ball", mass=mass, inertia=[0.02, 0.03, 0.025], q0=[0, 0, 0.2, 1, 0, 0, 0],
        v0=[speed, 0.3, -0.1, 0.2, 3, -1], force=[0, 0, -9.81 * mass],
    )  # fmt: skip
    law = ss.NewtonImpact(mu=mu)
    return ss.NonsmoothSystem([body], [ss.Interaction("floor", "ball", ss.systems.SpherePlane(0.2), law)])


def pair(m=1.0, masses=(2.0, 1.0), e=0.3):
    """Return two systems that strike each other."""
    a = ss.Lagrangian("a", M=m, q0=0.0, v0=1.0)
    b = ss.Lagrangian("b", M=np.diag(masses), q0=[5e-4, 0.0], v0=[-1.0, 0.4])
    between = ss.Scleronomous(lambda q: [q[1] - q[0], q[2]], dy_dq=lambda q: [[-1, 1, 0], [0, 0, 1]])
    law = ss.NewtonImpact(e=e, mu=0.2, dimension=2)
    return ss.NonsmoothSystem([a, b], [ss.Interaction("strike", ["a", "b"], between, law)])


def soft(stiffness=1000.0):
    """Return a mass with a compliant contact, whose law is at position level."""
    body = ss.Lagrangian("mass", M=1.0, q0=-0.01, v0=-0.5, F_ext=-9.81)
    pad = ss.systems.CompliantRelation(lambda q, lam: [q[0] + lam[0] / stiffness])
    return ss.NonsmoothSystem([body], [ss.Interaction("pad", "mass", pad, ss.laws.Complementarity())])


FAMILIES = {
    "swing": ss.systems.Family(swing, m=1.0, length=0.7, mu=0.3),
    "dry": ss.systems.Family(dry, level=3.0, m=2.0),
    "rod": ss.systems.Family(rod, length=1.0, m=2.0),
    "ball": ss.systems.Family(ball, mass=2.0),
    "pair": ss.systems.Family(pair, m=1.0, masses=[2.0, 1.0]),
}


def derivative(family, scheme, h, steps=0, kappa=0.0, solver=SOLVER):
    """Return the derivative of the step after `steps` steps."""
    system, state = PreparedSystem(family), first_state(family.system)
    memory = scheme.begin(system, state, h)
    for _ in range(steps):
        step = scheme.step(system, state, memory, h, solver)
        state, memory = step.state, step.memory
    options = {"h": h, "solver": solver, "scheme": scheme, "memory": memory, "kappa": kappa}
    return system_derivative(system, state, **options)


def moved(computed, scheme, name, change):
    """Return the end of the step with one input changed, as one array."""
    base = computed._equations.made
    state, memory, h = base.state, dict(base.memory), base.h
    system = base.prepared.system
    q, v = np.array(state.q), np.array(state.v)
    if name == "q":
        q += change
    elif name == "v":
        v += change
    elif name == "h":
        h += float(change[0])
    elif name == "h_before":
        memory["h"] = memory["h"] + change
    elif name == "approach":
        memory["approach"] = memory["approach"] + change
    else:
        family = base.prepared.family
        system = family.at({name: family.numbers[name].ravel() + change})
    if "y" in memory:  # outputs at the start, in the memory of Moreau-Jean
        y = np.zeros(system.size)
        for bound in system.interactions:
            lam = np.zeros(bound.law.size)
            y[bound.components] = bound.mechanical.y(state.t, q[bound.q], lam, state.z[bound.z])
        memory["y"] = y
    step = scheme.step(system, State(state.t, q, v, state.z), memory, h, SOLVER)
    assert step.solved
    return np.concatenate([step.state.q, step.state.v, step.r, step.memory.get("approach", np.zeros(0))])


def differences(computed, scheme, name):
    """Return the derivative of the end by an input, by differences of fourth order of whole steps."""
    size = int(np.prod(computed.by[name], dtype=int))
    columns = []
    for j in range(size):
        unit = np.zeros(size)
        unit[j] = 1e-3 * computed._equations.made.h if name in ("h", "h_before") else 2e-6
        far, near = (
            moved(computed, scheme, name, k * unit) - moved(computed, scheme, name, -k * unit)
            for k in (2.0, 1.0)
        )
        columns.append((8.0 * near - far) / (12.0 * unit[j]))
    return np.stack(columns, axis=1)


def matrix(computed, name):
    """Return the same matrix from the derivative."""
    parts = [of for of in ("q", "v", "r", "approach") if of in computed.of]
    return np.concatenate([computed.jacobian(of, name) for of in parts])
