"""Settings of all tests: property tests draw the same cases on every run."""

from hypothesis import settings

settings.register_profile("house", deadline=None, derandomize=True, database=None, max_examples=300)
settings.load_profile("house")
