"""`stickslip bench`: collections of problems, campaigns of solvers on them, and what came of it."""

from importlib import import_module

from cyclopts import App

VERBS = ("record", "collect", "run", "report")
"""One module of this room each, `bench_VERB`, with a function of that name."""

HELP = """Compare solvers on collections of problems.

record writes the contact problems that a scene meets, collect makes the standard
collection, run gives problems to solvers, report shows what came of it.

For example:
  stickslip bench collect --out standard
  stickslip bench run --problems standard --solvers nsgs,prox,auto --out results.h5
  stickslip bench report results.h5 --out report.html"""


def bench(sort_key: int) -> App:
    """The verbs of `stickslip bench`; `sort_key`: their place among the other verbs."""
    app = App(name="bench", help=HELP, help_format="plaintext", sort_key=sort_key)
    for order, verb in enumerate(VERBS):
        function = getattr(import_module(f"stickslip.cli.bench_{verb}"), verb)
        app.command(function, name=verb, sort_key=order)
    return app
