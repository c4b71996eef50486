"""Animations: one picture for each instant, the same bytes for the same run, a camera that stands still."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image
from world_runs import Drop, balls

import stickslip as ss
from stickslip.view import export_animation
from stickslip.view.animation import picture_rows

SMALL = {"size": (1.0, 1.0), "dpi": 60.0}


@pytest.fixture(scope="module")
def fall():
    return ss.simulate(balls(), until=0.4, h=1e-2, scheme=Drop())


@pytest.mark.parametrize("ending", ["gif", "webp", "mp4", "png"])
def test_the_same_run_gives_the_same_bytes(fall, tmp_path, ending):
    if ending == "mp4":
        pytest.importorskip("av", reason="the extra stickslip[video] is not installed")
    first, second = (
        export_animation(fall, tmp_path / f"{k}.{ending}", fps=10.0, contacts=True, forces=True, **SMALL)
        for k in (1, 2)
    )
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert len(first) == (5 if ending == "png" else 1)


@pytest.mark.parametrize("ending", ["gif", "webp"])
def test_each_picture_stays_for_its_time_and_all_repeat(fall, tmp_path, ending):
    (path,) = export_animation(fall, tmp_path / f"run.{ending}", fps=30.0, speed=0.5, **SMALL)
    with Image.open(path) as image:
        assert image.size == (60, 60)
        assert image.info["loop"] == 0
        count, total = image.n_frames, 0
        for k in range(count):
            image.seek(k)
            image.load()  # WebP tells the duration of a picture that is read
            total += image.info["duration"]
    # Pictures that are the same as the one before only lengthen it.
    assert total == pytest.approx(1000.0 * 25 / 30.0, abs=10.0)
    assert 20 <= count <= 25


def test_numbered_pictures_are_those_of_stills_with_one_camera(fall, tmp_path):
    places = export_animation(fall, tmp_path / "run.png", fps=10.0, **SMALL)
    assert [place.name for place in places] == [f"run-{k:04}.png" for k in range(5)]
    pictures = [np.asarray(Image.open(place)) for place in places]
    assert {picture.shape for picture in pictures} == {(60, 60, 3)}
    assert all((a != b).any() for a, b in pairwise(pictures))
    # The scale bar is the same in all of them: the camera stands still.
    bars = [picture[-12:, :30] for picture in pictures]
    assert all((bar == bars[0]).mean() > 0.9 for bar in bars)


def test_a_video_has_the_rate_and_the_pictures_asked_for(fall, tmp_path):
    av = pytest.importorskip("av", reason="the extra stickslip[video] is not installed")
    options = {"size": (1.0, 1.02), "dpi": 61.0}
    (path,) = export_animation(fall, tmp_path / "run.mp4", fps=20.0, **options)
    places = export_animation(fall, tmp_path / "run.png", fps=20.0, **options)
    with av.open(str(path)) as file:
        stream = file.streams.video[0]
        assert stream.average_rate == Fraction(20)
        frames = [frame.to_ndarray(format="rgb24") for frame in file.decode(stream)]
    assert len(frames) == len(places) == 9
    assert frames[0].shape == (62, 62, 3)  # even numbers
    drawn = np.asarray(Image.open(places[4]))
    assert np.abs(frames[4][: drawn.shape[0], : drawn.shape[1]].astype(float) - drawn).mean() < 6.0


def test_pictures_show_the_nearest_records():
    times = np.array([0.0, 0.1, 0.2, 0.4, 1.0])
    np.testing.assert_array_equal(picture_rows(times, 5.0, 1.0), [0, 2, 3, 3, 4, 4])
    np.testing.assert_array_equal(picture_rows(times, 5.0, 2.0), [0, 3, 4])
    np.testing.assert_array_equal(picture_rows(times[:1], 25.0, 1.0), [0])


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"fps": 0.0}, "fps is 0"),
        ({"fps": 100.0}, "up to 50 pictures"),
        ({"speed": 0.0}, "speed is 0; it must be a positive number"),
        ({"speed": 1e-4}, "more than 3000: take a speed of 1 or more"),
    ],
)
def test_a_pace_that_cannot_be_is_refused(fall, tmp_path, how, words):
    with pytest.raises(ValueError, match=words):
        export_animation(fall, tmp_path / "no.gif", **how, **SMALL)
    assert not list(tmp_path.iterdir())


def test_other_files_and_things_are_refused(fall, tmp_path):
    with pytest.raises(ValueError, match=r"\.gif, \.webp, \.mp4, \.png"):
        export_animation(fall, tmp_path / "no.avi")
    with pytest.raises(TypeError, match="a World has no motion"):
        export_animation(balls(), tmp_path / "no.gif")


def test_a_missing_encoder_is_named(fall, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "av", None)
    with pytest.raises(ImportError, match=r"an MP4 file needs the package av.*stickslip\[video\]"):
        export_animation(fall, tmp_path / "no.mp4", **SMALL)
    assert not list(tmp_path.iterdir())
