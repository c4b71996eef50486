"""Parts of exported scenes: triangles on bodies, and contacts with their forces."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.export.records import Block, ExportError, Run, records
from stickslip.rotations import turned
from stickslip.simulation.world_model import WorldModel
from stickslip.state import Array, IntArray
from stickslip.view.browser.instances import (
    INSTANTS,
    Instances,
    Surroundings,
    drawable,
    instances_of,
    surroundings_of,
)
from stickslip.view.browser.stage import STATE_COLOURS, shown_state

STATES = tuple(STATE_COLOURS)
"""States of contacts by code."""
NO_ROWS = np.zeros(0, np.int64)


def with_shapes(run: Run, path: Any) -> Run:
    """Return the run; raise an ExportError for `path` if it has no bodies with shapes."""
    if not run.of_world:
        raise ExportError(f"{path}: a run of written equations has no bodies; export its tables")
    if not run.model.shapes:
        raise ExportError(f"{path}: the bodies of this run have no shapes; export its tables")
    return run


def instances(run: Run) -> tuple[WorldModel, Surroundings, tuple[Instances, ...]]:
    """Drawable model of a run, its surroundings, and instances of meshes on its bodies, as in the viewer:
    planes are squares around the scene."""
    model = drawable(run.model)
    around = surroundings_of(model, np.concatenate([part.poses for part in _instants(run)]))
    return model, around, instances_of(model, around)[0]


def _instants(run: Run) -> list[Run]:
    """Some evenly spaced records of a run, as separate runs."""
    some = np.unique(np.linspace(0, len(run) - 1, INSTANTS).round().astype(np.int64))
    return [records(run, k, k + 1) for k in some.tolist()]


def usual_force(run: Run) -> float:
    """Typical contact force [N]: the 0.9 quantile of acting forces; 1 without forces."""
    forces = np.concatenate([part.contacts.force(part.h)[0] for part in _instants(run)])
    sizes = np.linalg.norm(forces, axis=1)
    sizes = sizes[np.isfinite(sizes) & (sizes > 0.0)]
    return float(np.quantile(sizes, 0.9)) if sizes.size else 1.0


@dataclass(frozen=True, eq=False)
class Surfaces:
    """Triangles of all shapes of a world by body, in the frames in which the user defined the shapes."""

    vertices: Array
    """Corners in the frame of the body [m], shape (nv, 3)."""
    vertex_body: IntArray
    """Body of each corner, ascending [-], shape (nv,)."""
    triangles: IntArray
    """Rows of `vertices`, counter-clockwise seen from outside [-], shape (nt, 3)."""
    triangle_body: IntArray
    """Body of each triangle, ascending [-], shape (nt,)."""

    def of(self, body: int) -> tuple[Array, IntArray]:
        """Corners of one body, and its triangles as rows of these."""
        first, last = np.searchsorted(self.vertex_body, [body, body + 1])
        here = slice(*np.searchsorted(self.triangle_body, [body, body + 1]))
        return self.vertices[first:last], self.triangles[here] - first


def surfaces(model: WorldModel, groups: tuple[Instances, ...]) -> Surfaces:
    """Triangles of the instances of meshes on bodies."""
    corners, owners, faces, face_owners = [np.zeros((0, 3))], [NO_ROWS], [NO_ROWS.reshape(0, 3)], [NO_ROWS]
    count = 0
    for group in groups:
        n, nv = len(group), len(group.mesh.vertices)
        local = group.scale[:, None, :] * group.mesh.vertices
        turns = np.broadcast_to(group.quaternion[:, None, :], (n, nv, 4))
        place = group.position - model.origin[group.body]
        corners.append((place[:, None, :] + turned(turns, local)).reshape(-1, 3))
        owners.append(np.repeat(group.body, nv))
        shift = count + nv * np.arange(n)[:, None, None]
        faces.append((group.mesh.triangles + shift).reshape(-1, 3))
        face_owners.append(np.repeat(group.body, len(group.mesh.triangles)))
        count += n * nv
    owner, face_owner = np.concatenate(owners), np.concatenate(face_owners)
    order, face_order = np.argsort(owner, kind="stable"), np.argsort(face_owner, kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    return Surfaces(
        np.concatenate(corners)[order], owner[order], number[np.concatenate(faces)[face_order]],
        face_owner[face_order],
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Contacts:
    """Contacts of the exported records of a block, record by record."""

    count: IntArray
    """Number of contacts of each record [-], shape (k,)."""
    point: Array
    """Points midway between the two surfaces [m], shape (nc, 3)."""
    normal: Array
    """Normals from the second body to the first [-], shape (nc, 3)."""
    force: Array
    """Mean forces on the first body over the preceding step, inertial frame [N], shape (nc, 3)."""
    gap: Array
    """Signed distances of the surfaces [m], shape (nc,)."""
    body: IntArray
    """First and second body [-], shape (nc, 2)."""
    state: IntArray
    """State of each contact as index of `STATES` [-], shape (nc,)."""


def contacts(block: Block) -> Contacts:
    """Contacts of a block of a world."""
    part, rows = block.part, block.contacts
    assert part.of_world
    view, names = part.contacts, part.contact_states[rows]
    code = {name: STATES.index(shown_state(name)) for name in set(names.tolist())}
    return Contacts(
        count=block.counts, point=view.point[rows], normal=view.frame[rows, 0],
        force=view.force(part.h)[0][rows], gap=view.gap[rows], body=view.body[rows],
        state=np.array([code[name] for name in names.tolist()], np.int64),
    )  # fmt: skip
