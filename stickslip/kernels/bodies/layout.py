"""Arrays that belong together, as kernels of bodies take them."""

from typing import NamedTuple

from stickslip.kernels.cones import Cones
from stickslip.state import Array, IntArray


class BodyArrays(NamedTuple):
    """Bodies of a world: what does not change from step to step."""

    row: IntArray
    """Place among the dynamic bodies, -1 for the others [-], shape (n,)."""
    mass: Array
    """[kg], shape (n,)."""
    J: Array
    """Inertia in the body's frame [kg m²], shape (n, 3, 3)."""
    J_inverse: Array
    """0 where a body is not dynamic [1/(kg m²)], shape (n, 3, 3)."""
    gravity: Array
    """[m/s²], shape (3,)."""
    radius: Array
    """Of balls about the centres of mass that hold the bodies [m], shape (n,); inf for planes."""
    M: Array
    """Mass matrices of the dynamic bodies [kg, kg m²], shape (nd, 6, 6)."""
    root: Array
    """F with M⁻¹ = F F' of each [1/√kg, 1/(√kg m)], shape (nd, 6, 6)."""


class ForceArrays(NamedTuple):
    """Forces beside gravity that need no Python, as `mechanics.forces.Forces` has them."""

    spring_body: IntArray
    """First and second body, -1 for the inertial frame [-], shape (ns, 2)."""
    spring_point: Array
    """In the frames of the bodies [m], shape (ns, 2, 3)."""
    stiffness: Array
    """[N/m], shape (ns,)."""
    length: Array
    """At rest [m], shape (ns,)."""
    damping: Array
    """[N s/m], shape (ns,)."""
    damper_body: IntArray
    """First and second body, -1 for the inertial frame [-], shape (nd, 2)."""
    damper_point: Array
    """In the frame of the first body [m], shape (nd, 3)."""
    linear: Array
    """[N s/m], shape (nd,)."""
    angular: Array
    """[N m s], shape (nd,)."""
    push_body: IntArray
    """Body that a constant force acts on [-], shape (np,)."""
    push_point: Array
    """Where it acts, in the frame of the body [m], shape (np, 3)."""
    push: Array
    """Force and moment, both inertial [N, N m], shape (np, 6)."""


class Contacts(NamedTuple):
    """Where shapes touch, as `detection.contacts.ContactSet` has it."""

    id: IntArray
    """[-], shape (nc,), increasing."""
    shape: IntArray
    """First and second shape [-], shape (nc, 2)."""
    body: IntArray
    """First and second body [-], shape (nc, 2)."""
    point: Array
    """Midway between the surfaces [m], shape (nc, 3)."""
    frame: Array
    """Rows n, t1, t2 [-], shape (nc, 3, 3)."""
    gap: Array
    """Signed distance along n [m], shape (nc,)."""
    law: Array
    """mu, mu_roll, mu_spin, e [-, m, m, -], shape (nc, 4)."""


class LastContacts(NamedTuple):
    """Contacts of the step before, from which those of a step take their names and their first impulses."""

    id: Array
    """Whole numbers, increasing [-], shape (m,)."""
    local: Array
    """Points in the frames of the two bodies [m], shape (m, 2, 3)."""
    frame: Array
    """Rows n, t1, t2 [-], shape (m, 3, 3)."""
    r: Array
    """Impulses N, T1, T2, rolling about t1, t2, torsion about n [N s, N m s], shape (m, 6)."""


class Active(NamedTuple):
    """Contacts that take part in a step, as blocks of a contact problem over p components."""

    contacts: Contacts
    """Those that take part."""
    local: Array
    """Their points in the frames of the two bodies [m], shape (nc, 2, 3)."""
    rows_of_M: IntArray
    """Dynamic bodies that each acts on, -1 for a side that does not answer [-], shape (nc, 2)."""
    K: Cones
    """Where impulses live."""
    u_bias: Array
    """What restitution, gaps and sides that do not answer prescribe [m/s, rad/s], shape (p,)."""
    guess: Array
    """Impulses of the last step [N s, N m s], shape (p,)."""
    approach: Array
    """Normal velocities before the step [m/s], shape (nc,)."""
    rows: Array
    """H' over both sides, of those too that do not answer [-, m], shape (p, 2, 6)."""
