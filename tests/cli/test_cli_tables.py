"""Printing: strict JSON, tables that keep every number, options as they are written."""

import io
import json
import math

import pytest

from stickslip.cli.errors import complain
from stickslip.cli.progress import watch
from stickslip.cli.tables import duration, pairs, print_json, table
from stickslip.options import allowed, option, parsed


def test_json_is_strict(capsys):
    print_json({"a": [math.nan, math.inf, -math.inf, 1.5], "b": {"c": math.nan}, "d": ("x", None, True, 3)})
    text = capsys.readouterr().out
    assert json.loads(text, parse_constant=pytest.fail) == {
        "a": [None, None, None, 1.5], "b": {"c": None}, "d": ["x", None, True, 3],
    }  # fmt: skip


def test_a_table_keeps_every_number_and_long_name(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    name, numbers = "deep/" * 30 + "x.hdf5", [f"{k}.123456789e-{k:02d}" for k in range(10, 20)]
    columns = [f"column {k}" for k in range(10)]
    table(["file", *columns], [[name, *numbers]], numbers=columns)
    out = capsys.readouterr().out
    assert name in out
    assert all(number in out for number in numbers)
    assert "\x1b[" not in out
    assert all(line == line.rstrip() for line in out.splitlines())


def test_a_narrow_terminal_folds_names_but_no_number(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "30")
    table(["file", "natural"], [["long" * 30, "1.234567890123e-10"]], ["natural"], folds=["file"])
    assert "1.234567890123e-10" in capsys.readouterr().out


def test_data_is_not_markup_and_sends_no_codes(capsys):
    pairs("[red]title\x1b[31m", [("name", "[bold]x[/bold] :smile: \x1b[0m"), ("empty", "")])
    out = capsys.readouterr().out
    assert "[bold]x[/bold] :smile:" in out
    assert "\x1b" not in out
    assert "empty" not in out


def test_a_complaint_is_one_printable_line(capsys):
    complain("two\nlines\x07 \udc80")
    assert capsys.readouterr().err == "stickslip: two lines\\x07 \\udc80\n"


@pytest.mark.parametrize(
    ("seconds", "text"), [(12.3456, "12.3 s"), (0.0123, "12.3 ms"), (4e-6, "4 µs"), (0.0, "0 µs")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_no_progress_in_a_pipe():
    with watch("work") as progress:
        assert progress is None


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_goes_away(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with watch("[work]") as progress:
        progress(120, 3.2e-5)
    assert "[work]: 120 iterations, error 3.2e-05" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")  # the line is erased
    with watch("work", quiet=True) as progress:
        assert progress is None
    monkeypatch.setenv("TERM", "dumb")
    with watch("work") as progress:
        assert progress is None


FIELDS = {
    name: option(default, "doc", choices=choices)
    for name, default, choices in (
        ("count", 3, ()),
        ("size", 0.5, ()),
        ("flag", True, ()),
        ("word", "a", ("a", "b")),
    )
}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [("count", "12", 12), ("size", "1e-3", 1e-3), ("size", "2", 2.0), ("word", "b", "b"),
     ("flag", "no", False), ("flag", "True", True), ("flag", "1", True)],
)  # fmt: skip
def test_options_are_read_by_their_type(name, text, value):
    spec = FIELDS[name]
    spec.name = name
    read = parsed(f"option {name}", text, spec.default, allowed(spec))
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(("name", "text"), [("count", "1.5"), ("size", "big"), ("flag", "perhaps")])
def test_options_of_the_wrong_type_are_refused(name, text):
    spec = FIELDS[name]
    spec.name = name
    with pytest.raises(ValueError, match=f"option {name} takes .*{text}"):
        parsed(f"option {name}", text, spec.default, allowed(spec))
