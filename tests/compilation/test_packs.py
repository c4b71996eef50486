"""Compiled kernels in wheels: for which processors, and how they get there."""

import importlib.util
from pathlib import Path

import pytest

from stickslip.compilation import JIT

if not JIT:
    pytest.skip("nothing is compiled", allow_module_level=True)

from stickslip.compilation import packs, record, target
from stickslip.compilation.store import Store

WHEELS = Path(__file__).parents[2] / "wheels"
KEYS = [f"{k:064x}" for k in (7, 2, 5)]


def module(name):
    """A script of `wheels`, which is no package."""
    found = importlib.util.spec_from_file_location(name, WHEELS / f"{name}.py")
    made = importlib.util.module_from_spec(found)
    found.loader.exec_module(made)
    return made


V2 = "cx16 popcnt sse3 sse4.1 sse4.2 ssse3"
V3 = f"{V2} avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave"


@pytest.mark.parametrize(
    ("machine", "features", "levels"),
    [
        ("x86_64", f"{V3} avx512f", ["x86-64-v3", "x86-64-v2"]),
        ("AMD64", V3, ["x86-64-v3", "x86-64-v2"]),
        ("x86_64", V3.replace("avx2 ", ""), ["x86-64-v2"]),
        ("x86_64", "sse3", []),
        ("aarch64", "neon", ["generic"]),
    ],
)
def test_a_processor_gets_the_levels_whose_features_it_has(monkeypatch, machine, features, levels):
    monkeypatch.setattr(target.platform, "machine", lambda: machine)
    given = dict.fromkeys(features.split(), True)
    monkeypatch.setattr(target.llvmlite.binding, "get_host_cpu_features", lambda: given)
    assert target.levels_of_host() == levels


def test_keys_of_a_level_do_not_depend_on_the_machine(monkeypatch):
    """A wheel is made on a processor with AVX, and used on others, where Numba has another setting."""

    def keys(machine, avx, cpu, level):
        monkeypatch.setattr(target.platform, "machine", lambda: machine)
        monkeypatch.setattr(target.config, "ENABLE_AVX", avx)
        monkeypatch.setattr(target.config, "CPU_NAME", cpu)
        monkeypatch.setattr(target.config, "CPU_FEATURES", None if cpu is None else "")
        target.toolchain.cache_clear()
        given = dict.fromkeys(V3.split(), True)
        monkeypatch.setattr(target.llvmlite.binding, "get_host_cpu_features", lambda: given)
        own = (target.processor(),) if cpu else target.levels_of_host()
        return {target.key(packs.write, (), "entry", one) for one in own if one == level}

    try:
        for machine, levels in module("build").LEVELS.items():
            for level in levels:
                made = keys(machine, True, level, level)
                assert len(made) == 1
                assert keys(machine, True, None, level) == made
                assert keys(machine, False, None, level) == (set() if level == "x86-64-v3" else made)
    finally:
        target.toolchain.cache_clear()


def test_a_pack_gives_back_what_was_put_in_and_no_damaged_record(tmp_path):
    records = {key: bytes([k]) * (50 + k) for k, key in enumerate(KEYS)}
    path = tmp_path / "level.pack"
    packs.write(path, records)
    assert path.read_bytes() == written_again(tmp_path, records)
    pack = packs.Pack(path, "level")
    assert len(pack) == 3
    assert {key: pack.read(key) for key in KEYS} == records
    assert pack.read("f" * 64) is None
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert sum(packs.Pack(path, "level").read(key) is None for key in KEYS) == 1


def written_again(folder, records):
    packs.write(folder / "again.pack", dict(reversed(records.items())))
    return (folder / "again.pack").read_bytes()


def test_only_what_python_calls_is_gathered_from_a_store(tmp_path):
    store = Store(tmp_path / "kernels")
    head = record.Head("name", None, None, None, ())
    store.write(KEYS[0], record.pack(record.Entry(head, b"code", [], [], [], [])))
    store.write(KEYS[1], record.pack(record.Lowered(head, b"bitcode", [], [])))
    count, size = module("build").gather(store.folder, tmp_path / "level.pack")
    assert count == 1
    assert size == (tmp_path / "level.pack").stat().st_size
    content = packs.Pack(tmp_path / "level.pack", "level").read(KEYS[0])
    assert record.entry(content).code == b"code"


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_wheel_carries_packs_and_names_its_platform(tmp_path, machine):
    pytest.importorskip("hatchling")
    build, hook = module("build"), module("hook")
    levels = build.LEVELS[machine]
    assert set(levels) <= set(target.LEVELS)

    def built():
        data = {"force_include": {}}
        made = hook.CompiledKernels(str(tmp_path), {}, None, None, "", "wheel")
        made.initialize("standard", data)
        return data

    assert built() == {"force_include": {}}, "without packs the wheel is for all"
    for level in levels:
        packs.write(tmp_path / "build" / "packs" / f"{level}.pack", {})
    data = built()
    assert sorted(data["force_include"].values()) == [f"stickslip/compiled/{level}.pack" for level in levels]
    assert data["tag"].startswith("py3-none-manylinux")
    assert data["tag"].endswith(machine)
    assert data["pure_python"] is False
