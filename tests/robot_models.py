"""MJCF models of robots."""

FLOOR = '<geom name="floor" type="plane" size="9 9 .1"/>'


def scene(bodies: str, rest: str = "", h: float = 0.002, options: str = "") -> str:
    """Return MJCF with the given bodies."""
    return f'<mujoco><option timestep="{h}" {options}/><worldbody>{bodies}</worldbody>{rest}</mujoco>'


def gripper() -> str:
    """A gripper with two pads that press on a box of 300 g, lifted by a servo."""
    pads = "".join(
        f"""<body name="pad_{name}" pos="{0.06 * s} 0 -.08">
        <joint name="{name}" type="slide" axis="{s} 0 0" range="-.06 .02"/>
        <geom type="box" size=".01 .02 .05" mass=".1" friction=".8 .005 .0001"/></body>"""
        for name, s in (("a", 1), ("b", -1))
    )
    return scene(
        f"""<body name="hand" pos="0 0 .5"><joint name="lift" type="slide" axis="0 0 1" damping="1"/>
        <geom type="box" size=".1 .03 .02" mass="1" contype="0" conaffinity="0"/>{pads}</body>
        <body name="box" pos="0 0 .42"><freejoint name="free"/>
        <geom type="box" size=".0499 .02 .03" mass=".3" friction=".8 .005 .0001"/></body>""",
        """<actuator><position joint="lift" kp="4000" kv="120"/><motor name="close_a" joint="a" gear="-1"/>
        <motor name="close_b" joint="b" gear="-1"/></actuator>""",
    )


def slope(angle: float, mu: float) -> str:
    """A box on a plane that is inclined by `angle` about y [rad]."""
    return scene(
        f"""<geom type="plane" size="9 9 .1" euler="0 {angle} 0" friction="{mu} .005 .0001"/>
        <body name="box" euler="0 {angle} 0" pos="0 0 0"><freejoint/>
        <geom type="box" size=".1 .1 .05" pos="0 0 .05" mass="1" friction="{mu} .005 .0001"/></body>""",
        options='gravity="0 0 -9.81"',
    ).replace("<mujoco>", '<mujoco><compiler angle="radian"/>')


def ball(height: float) -> str:
    """A ball above the floor."""
    return scene(
        f'{FLOOR}<body name="ball" pos="0 0 {height}"><freejoint name="ball"/>'
        '<geom name="skin" size=".05" mass="1"/></body>',
        h=1e-3,
    )


def pendulum(friction: float = 0.0, damping: float = 0.0, h: float = 1e-3) -> str:
    """A point mass of 1 kg at 1 m from a hinge about y, which hangs down at angle 0."""
    return scene(
        f"""<body name="rod" pos="0 0 2"><joint name="hinge" axis="0 1 0" frictionloss="{friction}"
        damping="{damping}"/><inertial pos="0 0 -1" mass="1" diaginertia="1e-6 1e-6 1e-6"/></body>""",
        h=h,
    )


def four_bar(crank: float = 0.5, rocker: float = 0.5) -> str:
    """A four-bar linkage closed by a hard equality with the ground, by default a parallelogram."""
    link = '<geom type="capsule" fromto="0 0 0 {} 0 {}" size=".02" mass="1" contype="0" conaffinity="0"/>'
    return scene(
        f"""<body name="crank" pos="0 0 1"><joint name="crank" axis="0 1 0"/>{link.format(0, crank)}
        <body name="coupler" pos="0 0 {crank}"><joint name="coupler" axis="0 1 0"/>{link.format(1, 0)}
        <body name="rocker" pos="1 0 0"><joint name="rocker" axis="0 1 0"/>{link.format(0, -rocker)}
        <site name="end" pos="0 0 {-rocker}"/></body></body></body>
        <site name="ground" pos="1 0 {1.0 + crank - rocker}"/>""",
        '<equality><connect name="pin" site1="end" site2="ground"/></equality>',
        h=1e-3,
    )
