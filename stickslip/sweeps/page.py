"""The report of a sweep."""


def report() -> None:
    """Later."""
