"""Entries of MuJoCo's models that have no effect with hard contact, and checks for unsupported ones."""

from typing import Any

import numpy as np

from stickslip.detection.mujoco_library import load_mujoco
from stickslip.state import ModelError

SOLREF, SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)
"""MuJoCo's default values."""
SOFT = (
    ("geom", "ngeom", "geom_solref", "geom_solimp"), ("joint limit", "njnt", "jnt_solref", "jnt_solimp"),
    ("joint friction", "nv", "dof_solref", "dof_solimp"), ("equality", "neq", "eq_solref", "eq_solimp"),
    ("tendon limit", "ntendon", "tendon_solref_lim", "tendon_solimp_lim"),
    ("tendon friction", "ntendon", "tendon_solref_fri", "tendon_solimp_fri"),
    ("pair", "npair", "pair_solref", "pair_solimp"),
)  # fmt: skip

DISABLED = ("warmstart", "refsafe", "eulerdamp", "island", "autoreset")
ENABLED = ("fwdinv", "invdiscrete", "diagexact", "ipc", "speculative")
"""Flags of MuJoCo's that have no effect where they are disabled, and where they are enabled."""
OWNERS = {
    "body": "body", "jnt": "joint", "dof": "joint", "geom": "geom", "site": "site", "pair": "pair",
    "eq": "equality", "tendon": "tendon", "actuator": "actuator", "key": "key",
}  # fmt: skip
"""Kind of the elements that the rows of MuJoCo's arrays belong to, by prefix of the array."""
BOUNDED = ("geom_friction", "pair_friction", "dof_frictionloss", "tendon_frictionloss")
"""Arrays whose values must not be negative."""


def unused(model: Any) -> tuple[str, ...]:
    """Return a sentence for each entry of the model that has no effect with hard contact."""
    mujoco, sentences = load_mujoco(), []
    for noun, _, ref, imp in SOFT:
        for name, default in ((ref, SOLREF), (imp, SOLIMP)):
            values = getattr(model, name, np.zeros((0, len(default))))
            count = int((np.abs(values - np.array(default)) > 1e-12).any(axis=1).sum())
            if count:
                short = name.split("_")[1]
                sentences.append(f"{short} of {count} {noun}{'s' if count > 1 else ''}: contact here is hard")
    option = model.opt
    for name, usual, why in (
        ("impratio", 1.0, "friction here is exact"),
        ("noslip_iterations", 0.0, "friction here does not creep"),
    ):
        if getattr(option, name) != usual:
            sentences.append(f"option {name} = {getattr(option, name):g}: {why}")
    for name, usual in (
        ("iterations", 100),
        ("ls_iterations", 50),
        ("tolerance", 1e-8),
        ("ls_tolerance", 0.01),
    ):
        if getattr(option, name) != usual:
            sentences.append(f"option {name} = {getattr(option, name):g}: the solver is that of the run")
    for field, usual, why in (
        ("solver", mujoco.mjtSolver.mjSOL_NEWTON, "the solver is that of the run"),
        ("cone", mujoco.mjtCone.mjCONE_PYRAMIDAL, "the law of friction is exact"),
    ):
        if getattr(option, field) != usual:
            chosen = type(usual)(getattr(option, field)).name.split("_")[1].lower()
            sentences.append(f"option {field} = {chosen}: {why}")
    if option.enableflags & int(mujoco.mjtEnableBit.mjENBL_SLEEP):
        sentences.append("flag sleep: all bodies are in all steps")
    integrator = mujoco.mjtIntegrator(option.integrator)
    if integrator != mujoco.mjtIntegrator.mjINT_EULER:
        name = integrator.name.removeprefix("mjINT_").lower()
        sentences.append(f"option integrator = {name}: steps are those of the scheme")
    for flags, bits, prefix, value, names in (
        (option.disableflags, mujoco.mjtDisableBit, "mjDSBL", "disable", DISABLED),
        (option.enableflags, mujoco.mjtEnableBit, "mjENBL", "enable", ENABLED),
    ):
        for name in names:
            if flags & int(getattr(bits, f"{prefix}_{name.upper()}", 0)):
                sentences.append(f"flag {name} = {value}: it belongs to MuJoCo's own contact and steps")
    if option.enableflags & int(mujoco.mjtEnableBit.mjENBL_OVERRIDE):
        sentences.append("flag override: contacts keep the parameters of their geoms")
    return tuple(sentences)


def check(model: Any, name: str) -> None:
    """Raise a ModelError that names the first unsupported element of the model."""
    mujoco = load_mujoco()
    obj = mujoco.mjtObj
    for count, feature, kind in (
        (model.nflex, "flexible bodies (flex)", obj.mjOBJ_FLEX), (model.nplugin, "plugins", obj.mjOBJ_PLUGIN),
        (getattr(model, "nhistory", 0), "delays of actuators or sensors", None),
    ):  # fmt: skip
        if count:
            names = [] if kind is None else [mujoco.mj_id2name(model, kind, k) for k in range(count)]
            labels = ", ".join(repr(label) for label in names if label)
            prefix = f"{labels}: " if labels else ""
            raise ModelError(f"{name}: {prefix}{feature} are not supported; remove them from the model")
    body = int(mujoco.mjtTrn.mjTRN_BODY)
    for k in np.flatnonzero(model.actuator_trntype == body).tolist():
        label = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, k) or f"number {k}"
        raise ModelError(f"{name}: actuator {label!r}: adhesion is not supported; remove the actuator")
    if not model.nv:
        raise ModelError(f"{name}: the model has no degrees of freedom; give a body a joint")
    _check_numbers(model, name)


def _check_numbers(model: Any, name: str) -> None:
    """Raise a ModelError that names the first non-finite number, or negative coefficient of friction."""
    mujoco = load_mujoco()
    for kind, owner in OWNERS.items():
        code = getattr(mujoco.mjtObj, f"mjOBJ_{owner.upper()}")
        fields = [
            field for field in dir(model) if field.startswith(f"{kind}_") and not field.endswith("_user")
        ]
        # Computed fields come last, so that the message names the entry of the file.
        for field in sorted(fields, key=lambda field: field.endswith("0") or "inertia" in field):
            values = getattr(model, field)
            if not (isinstance(values, np.ndarray) and values.dtype.kind == "f" and values.size):
                continue
            rows = values.reshape(len(values), -1)
            friction = field in BOUNDED and not (rows >= 0.0).all()
            if np.isfinite(rows).all() and not friction:
                continue
            k = int(np.flatnonzero(~np.isfinite(rows).all(axis=1) | (friction & (rows < 0.0).any(axis=1)))[0])
            if kind == "dof":
                k = int(model.dof_jntid[k])
            label = mujoco.mj_id2name(model, code, k) or f"{owner}{k}"
            expected = "numbers from 0 on" if friction else "finite numbers"
            raise ModelError(
                f"{name}: {field.removeprefix(kind + '_')} of {owner} {label!r} is {rows[k].tolist()};"
                f" expected {expected}"
            )
    for field in ("gravity", "wind", "magnetic", "density", "viscosity"):
        if not np.isfinite(getattr(model.opt, field)).all():
            raise ModelError(f"{name}: {field} of <option> is not finite")
