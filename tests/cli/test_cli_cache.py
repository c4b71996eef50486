"""`stickslip cache`: where kernels are kept, and how they are removed."""

import json

import pytest

from stickslip.cli.main import main
from stickslip.compilation import JIT

if not JIT:
    pytest.skip("nothing is compiled", allow_module_level=True)

from stickslip.compilation import store
from stickslip.compilation.store import Store


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A store of one record, in the place of the user's."""
    made = Store(tmp_path / "kernels")
    made.write("ab" * 32, b"code")
    monkeypatch.setattr(store, "user_store", lambda: made)
    return made


def test_the_folder_and_its_size_are_shown(kept, capsys):
    assert main(["cache"]) == 0
    shown = capsys.readouterr().out
    assert str(kept.folder)[-20:] in shown.replace("\n", "").replace(" ", "")
    assert main(["cache", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == 1
    assert len(kept.files()) == 1


def test_clear_removes_every_record(kept, capsys):
    assert main(["cache", "clear", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["removed"] == 1
    assert kept.files() == []
    assert main(["cache", "clear"]) == 0


def test_another_action_is_one_sentence(capsys):
    assert main(["cache", "empty"]) == 2
    said = capsys.readouterr().err
    assert "empty" in said
    assert "Traceback" not in said
