"""`stickslip bench run`."""


def run() -> int:
    """To be written."""
    raise NotImplementedError
