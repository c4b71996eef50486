"""Which contacts take part in a step: the threshold of the forecast gap, and the law of contacts below it.

A contact takes part where its forecast gap y + γ h u_N is at most 0 (Acary & Brogliato 2008; Siconos
Developer's Notes 2017, (11.52)), and also where both its gap and its forecast gap are at most

    ε = SLACK h s,   s the largest speed of the contacts of the step [m/s].

A contact that bears has y = 0 and u_N = 0 only as exactly as its last problem was solved: velocities are good
to the tolerance of the solver times s, gaps to h times that. With ε = 0 the sign of that error would decide,
and a step in which a bearing contact is left out moves its bodies by g h² into each other. Impacts are not
concerned: what approaches from further away than ε takes part when its forecast says so.

A contact that takes part by ε alone is stated on u_N⁺ + y_m/h in place of u_N⁺, with y_m the gap in the
middle of the step, y + h/2 u_N (Anitescu & Tasora 2010 have y):

    0 <= u_N⁺ + y_m/h ⟂ r_N >= 0.

It pushes only if the velocity at the end would close the gap y_m within a step, so a contact that is open, or
opens, is not held. A bearing contact closes what the solver left open: its next y_m is y_m + h u_N⁺ = 0 (with
θ = 1/2), so that these gaps neither add up over many steps nor become overlaps. Where restitution would
return the approach, y_m + h u_N <= 0, the law stays that of impacts.

With stabilisation (Anitescu & Hart 2004) that is the law of every contact, of those that overlap, too: y_m/h
is negative then, and they are pushed apart within a step. From middle to middle a step moves by h v⁺,
whatever θ is.
"""

from stickslip.kernels.jit import jit

SLACK = 1e-3
"""ε over h s [-]: ten times the loosest tolerance in use, 1e-4, and far below 1/2, the share of a step that
the forecast itself looks ahead."""


@jit
def threshold(h, speed):
    """ε [m] of a step of length h [s] in which contacts move at most at `speed` [m/s]."""
    return SLACK * h * speed


@jit
def takes_part(gap, forecast, slack):
    """Whether a contact takes part in a step; slack: ε [m]."""
    return forecast <= 0.0 or max(gap, forecast) <= slack


@jit
def stabilised_rate(gap, u, e, h):
    """y_m/h [m/s] of a contact with stabilisation, or what restitution e asks for where that is more.

    gap: y_m [m]; u: u_N before the step [m/s].
    """
    rate = gap / h
    if e > 0.0 and gap + h * u <= 0.0:
        return min(rate, e * min(u, 0.0))
    return rate


@jit
def gap_rate(gap, u, returns, h):
    """y_m/h [m/s] of a contact that takes part by ε alone; 0 where the law stays that of impacts.

    gap: y_m [m]; u: u_N before the step [m/s]; returns: whether the contact has restitution.
    """
    if not gap > 0.0 or (returns and gap + h * u <= 0.0):
        return 0.0
    return gap / h
