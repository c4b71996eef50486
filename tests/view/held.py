"""What a page of the viewer holds, read back as its script reads it."""

import json
import re
import zlib
from base64 import b64decode

import numpy as np

KINDS = {"f": "<f4", "d": "<f8", "i": "<i4", "w": "<i4", "b": "u1"}


def array(reference, data):
    """The array of a reference."""
    kind, shape = np.dtype(KINDS[reference["k"]]), reference["n"]
    count = int(np.prod(shape))
    planes = np.frombuffer(data, np.uint8, count * kind.itemsize, reference["o"])
    found = np.ascontiguousarray(planes.reshape(kind.itemsize, count).T).view(kind).reshape(shape)
    if reference["k"] in "iw":
        found = np.cumsum(found.astype(np.int64), axis=0)
    return found * reference["s"] if reference["k"] == "i" else found


def unpacked(value, data):
    """Arrays in the place of references."""
    if isinstance(value, list):
        return [unpacked(each, data) for each in value]
    if not isinstance(value, dict):
        return value
    if {"k", "n", "o"} <= set(value):
        return array(value, data)
    return {key: unpacked(each, data) for key, each in value.items()}


def held(page):
    """All that a page holds: strict JSON, and its numbers."""

    def refused(name):
        raise AssertionError(f"{name} is no JSON")

    text = re.search(r'id="contents">(.*?)</script>', page, re.DOTALL)[1]
    numbers = re.search(r'id="numbers">(.*?)</script>', page, re.DOTALL)[1]
    return unpacked(json.loads(text, parse_constant=refused), zlib.decompress(b64decode(numbers)))
