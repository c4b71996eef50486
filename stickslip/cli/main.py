"""The command-line application: parse the arguments, run a verb, and convert exceptions to exit codes.

The modules of the verbs import NumPy, Numba and other large packages only when a verb runs, so that
`stickslip --help` is fast. (Registering the verbs by import path would save a few milliseconds more,
but then cyclopts would show no summaries of the verbs, or no help of a verb.)
"""

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from cyclopts import App, CycloptsError, Parameter

from stickslip import __version__
from stickslip.cli.errors import ExitCode, InputError, complain, os_sentence, stop_code, stop_word, stoppable
from stickslip.extras import explained
from stickslip.renames import RenamedWarning

VERBS = (
    "info", "solve", "convert", "solvers", "schemes", "scenes", "run", "view", "plot", "export", "demo",
    "bifurcation", "sweep", "sweep-report", "check", "study", "cache", "doctor",
)  # fmt: skip
"""Verbs; each is a function of that name in the module of that name in `stickslip.cli`."""
BENCH_VERBS = ("record", "collect", "run", "report")
"""Verbs of `stickslip bench`, in modules `bench_VERB`."""

NARROWEST = 20
"""Smallest width of a terminal that is used [characters]; COLUMNS below it is ignored."""

HELP = """Nonsmooth contact dynamics with exact friction and a certificate for every answer.

Problems are read from FCLIB files (.hdf5) and from text files (.dat).

Exit status: 0 success; 1 a solve missed its tolerance, or a check failed; 2 bad
input, explained by one sentence on stderr; 130 stopped by Ctrl+C, 143 by SIGTERM."""


BENCH_HELP = """Compare solvers on collections of problems.

record writes the contact problems of a scene to files, collect makes the standard
collection, run solves problems by several solvers, report summarises the results.

For example:
  stickslip bench collect --out standard
  stickslip bench run --problems standard --solvers nsgs,prox,auto --out results.h5
  stickslip bench report results.h5 --out report.html"""


def build() -> App:
    """Build the command-line application."""
    app = App(
        name="stickslip",
        help=HELP,
        version=__version__,
        help_format="plaintext",
        # File names may begin with a bracket; they are not JSON.
        default_parameter=Parameter(negative=(), json_list=False, json_dict=False),
        # Errors are raised to `main`, which prints them as one sentence.
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
        result_action="return_value",
    )
    bench = App(name="bench", help=BENCH_HELP, help_format="plaintext", sort_key=len(VERBS))
    for within, before, verbs in ((app, "", VERBS), (bench, "bench_", BENCH_VERBS)):
        for order, verb in enumerate(verbs):
            place = verb.replace("-", "_")
            function = getattr(import_module(f"stickslip.cli.{before}{place}"), place)
            within.command(function, name=verb, sort_key=order)
    app.command(bench)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `stickslip` with `arguments` (by default those of the process); return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # Text that the terminal or UTF-8 cannot represent is escaped instead of raising an error.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if not os.environ.get("COLUMNS", "80").isdigit() or int(os.environ.get("COLUMNS", "80")) < NARROWEST:
        os.environ.pop("COLUMNS")  # rich does not terminate at a width of two columns
    try:
        with stoppable(), _sentences():
            code = build()(list(sys.argv[1:] if arguments is None else arguments))
        if sys.stdout is not None:
            sys.stdout.flush()  # raise errors of a full disk or a closed pipe here, not at exit
        return int(code or 0)
    except CycloptsError as error:
        sentence = str(error)
        complain(sentence[:1].lower() + sentence[1:])
    except InputError as error:
        complain(str(error))
    except ImportError as error:  # a package is missing or broken
        complain(str(explained(error, "this")))
    except KeyboardInterrupt as stop:
        complain(stop_word(stop))
        return stop_code(stop)
    except BrokenPipeError:
        _abandon_stdout()
        return ExitCode.BROKEN_PIPE
    except SystemExit as exit_request:
        # Rich, which prints the help, raises SystemExit on a closed pipe.
        if isinstance(exit_request.__context__, BrokenPipeError):
            return ExitCode.BROKEN_PIPE
        raise
    except OSError as error:
        complain(os_sentence(error))
        _abandon_stdout()
    except MemoryError as error:
        complain(f"out of memory{': ' if str(error) else ''}{error}")
    return ExitCode.BAD_INPUT


@contextmanager
def _sentences() -> Iterator[None]:
    """Show warnings of renamed functions and options as sentences on stderr."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", RenamedWarning)
        warnings.showwarning = lambda message, *_, **__: complain(str(message))
        yield


def _abandon_stdout() -> None:
    """Discard the buffered output, so that Python does not fail on it again at exit."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except (OSError, ValueError, AttributeError):
            return
