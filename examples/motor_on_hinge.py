"""Two DC motors, circuits with diodes, drive hinges of a world: a flywheel, and an arm with a stop.

Purpose: combine a world and equations in one simulation. `world.as_system` converts the world to equations,
with its bodies and joints by name; a coupling connects current and hinge: the torque k i, and the back EMF k
ω. The flywheel reaches the speed V k / (R c + k²), and the arm at its stop draws the current V / R.
"""

import stickslip as ss

L, R, K, V, DRAG = 2e-3, 0.5, 0.1, 12.0, 1e-3  # H, ohm, N m/A, V, N m s


def circuit(name):
    """Circuit L di/dt = V - R i + lam with a diode, 0 <= i ⟂ lam >= 0."""
    coil = ss.FirstOrderLinear(name, M=L, A=-R, b=V, x0=[0.0])
    series = ss.systems.FirstOrderLinearRelation(C=[[1.0]], B=[[1.0]])
    return coil, ss.Interaction(f"{name}'s diode", name, series, ss.laws.Complementarity())


def motor(name, coil, joint):
    """Coupling of a motor: (voltage, torque) as a function of (current, speed)."""
    return ss.systems.Coupling(name, (coil, joint), lambda v: [-K * v[1], K * v[0]])


def build():
    """World of a flywheel with drag, and an arm with stops at ±1 rad."""
    b = ss.WorldBuilder(gravity=(0.0, 0.0, 0.0))
    b.body("wheel", ss.Cylinder(0.05, 0.02), position=(0, 0, 0), mass=1.0)
    b.joint("axle", "hinge", "wheel", point=(0, 0, 0), axis=(0, 0, 1))
    b.force(ss.forces.Damper("drag", "wheel", angular=DRAG))
    b.body("arm", ss.Capsule(0.02, 0.3), position=(1, 0, 0.2), mass=0.5)
    b.joint("elbow", "hinge", "arm", point=(1, 0, 0), axis=(0, 1, 0), limits=(-1.0, 1.0), e=0.2)
    b.apart("wheel", "arm")
    return b.build()


def main():
    """The run; its systems are bodies and circuits."""
    coils, diodes = zip(circuit("first coil"), circuit("second coil"), strict=True)
    motors = motor("drive", "first coil", "axle"), motor("servo", "second coil", "elbow")
    system = build().as_system(systems=coils, interactions=diodes, couplings=motors)
    return ss.simulate(system, until=2.0, h=5e-3)


def check(run):
    """Steady speed and current of the flywheel's motor; current and torque of the motor at the stop."""
    speed = V * K / (R * DRAG + K * K)
    assert abs(run.system("wheel").v[-1, 5] / speed - 1.0) < 1e-3
    assert abs(run.system("first coil").x[-1, 0] / (DRAG * speed / K) - 1.0) < 1e-2
    assert abs(run.system("second coil").x[-1, 0] / (V / R) - 1.0) < 1e-6
    stop = run.interaction("elbow: upper turning stop")
    assert abs(stop.r[-1, 0] / run.h[-1] / (K * V / R) - 1.0) < 1e-6
    assert min(run.system(name).x.min() for name in ("first coil", "second coil")) > -1e-9


if __name__ == "__main__":
    run = main()
    check(run)
    print(f"the wheel turns at {run.system('wheel').v[-1, 5]:.4g} rad/s; the arm is held at its stop")
