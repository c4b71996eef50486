"""What stands behind a report: conditions, machine, measure, how to have it again, and its limits."""

from stickslip.bench.environment import Environment
from stickslip.bench.reports.subject import identity, is_peer, listed
from stickslip.bench.results import Results
from stickslip.exhibits import Cell, Section, Table, power


def setting_sections(results: Results, time: str) -> list[Section]:
    """How it was measured, where, how to reproduce it, and what the figures do not say."""
    return [_measured(results, time), _environment(results), _reproduce(results), _limits(results)]


def _measured(results: Results, time: str) -> Section:
    said = results.conditions
    chosen = {"wall": "wall time (--time cpu compares the other)", "cpu": "processor time"}[time]
    return Section(
        "What is measured",
        [
            f"Success is the judge's word, never the solver's: {said.measure} at most the tolerance, for"
            f" problems with equations of motion equilibrium and joints too, and no contact that still"
            f" closes fast. natural = |r - P_K(r - u_hat)| / max(|u_free|, |r|, |u|); natural_scaled is"
            f" the same with steps rho_i = 1 / mean diag W_ii, which does not depend on units.",
            f"Times are of the whole call, answer and certificate included: the shortest of up to"
            f" {said.best_of} calls in a warm process, compilation apart. Fewer calls are timed where they"
            f" take long. Compared is {chosen}. A run is stopped after {said.timeout:g} s or at"
            f" {said.memory:g} MiB, and then it has not solved.",
            "A run that was not made is missing: it counts for nobody and against nobody. A refusal (a"
            " kind of problem that a solver does not take) counts as not solved in profiles, and is told"
            " apart in tables.",
        ],
        [
            Table(
                "Conditions",
                ["condition", "value"],
                [
                    ("tolerances", listed([power(t) for t in said.tolerances])),
                    ("time limit of a run [s]", f"{said.timeout:g}"),
                    ("memory limit of a run [MiB]", f"{said.memory:g}"),
                    ("calls timed, at most", str(said.best_of)),
                    ("runs side by side", str(said.workers)),
                    ("measure", said.measure),
                ],
            )
        ],
    )


def _environment(results: Results) -> Section:
    own = results.conditions.environment
    others = list(
        dict.fromkeys(run.environment for run in results.runs if run.environment not in (None, own))
    )
    tables = [_environment_table("Machine and versions", own)]
    for k, place in enumerate(others, 2):
        if place is not None:
            tables.append(_environment_table(f"Machine and versions {k}", place))
    text = []
    if others:
        text.append(
            f"Runs were made in {len(others) + 1} environments; times of different machines do not compare."
        )
    sources = sorted({(run.solver, run.source) for run in results.runs if run.source})
    if sources:
        rows = [(solver, source) for solver, source in sources]
        tables.append(Table("What ran beside stickslip", ["solver", "source"], rows))
    return Section("Environment", text, tables)


def _environment_table(title: str, place: Environment) -> Table:
    rows: list[tuple[Cell, ...]] = [
        ("processor", place.processor), ("cores", str(place.cores)), ("memory [GiB]", f"{place.memory:g}"),
        ("system", place.system), ("python", place.python), ("stickslip", place.stickslip),
        ("code of stickslip", place.code),
    ]  # fmt: skip
    rows += [(name, version or "not installed") for name, version in place.packages]
    return Table(title, ["what", "which"], rows)


def _reproduce(results: Results) -> Section:
    place = results.conditions.environment
    recipes = sum(bool(entry.recipe) for entry in results.problems)
    text = [
        f"The collection has the identity {identity(results)}: the hash of the hashes of its problems. On the"
        f" same machine the same recipes give the same bytes; on another the last digits of problems made by"
        f" simulation may differ, and then the identity says so. {recipes} of {len(results.problems)}"
        f" problems have a recipe, the others are recorded files.",
        f"With stickslip {place.stickslip} (code {place.code}) and the versions above. The command takes up"
        " where it was interrupted, and runs nothing twice.",
    ]
    return Section("How to reproduce", text, code=results.command)


def _limits(results: Results) -> Section:
    said = results.conditions
    text = [
        "Times are of one machine, and if others work on it they share its caches and memory; differences"
        " of 10 to 20 % mean little. That is why a loss begins at a factor of 1.5.",
        "Solvers are run on one thread; who gains by several is not shown.",
        "The families are those of this collection: they say nothing of problems unlike them, and a family"
        " with many problems weighs more in all figures over all families than one with few.",
        "Solvers run with the options in the table of all runs (with --format csv), mostly their"
        " defaults; who knows a solver well may make it faster.",
        "Solvers that stop by a measure of their own may go further than the tolerance asks, and lose time by"
        " it, or stop short of it, and lose the problem.",
    ]
    if any(is_peer(solver) for solver in results.solvers):
        text.append(
            "Solvers of Siconos are tried in every storage that suits the problem, at tolerances of their own"
            " from loose to tight, and the fastest setting whose answer the judge accepts counts: what the"
            " search took is not in their times, which are of the call of the solver alone, without"
            " reading the problem and without the judge. Both favour them."
        )
    if said.workers > 1:
        text.insert(1, f"{said.workers} runs were made side by side, and slow each other.")
    return Section("What the figures do not say", text)
