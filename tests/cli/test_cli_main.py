"""The entry point: help, versions, exit codes, and no traceback for what users can cause."""

import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import stickslip
from stickslip.cli.main import VERBS, build, main


def test_help_names_every_verb(run):
    result = run("--help")
    assert result.code == 0
    assert all(verb in result.out for verb in VERBS)
    assert run().out == result.out


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_examples_that_parse(verb, run):
    result = run(verb, "--help")
    assert result.code == 0
    assert "For example:" in result.out
    place = verb.replace("-", "_")
    doc = import_module(f"stickslip.cli.{place}").__dict__[place].__doc__
    examples = [line.strip() for line in doc.splitlines() if line.strip().startswith("stickslip ")]
    assert examples
    assert "Parameters" in doc  # and cyclopts has understood them:
    assert all(text in " ".join(result.out.split()) for text in re.findall(r"^ {8}(\S+ \S+)", doc, re.M))
    for example in examples:
        command, _, _ = build().parse_args(shlex.split(example.partition(" > ")[0])[1:])
        assert command.__name__ == place


def test_version(run):
    assert run("--version").out == f"{stickslip.__version__}\n"


def test_help_is_light():
    heavy = "{'numpy', 'scipy', 'numba', 'h5py', 'matplotlib'}"
    code = f"""
import sys
from stickslip.cli.main import main
main(["--help"])
sys.exit(bool({heavy} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sovle"], ("sovle", "solve")),
        (["info"], ("FILE",)),
        (["solve", "x.hdf5", "--tolernce", "1"], ("--tolernce", "--tolerance")),
        (["solve", "x.hdf5", "--tolerance", "small"], ("--tolerance", "small")),
        (["solve", "x.hdf5", "--guess", "lucky"], ("lucky", "stored", "none")),
        (["convert", "x.hdf5"], ("OUT",)),
        (["convert", "x.hdf5", "y.hdf5", "z.hdf5"], ("z.hdf5",)),
        (["demo", "--out"], ("--out",)),
    ],
)
def test_what_cannot_be_parsed_is_one_sentence(arguments, words, run):
    run(*arguments).refuses(*words)


def test_the_same_in_a_process_of_its_own(spawn):
    spawn("sovle").refuses("solve")
    spawn("solve", "missing.hdf5").refuses("missing.hdf5", "no such file")


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, ("interrupted",)),
        (MemoryError("Unable to allocate 9 PiB"), 2, ("out of memory", "9 PiB")),
        (PermissionError(13, "Permission denied", "/somewhere/x"), 2, ("/somewhere/x", "permission denied")),
        (OSError("disk is\ngone"), 2, ("disk is gone",)),
    ],
)
def test_what_the_machine_refuses_is_one_sentence(error, code, words, run, monkeypatch):
    def fails() -> int:
        raise error

    monkeypatch.setattr("stickslip.cli.demo.demo", fails)
    result = run("demo")
    assert result.code == code
    result.says(*words)


def test_a_bug_is_not_hidden(monkeypatch):
    def fails() -> int:
        raise ZeroDivisionError

    monkeypatch.setattr("stickslip.cli.demo.demo", fails)
    with pytest.raises(ZeroDivisionError):
        main(["demo"])


@pytest.mark.parametrize("verb", ["--help", "solvers"])  # printed by Rich, and by ourselves
def test_a_reader_that_goes_away_is_met_in_silence(verb):
    reading, writing = os.pipe()
    os.close(reading)
    code = "import sys; from stickslip.cli.main import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, verb], stdout=writing, stderr=subprocess.PIPE, text=True
    )
    os.close(writing)
    assert done.stderr == ""
    assert done.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_sentence():
    code = "import sys; from stickslip.cli.main import main; sys.exit(main())"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, "--help"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.stderr.startswith("stickslip: ")
    assert done.stderr.count("\n") == 1
    assert done.returncode == 2


def test_a_misspelt_option_of_the_command_is_recognised(run):
    run("run", "bouncing-ball", "--schem", "event-driven").refuses("; did you mean 'scheme'?")
    run("run", "bouncing-ball", "--projecton", "direct").refuses("; did you mean 'projection'?")
    run("run", "wall-problem").refuses("wall-problem is a problem and does not run")
    run("bench", "record", "stack", "--evry", "3").refuses("; did you mean 'every'?")
