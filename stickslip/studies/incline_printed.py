"""The tables of the GAMS post as printed ("Complementarity frictional contact in GAMS", May 2014).

Forces on the whole box [N]. A cell that was not run is printed as 0 there and is None here; the support
table there says which these are (its "miles, path: dual nlp YES" has no result).
"""

MODELS = ("dual qcp", "dual nlp", "primal qcp", "primal nlp", "EOM")
"""Columns of its tables."""

FLAT_NORMAL: dict[str, tuple[float | None, ...]] = {
    "conopt": (9.81, 9.81, 9.81, 9.81, None),
    "cplex": (9.699811889, None, 9.81000067, None, None),
    "gurobi": (10.00146358, None, 9.812432398, None, None),
    "ipopt": (9.81004453, 9.81004453, 9.810017486, 9.810017486, None),
    "minos": (9.810051932, 9.810051932, 9.81, 9.81, None),
    "knitro": (9.812031608, 9.812031608, 10.33712774, 10.33712774, None),
    "lindo": (39.24048097, None, 9.810070548, None, None),
    "pathnlp": (None, 9.809653585, None, 9.80965966, None),
    "miles": (None, None, None, None, 9.81),
    "path": (None, None, None, None, 9.809913388),
}
FLAT_TANGENTIAL: dict[str, tuple[float | None, ...]] = {
    "conopt": (0.0, 0.0, 1.63e-16, 1.63e-16, None),
    "cplex": (9.15e-12, None, 3.68e-20, None, None),
    "gurobi": (4.82e-11, None, -2.35e-16, None, None),
    "ipopt": (-2.03e-16, -2.03e-16, -6.94e-07, -6.94e-07, None),
    "minos": (0.0, 0.0, 0.0, 0.0, None),
    "knitro": (-2.44e-16, -2.44e-16, -1.18e-17, -1.18e-17, None),
    "lindo": (6.36e-14, None, 1.21e-19, None, None),
    "pathnlp": (None, 0.0, None, 0.0, None),
    "miles": (None, None, None, None, 0.0),
    "path": (None, None, None, None, 0.0),
}
SLOPE_NORMAL: dict[str, tuple[float | None, ...]] = {
    "conopt": (8.890880015, 8.890880015, 8.903193995, 8.903193995, None),
    "cplex": (8.887833911, None, 8.890880643, None, None),
    "gurobi": (8.516675409, None, 8.943110478, None, None),
    "ipopt": (8.890897594, 8.890897594, 8.900874991, 8.900874991, None),
    "minos": (8.890898214, 8.890898214, 8.891385779, 8.891385779, None),
    "knitro": (8.890953799, 8.890953799, 9.988990071, 9.988990071, None),
    "lindo": (35.56570555, None, 8.891402252, None, None),
    "pathnlp": (None, 8.890879976, None, 8.890982302, None),
    "miles": (None, None, None, None, 8.890880015),
    "path": (None, None, None, None, 8.890880079),
}
SLOPE_TANGENTIAL: dict[str, tuple[float | None, ...]] = {
    "conopt": (4.145881897, 4.145881897, 4.141172311, 4.141172311, None),
    "cplex": (4.146100806, None, 4.145881789, None, None),
    "gurobi": (4.346501223, None, 4.120027138, None, None),
    "ipopt": (4.145873977, 4.145873977, 4.135891029, 4.135891029, None),
    "minos": (4.146010481, 4.146010481, 4.145469386, 4.145469386, None),
    "knitro": (4.145843537, 4.145843537, 3.742626642, 3.742626642, None),
    "lindo": (16.5822553, None, 4.145673861, None, None),
    "pathnlp": (None, 4.145881917, None, 4.145831445, None),
    "miles": (None, None, None, None, 4.145881897),
    "path": (None, None, None, None, 4.145881833),
}
