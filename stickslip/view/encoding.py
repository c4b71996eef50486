"""Write sequences of pictures: GIF, WebP and numbered PNG files with Pillow, MP4 with PyAV."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from stickslip.extras import needed
from stickslip.files.problems import draft_of, replace_file

Pictures = Sequence[np.ndarray]
"""Red, green and blue, rows from the top [0 to 255], shape (rows, columns, 3) each, uint8, of equal size."""

PALETTE_SAMPLES = 4
"""Number of evenly spaced pictures from which the colours of a GIF are chosen."""
COLOURS = 255
"""Number of colours of a GIF; the format allows 256, and one of them means "unchanged"."""
BAYER = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]])
"""Thresholds of an ordered dither [0 to 15] (Bayer 1973). Unlike error diffusion, it gives fixed bodies the
same pattern in all pictures."""
DITHER = 4.0
"""Range of the dither, about the distance of neighbouring colours of the palette [0 to 255]."""
WEBP_QUALITY = 80
"""Quality of a lossy WebP [0 to 100]; Pillow's default."""
MP4_QUALITY = 18
"""Constant rate factor of H.264; the guide of x264 calls 17 or 18 visually lossless."""


def write_gif(pictures: Pictures, fps: float, path: Path) -> tuple[Path, ...]:
    """Write a looping GIF, with the same colours in all pictures."""
    samples = np.unique(np.linspace(0, len(pictures) - 1, PALETTE_SAMPLES).round().astype(int))
    colours = Image.fromarray(np.concatenate([pictures[k] for k in samples])).quantize(COLOURS)
    first, *rest = (
        Image.fromarray(_dithered(picture)).quantize(palette=colours, dither=Image.Dither.NONE)
        for picture in pictures
    )
    return _write_animated(first, rest, path, "GIF", duration=_durations(len(pictures), fps, 10))


def write_webp(pictures: Pictures, fps: float, path: Path) -> tuple[Path, ...]:
    """Write a looping WebP animation."""
    first, *rest = (Image.fromarray(picture) for picture in pictures)
    durations = _durations(len(pictures), fps, 1)
    return _write_animated(first, rest, path, "WEBP", duration=durations, quality=WEBP_QUALITY)


def write_png(pictures: Pictures, fps: float, path: Path) -> tuple[Path, ...]:
    """Write `name-0000.png`, `name-0001.png` and so on for `name.png`; `fps` is not used."""
    digits = max(4, len(str(len(pictures) - 1)))
    places = tuple(path.with_name(f"{path.stem}-{k:0{digits}}{path.suffix}") for k in range(len(pictures)))
    for place, picture in zip(places, pictures, strict=True):
        with BytesIO() as file:
            Image.fromarray(picture).save(file, format="PNG")
            replace_file(place, file.getvalue())
    return places


def write_mp4(pictures: Pictures, fps: float, path: Path) -> tuple[Path, ...]:
    """Write H.264 in MP4, which browsers and slides play."""
    av = needed("av", "an MP4 file")
    rows, columns = (n + n % 2 for n in pictures[0].shape[:2])  # yuv420p requires even numbers
    with draft_of(path) as draft, av.open(str(draft), "w", format="mp4", options=BIT_EXACT) as file:
        stream = file.add_stream("libx264", rate=Fraction(fps).limit_denominator(1000))
        stream.width, stream.height, stream.pix_fmt = columns, rows, "yuv420p"
        stream.options = {"crf": str(MP4_QUALITY), "flags": "+bitexact"}
        stream.codec_context.thread_count = 1  # the bytes depend on the number of threads
        for picture in pictures:
            padding = (0, rows - picture.shape[0]), (0, columns - picture.shape[1]), (0, 0)
            frame = av.VideoFrame.from_ndarray(np.pad(picture, padding, mode="edge"), format="rgb24")
            file.mux(stream.encode(frame))
        file.mux(stream.encode())
    return (path,)


BIT_EXACT = {"fflags": "+bitexact", "movflags": "+faststart"}
"""Options of an MP4 file: without the version of the encoder, and with the index at the beginning."""

WRITERS: dict[str, Callable[[Pictures, float, Path], tuple[Path, ...]]] = {
    ".gif": write_gif,
    ".webp": write_webp,
    ".mp4": write_mp4,
    ".png": write_png,
}
"""Functions that write pictures, by the suffix of the file."""


def _dithered(picture: np.ndarray) -> np.ndarray:
    """Add the dither pattern, so that few colours show gradual shades, uint8."""
    tile = DITHER * ((BAYER + 0.5) / BAYER.size - 0.5)
    rows, columns = picture.shape[:2]
    pattern = np.tile(tile, (rows // 4 + 1, columns // 4 + 1))[:rows, :columns, None]
    return np.clip(np.round(picture + pattern), 0, 255).astype(np.uint8)


def _write_animated(
    first: Image.Image, rest: list[Image.Image], path: Path, kind: str, **more: Any
) -> tuple[Path, ...]:
    with BytesIO() as file:
        first.save(file, format=kind, save_all=True, append_images=rest, loop=0, **more)
        replace_file(path, file.getvalue())
    return (path,)


def _durations(count: int, fps: float, unit: int) -> list[int]:
    """Durations of the pictures [ms], in multiples of the time unit of a format [ms], without drift."""
    ends = np.round(np.arange(count + 1) * 1000.0 / (fps * unit)).astype(int)
    return (unit * np.diff(ends)).tolist()


class Rendered(Sequence[np.ndarray]):
    """Sequence of pictures that are drawn on access; the last one is cached."""

    def __init__(self, draw: Callable[[int], np.ndarray], rows: Sequence[int]):
        """draw: function that draws a record; rows: record of each picture."""
        self._draw, self._rows = draw, rows
        self._last: tuple[int, np.ndarray] | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, k: Any) -> Any:
        row = self._rows[k]
        if self._last is None or self._last[0] != row:
            self._last = row, self._draw(row)
        return self._last[1]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[k] for k in range(len(self)))
