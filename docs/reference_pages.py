"""Sphinx extension that generates the reference from the code when the docs are built.

It defines directives for the pages in docs/reference:

    public-names PAGE    every public name that belongs to the page, with signature, fields and members
    all-names            one line for every public name
    solver-options       every solver of the registry and its options
    scheme-options       every time scheme and its options
    scene-parameters     every scene and its parameters
    command-line         the output of `stickslip ... --help` for every command
"""

import io
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from inspect import getdoc
from types import ModuleType
from typing import Any, ClassVar

from docstrings import indented, list_table, markup
from docutils import nodes  # type: ignore[import-untyped]
from public_names import described, first_line, options_table
from rich.console import Console
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from stickslip import scenes
from stickslip.cli.main import build
from stickslip.doors import public_modules, table
from stickslip.extras import EXTRA_OF, pip_command
from stickslip.problem.sets import KINDS
from stickslip.schemes import registry as schemes
from stickslip.solvers import registry as solvers

DOORS = public_modules()
"""Modules whose `__all__` is public. A name of several modules is described under the first."""

PAGE_OF = {
    "solve": "solving",
    "simulate": "simulation",
    "stickslip.problem": "problems",
    "stickslip.problem.certificate": "solving",
    "stickslip.problem.existence": "solving",
    "stickslip.problem.residuals": "solving",
    "stickslip.problem.solution": "solving",
    "stickslip.solvers": "solvers",
    "stickslip.solvers.existence": "solving",
    "stickslip.solvers.impulses": "solving",
    "stickslip.solvers.registry": "solving",
    "stickslip.files": "files",
    "stickslip.files.meshes": "worlds",
    "stickslip.laws": "systems",
    "stickslip.systems": "systems",
    "stickslip.state": "systems",
    "stickslip.schemes": "simulation",
    "stickslip.simulation": "simulation",
    "stickslip.mechanics": "worlds",
    "stickslip.differentiation": "derivatives",
    "stickslip.gradients": "derivatives",
    "stickslip.mechanics.parameters": "derivatives",
    "stickslip.detection": "worlds",
    "stickslip.bench": "bench",
    "stickslip.exhibits": "view",
    "stickslip.export": "export",
    "stickslip.view": "view",
    "stickslip.robots": "robots",
    "stickslip.runs": "simulation",
    "stickslip.rotations": "worlds",
    "stickslip.scenes": "scenes",
    "stickslip.studies": "bench",
    "stickslip.sweeps": "sweeps",
    "stickslip.threads": "solving",
}
"""Page of a name, or of all names of a module and its submodules; the longest match counts."""

WIDTH = 88
"""Width of the help texts [characters]."""


@cache
def public_names() -> dict[tuple[str, str], ModuleType]:
    """Return the defining module of every public name, by public module (door) and name.

    The order is that of the doors and of the defining modules.
    """
    homes: dict[tuple[str, str], ModuleType] = {}
    for door in DOORS:
        for name in import_module(door).__all__:
            home = home_of(door, name)
            if home != "stickslip" or name not in table("stickslip"):
                homes.setdefault((_first_door(door, name, home), name), import_module(home))
    return dict(sorted(homes.items(), key=lambda item: (DOORS.index(item[0][0]), item[1].__name__)))


def home_of(door: str, name: str) -> str:
    """Return the module that defines a public name."""
    home = table(door).get(name, door)
    return home if home in (door, "stickslip") else home_of(home, name)


def _first_door(door: str, name: str, home: str) -> str:
    """Return `stickslip` if it exports the same object under this name, otherwise the door."""
    return "stickslip" if name in table("stickslip") and home_of("stickslip", name) == home else door


def page_of(name: str, home: str) -> str:
    """Return the page of the reference that describes a name."""
    if name in PAGE_OF:
        return PAGE_OF[name]
    parts = home.split(".")
    for size in range(len(parts), 0, -1):
        if page := PAGE_OF.get(".".join(parts[:size])):
            return page
    raise KeyError(f"{home}.{name} has no page in the reference; give its room one in PAGE_OF of {__file__}")


def link(name: str, door: str = "stickslip") -> str | None:
    """Return the link target of a public name or of its member (`World.pose`); None for other names.

    Names are searched in the given door and in `stickslip`; names with capitals also in the other doors.
    """
    head, _, member = name.partition(".")
    for each in (door, *DOORS):
        if (each, head) in public_names() and (each in (door, "stickslip") or not head.islower()):
            value = getattr(import_module(each), head)
            return f"{each}.{head}" if _has(value, member) else None
    return None


def _has(value: Any, member: str) -> bool:
    return not member or (not member.startswith("_") and hasattr(value, member))


class Written(SphinxDirective):
    """Base of directives whose content is generated as reStructuredText."""

    has_content: ClassVar[bool] = False
    optional_arguments = 1

    def lines(self) -> list[str]:
        """Return the lines of the content."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Return the parsed content."""
        self.env.note_reread()  # the code may have changed even if the page has not
        return self.parse_text_to_nodes("\n".join(self.lines()), allow_section_headings=True)


class PublicNames(Written):
    """Directive for all public names of one page."""

    def lines(self) -> list[str]:
        """Return the descriptions in the order of `public_names`."""
        page, lines, last = self.arguments[0], [], ""
        for (door, name), home in public_names().items():
            if page_of(name, home.__name__) != page:
                continue
            if door != last:
                lines += [f".. py:currentmodule:: {door}", ""]
                last = door
            value = getattr(import_module(door), name)
            lines += described(name, value, home, lambda each, door=door: link(each, door))  # type: ignore[misc]
        return lines


class AllNames(Written):
    """Directive for the index, with one line for every public name."""

    def lines(self) -> list[str]:
        """Return a table for every public module."""
        lines: list[str] = []
        for door in DOORS:
            module = import_module(door)
            rows = [
                (f":py:obj:`{name} <{door}.{name}>`", markup(first_line(getattr(module, name), home, name)))
                for (each, name), home in public_names().items()
                if each == door
            ]
            if rows:
                lines += [f"``{door}``", "", *list_table(("name", "description"), sorted(rows), (28, 72))]
        return lines


class SolverOptions(Written):
    """Directive for the options of all solvers."""

    def lines(self) -> list[str]:
        """Return a section for every solver with its summary, accepted sets and options."""
        lines: list[str] = []
        for name in solvers.names():
            entry = solvers.entry(name)
            kinds = [kind for kind in KINDS if kind in entry.accepts]
            accepted = "everything" if len(kinds) == len(KINDS) else ", ".join(kinds)
            law = "Coulomb's law" if entry.exact else entry.instead
            sentences = [f"Accepts {accepted}.", f"Solves {law}."]
            if entry.package in EXTRA_OF:
                sentences.append(f"Needs an extra: ``{pip_command(entry.package)}``.")
            lines += [*_heading(name), markup(entry.summary), "", " ".join(sentences), ""]
            home = import_module(entry.module)
            lines += [".. py:currentmodule:: stickslip.solvers", ""]
            lines += described(entry.cls, entry.load(), home, lambda each: link(each, "stickslip.solvers"))
        return lines


class SchemeOptions(Written):
    """Directive for the options of all time schemes."""

    def lines(self) -> list[str]:
        """Return a section for every scheme with its summary, its kind of models and its options."""
        lines: list[str] = []
        for name in schemes.names():
            entry = schemes.entry(name)
            models = {schemes.BODIES: "worlds of bodies", schemes.ROBOTS: "robots"}
            model = models.get(entry.order, f"{entry.order}-order systems")
            sentences = markup(
                f"Simulates {model}. In Python: `{entry.cls}`.", lambda each: link(each, "stickslip.schemes")
            )
            lines += [*_heading(name), markup(entry.summary), "", sentences, ""]
            lines += options_table(entry.options)
        return lines


class SceneParameters(Written):
    """Directive for the parameters of all scenes."""

    def lines(self) -> list[str]:
        """Return a section for every scene with its description and parameters."""
        lines: list[str] = []
        for heading, kind in (("Scenes that run", scenes.RUN), ("Scenes that are problems", scenes.PROBLEM)):
            lines += _heading(heading, "=")
            for name in scenes.names(kind):
                doc = getdoc(scenes.function(name)) or ""
                lines += [*_heading(name), *_scene(doc, scenes.parameters(name), scenes.meanings(name))]
        return lines


class CommandLine(Written):
    """Directive for the help texts of all commands."""

    def lines(self) -> list[str]:
        """Return a section for every command with its help text."""
        app = build()
        lines: list[str] = []
        for words in ((), *_commands(app, ())):
            lines += _heading(" ".join(("stickslip", *words)))
            lines += [".. code-block:: text", "", *indented(_help(app, words)), ""]
        return lines


def _commands(app: Any, before: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command and subcommand."""
    for name in app:
        if not name.startswith("-"):
            yield (*before, name)
            yield from _commands(app[name], (*before, name))


def _help(app: Any, words: tuple[str, ...]) -> list[str]:
    out = io.StringIO()
    app.help_print(
        list(words), console=Console(file=out, width=WIDTH, color_system=None, force_terminal=False)
    )
    return [line.rstrip() for line in out.getvalue().strip("\n").splitlines()]


def _scene(doc: str, parameters: dict[str, Any], meanings: dict[str, str]) -> list[str]:
    """Return the first paragraph of a scene's docstring, its parameters, and the other paragraphs."""
    paragraphs = [
        part for part in doc.split("\n\n") if part.partition(": ")[0].split(",")[0] not in parameters
    ]
    rows = [
        (f"``{key}``", f"``{default!r}``", markup(meanings.get(key, "")))
        for key, default in parameters.items()
    ]
    lines = [
        markup(paragraphs[0]),
        "",
        *list_table(("parameter", "default", "description"), rows, (18, 20, 62)),
    ]
    for part in paragraphs[1:]:
        lines += [markup(part), ""]
    return lines


def _heading(text: str, mark: str = "-") -> list[str]:
    return [markup(text), mark * (len(markup(text)) + 1), ""]


def not_of_the_house(app: Sphinx, domain: Any, node: nodes.Element) -> bool | None:
    """Suppress warnings about types that are not public (`Array`, `Callable`) and need no link target."""
    if domain is not None and domain.name == "py" and node.get("reftype") == "class":
        return None if link(str(node["reftarget"])) else True
    return None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives; called by Sphinx."""
    kinds: dict[str, Callable[..., Any]] = {
        "public-names": PublicNames,
        "all-names": AllNames,
        "solver-options": SolverOptions,
        "scheme-options": SchemeOptions,
        "scene-parameters": SceneParameters,
        "command-line": CommandLine,
    }
    for name, kind in kinds.items():
        app.add_directive(name, kind)  # type: ignore[arg-type]
    app.connect("warn-missing-reference", not_of_the_house)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
