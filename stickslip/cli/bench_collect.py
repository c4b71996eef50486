"""`stickslip bench collect`."""


def collect() -> int:
    """To be written."""
    raise NotImplementedError
