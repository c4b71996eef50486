"""Active contacts of a step: the threshold of the forecast gap, and the law of contacts below it.

A contact is active if its forecast gap y + γ h u_N is at most 0 (Acary & Brogliato 2008; Siconos Developer's
Notes 2017, (11.52)), and also if both its gap and its forecast gap are at most

    ε = SLACK h s,   s the largest speed of the contacts of the step [m/s].

A closed contact has y = 0 and u_N = 0 only up to the error of the last solve: the tolerance of the solver
times s for velocities, and h times that for gaps. With ε = 0 the sign of this error would decide, and a step
that omits a closed contact lets its bodies overlap by g h². Impacts are not affected: contacts that approach
from a distance beyond ε become active by their forecast.

For a contact that is active only because of ε, the law holds for u_N⁺ + y_m/h instead of u_N⁺, with y_m the
gap in the middle of the step, y + h/2 u_N (Anitescu & Tasora 2010 use y):

    0 <= u_N⁺ + y_m/h ⟂ r_N >= 0.

The contact has an impulse only if the velocity at the end would close the gap y_m within a step, so a contact
that is open, or opens, does not stick together. For a closed contact the next y_m is y_m + h u_N⁺ = 0 (with
θ = 1/2), so that gaps due to solver errors neither accumulate nor become overlaps. If restitution applies,
y_m + h u_N <= 0, the law remains that of impacts.

With stabilisation (Anitescu & Hart 2004) this is the law of every contact, including those that overlap:
y_m/h is negative then, and the bodies separate within a step. From middle to middle a step moves by h v⁺, for
any θ.
"""

from stickslip.kernels.jit import jit

SLACK = 1e-3
"""ε over h s [-]: ten times the loosest tolerance in use, 1e-4, and much less than the 1/2 of the
forecast."""


@jit
def threshold(h, speed):
    """Return ε [m] of a step of length h [s] with contacts of largest speed `speed` [m/s]."""
    return SLACK * h * speed


@jit
def takes_part(gap, forecast, slack):
    """Return whether a contact is active in a step; slack: ε [m]."""
    return forecast <= 0.0 or max(gap, forecast) <= slack


@jit
def stabilised_rate(gap, u, e, h):
    """Return y_m/h [m/s] of a contact with stabilisation, or e u_N of restitution if that is smaller.

    gap: y_m [m]; u: u_N before the step [m/s].
    """
    rate = gap / h
    if e > 0.0 and gap + h * u <= 0.0:
        return min(rate, e * min(u, 0.0))
    return rate


@jit
def gap_rate(gap, u, returns, h):
    """Return y_m/h [m/s] of a contact that is active only because of ε; 0 if the law is that of impacts.

    gap: y_m [m]; u: u_N before the step [m/s]; returns: whether the contact has restitution.
    """
    if not gap > 0.0 or (returns and gap + h * u <= 0.0):
        return 0.0
    return gap / h
