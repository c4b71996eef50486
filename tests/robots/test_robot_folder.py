"""Models of others load and run: those of Gymnasium's package, and a folder that the environment names.

STICKSLIP_MODELS is a folder such as a checkout of the MuJoCo Menagerie: its scenes, or the models of folders
without a scene, are loaded, and twenty steps of each are made and judged.
"""

import os
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip import Robot

FOLDER = os.environ.get("STICKSLIP_MODELS", "")
STEPS = 20


def gymnasium_files() -> list[Path]:
    """The models that Gymnasium brings along."""
    found = find_spec("gymnasium")
    if found is None or found.origin is None:
        return []
    return sorted(Path(found.origin).parent.glob("envs/mujoco/assets/*.xml"))


def models_in(folder: Path) -> list[Path]:
    """Scenes, and in folders without one all models that are not included in others."""
    found = []
    for place in sorted({path.parent for path in folder.rglob("*.xml")}):
        files = {path: path.read_text(errors="replace") for path in sorted(place.glob("*.xml"))}
        models = {path: text for path, text in files.items() if re.search(r"<(mujoco|robot)[\s>]", text)}
        scenes = [path for path in models if path.name.startswith("scene")]
        included = {name for text in models.values() for name in re.findall(r'include file="([^"]+)"', text)}
        found += scenes or [path for path in models if path.name not in included]
    return found


def make_steps(path: Path) -> None:
    """Load a model, and make judged steps from its start, or its first keyframe."""
    robot = Robot.load(path)
    start = robot.key(robot.names("key")[0]) if robot.model.nkey else robot.start
    run = ss.simulate(robot, until=STEPS * float(robot.model.opt.timestep), start=start)
    assert len(run) == STEPS + 1
    assert run.verdicts.max() == 0
    assert run.natural_scaled.max() <= 1e-8
    assert np.isfinite(run.q).all()


@pytest.mark.skipif(not gymnasium_files(), reason="Gymnasium is not installed")
@pytest.mark.parametrize("path", gymnasium_files(), ids=lambda path: path.name)
def test_a_model_of_gymnasium(path):
    make_steps(path)


@pytest.mark.skipif(not FOLDER, reason="STICKSLIP_MODELS names no folder of models, such as the Menagerie")
@pytest.mark.parametrize("path", models_in(Path(FOLDER)) if FOLDER else [None], ids=str)
def test_a_model_of_the_folder(path):
    try:
        make_steps(path)
    except ss.ModelError as error:
        if "not supported" not in str(error) and "the model has no degrees of freedom" not in str(error):
            raise
        pytest.skip(str(error))
