"""Pictures of Gymnasium's tasks with exact contact, where a GL backend is at hand."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("gymnasium", reason="the extra gymnasium is not installed")
BACKENDS = ("egl", "osmesa", "glfw")
"""Of MuJoCo's renderer, without a screen first. Each is tried in a process of its own: one that is not there
may end it."""
PICTURE = """
import warnings; warnings.simplefilter("ignore")
import gymnasium, numpy as np
import stickslip.bridges.gymnasium
env = gymnasium.make({task!r}, render_mode="rgb_array")
env.reset(seed=0)
first = env.render()
for _ in range(10):
    env.step(np.ones(env.action_space.shape) * 0.4)
last = env.render()
env.close()
assert first.ndim == 3 and first.shape[2] == 3 and first.dtype == np.uint8, first.shape
assert first.std() > 5.0, first.std()
assert (first != last).any()
"""


def draw(task: str, backend: str, folder) -> subprocess.CompletedProcess:
    """Pictures of a task by a backend."""
    return subprocess.run(
        [sys.executable, "-c", PICTURE.format(task=task)], env={**os.environ, "MUJOCO_GL": backend},
        capture_output=True, text=True, cwd=folder, timeout=300,
    )  # fmt: skip


def test_a_task_is_drawn_as_the_original_is(tmp_path):
    said = ""
    for backend in BACKENDS:
        original = draw("HalfCheetah-v5", backend, tmp_path)
        if original.returncode == 0:
            break
        said += f"{backend}: {(original.stderr.strip().splitlines() or ['no picture'])[-1]}; "
    else:
        pytest.skip(f"MuJoCo draws nothing here ({said})")
    made = draw("stickslip/HalfCheetah-v0", backend, tmp_path)
    assert made.returncode == 0, made.stderr
