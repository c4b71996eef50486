"""`stickslip bench record`."""


def record() -> int:
    """To be written."""
    raise NotImplementedError
