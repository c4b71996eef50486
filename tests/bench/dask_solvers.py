"""Solvers of a user's own that are hard on whoever runs them; they run on workers of Dask."""

import os
import time
from pathlib import Path

from stickslip import solve


class Aborts:
    """Takes its process along."""

    def solve(self, problem):
        os.abort()


class SlowAtFirst:
    """Says where it runs, and answers only when another one has been there before."""

    def __init__(self, flag: str = ""):
        self.flag = Path(flag)

    def solve(self, problem):
        seen = self.flag.exists()
        with self.flag.open("a") as file:
            file.write(f"{os.getpid()}\n")
        if not seen:
            time.sleep(300.0)
        return solve(problem, "nsgs", tolerance=1e-10).r
