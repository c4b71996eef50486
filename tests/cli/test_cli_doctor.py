"""`stickslip doctor`: exit status 0 where all works, and faults by name where something does not."""

import json

import pytest

import stickslip
from stickslip.cli import doctor as module
from stickslip.compilation import JIT


def test_a_whole_installation_has_no_faults(run):
    found = run("doctor")
    assert (found.code, found.err) == (0, "")
    titles = ("installation", "packages", "extras", "compiled kernels", "threads", "solvers", "self-test")
    lines = found.out.splitlines()
    assert [line for line in lines if line in titles] == list(titles)
    assert lines[-1] == "no faults"
    assert "stops after 101.94 mm, 101.94 by the closed form" in found.out
    assert stickslip.__version__ in found.out


def test_json_has_the_same_and_the_faults(run):
    said = json.loads(run("doctor", "--json").out)
    assert said["faults"] == []
    assert "auto" in said["solvers"]["own"]
    assert said["packages"]["numpy"]


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_the_probe_of_the_store_leaves_nothing(run):
    from stickslip.compilation.store import user_store

    run("doctor")
    assert user_store().read(module.PROBE) is None


def test_an_absent_core_package_is_a_fault(run, monkeypatch):
    known = module._version
    monkeypatch.setattr(module, "_version", lambda name: "" if name == "qdldl" else known(name))
    found = run("doctor")
    assert found.code == 1
    assert 'FAULT: not installed: pip install "qdldl"' in found.out
    assert found.out.splitlines()[-1] == "faults: 1"


def test_an_absent_extra_is_no_fault(run, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", _without("matplotlib"))
    found = run("doctor")
    assert found.code == 0
    assert 'not installed: pip install "stickslip[plots]"' in found.out


def _without(package):
    from importlib.util import find_spec

    return lambda name, *more: None if name == package else find_spec(name, *more)


@pytest.mark.parametrize("how", ["error", "wrong"])
def test_a_self_test_that_fails_is_a_fault_without_traceback(run, monkeypatch, how):
    if how == "error":
        monkeypatch.setattr(stickslip, "simulate", _broken, raising=False)
    else:
        monkeypatch.setattr(module, "GRAVITY", 2.0 * module.GRAVITY)  # another closed form
    found = run("doctor")
    assert found.code == 1
    assert found.err == ""
    assert "FAULT: " in found.out[found.out.index("self-test") :]
    assert "Traceback" not in found.out


def _broken(*_, **__):
    raise RuntimeError("no kernels")
