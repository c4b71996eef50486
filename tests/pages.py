"""Small pages with hostile names, for tests of reports."""

import numpy as np

from stickslip.exhibits import Column, Curve, Figure, Page, Panel, Section, Table

HOSTILE = (
    "<script>window.hurt=1</script>",
    "<img src=x onerror=window.hurt=1>",
    "\"quoted\" 'twice' & ]]> --> </style></title></svg>",
    "a|b\\|c `d` *e* _f_ $x_1$ [g](h)",
    "bell\x07 \x1b[31mred\u202etfel\ud800 two\nlines",
    "_hidden",
    "漢字 ümlaut",
)
"""Names of problems with markup, quotes and control characters."""

SOLVERS = ("nsgs", "ipm:variant=simple", "auto")

TIMES = (0.5, None, 1e-3, float("nan"), 20.0, 2.5e-5, 3.0)
"""Times of the problems for every solver [s]; None: not run, NaN: unknown."""


def runs(repeated: int = 1) -> Table:
    """Return a table with a run of every solver on every problem, `repeated` times."""
    rows = [
        (name, solver, time, k, "a reason that is long enough to be folded onto more than one line")
        for _ in range(repeated)
        for k, (name, time) in enumerate(zip(HOSTILE, TIMES, strict=True))
        for solver in SOLVERS
    ]
    return Table("All <runs>", ("problem", "solver", Column("time [s]", ".3g"), "iterations", "reason"), rows)


def profile(title: str = "profile") -> Panel:
    """Return a panel with a step curve for every solver, as in performance profiles."""
    x = np.array([1.0, 3.0, 10.0, 200.0])
    curves = [Curve(name, x, np.array([0.1, 0.3, 0.7, 0.9]) + 0.03 * k) for k, name in enumerate(SOLVERS)]
    return Panel(title, "factor", "share", curves, log_x=True, steps=True, y_range=(0.0, 1.02))


def errors(title: str = HOSTILE[2]) -> Panel:
    """Return a panel with points over many decades, a curve with a gap, a level, and hostile names."""
    x = np.array([1.0, 2.0, 3.0, 4.0])
    y = np.array([1.0, np.nan, 0.0, 1e-9])
    curves = [Curve("nsgs", x, y, "o"), Curve("nsgs", x, y), Curve(HOSTILE[0], x, y, "--")]
    return Panel(title, HOSTILE[3], HOSTILE[0], curves, log_y=True, level=1e-8)


def page(repeated: int = 1) -> Page:
    """Return a page with every kind of content."""
    small = Table("Solved", ("solver", "solved", "time [s]", "exact"), [("nsgs", 3, 0.25, True)], "A <note>.")
    return Page(
        "Three solvers & <seven> problems",
        ["auto solves <all> of them.", HOSTILE[0]],
        [
            Section("Solved", ["One & two.", HOSTILE[2]], [small]),
            Section("Profiles", figures=[Figure("Both", [profile(), errors()]), Figure("One", [profile()])]),
            Section("All runs", ["One line per run."], [runs(repeated)], folded=True),
            Section("Environment", code="if a < b && c:\n    print('```')\n</code></pre>"),
        ],
    )
