"""A world as far as it can be drawn: strangers' files, and runs that blew up, have numbers that are none."""

from dataclasses import replace

import numpy as np

from stickslip.simulation.world_model import ShapeRecord, WorldModel
from stickslip.state import Array, BoolArray
from stickslip.view.browser.poses import unit_turns

LARGEST, SMALLEST = 1e30, 1e-30
"""Lengths that can be drawn, and coordinates up to the former [m]: their squares and ratios are numbers."""
LONGEST = 1e9
"""Longest straight part of a capsule that can be drawn, in radii."""


def drawable(model: WorldModel) -> WorldModel:
    """The model with unit quaternions, and with all else that cannot be drawn left out: lengths and points of
    shapes, so that they are of unknown looks, their places in the body, and gravity."""
    places = is_place(model.shape_position)
    turns, turned = unit_turns(model.shape_quaternion)
    sound = {id(shape): _is_sound(shape) for shape in model.shapes}
    good = places & turned & np.array([sound[id(shape)] for shape in model.shapes], bool)
    bare: dict[str, ShapeRecord] = {}
    shapes = tuple(
        shape if whole else bare.setdefault(shape.kind, ShapeRecord(shape.kind, (np.nan,)))
        for shape, whole in zip(model.shapes, good.tolist(), strict=True)
    )
    return replace(
        model, shapes=shapes, shape_quaternion=turns,
        shape_position=np.where(places[:, None], model.shape_position, 0.0),
        gravity=model.gravity if is_place(model.gravity[None])[0] else np.zeros(3),
    )  # fmt: skip


def is_place(x: Array) -> BoolArray:
    """Which of many points are within what can be drawn [-], shape (n,), bool."""
    return np.asarray((np.abs(x) <= LARGEST).all(axis=-1))  # not where one is NaN


def is_length(x: Array) -> BoolArray:
    """Which of many lengths can be drawn [-], shape (n,), bool."""
    return np.asarray((x >= SMALLEST) & (x <= LARGEST))


def _is_sound(shape: ShapeRecord) -> bool:
    """Whether all numbers of a shape can be drawn; whether they are those of its kind is for `meshes`."""
    if not is_length(np.array(shape.numbers)).all() or not (np.abs(shape.points) <= LARGEST).all():
        return False
    return (
        shape.kind != "capsule" or len(shape.numbers) != 2 or shape.numbers[1] <= LONGEST * shape.numbers[0]
    )
