"""Time per contact and accuracy of all one-contact solvers.

    python benchmarks/one_contact.py [--contacts N]

Random closing Coulomb contacts in 3D and 2D, mu from 0 to 10, each solved from zero: W_ii with condition
numbers up to 10, then up to 1e12. `missed`: share that the method leaves to the exact solver, whose time is
then included. Times are the best of five.
"""

import argparse
import math
import time

import numpy as np

from stickslip.kernels import local as local_solves
from stickslip.kernels import one_contact
from stickslip.kernels.contact_law import TOLERANCE, error_of
from stickslip.kernels.jit import jit
from stickslip.kernels.one_contact import METHODS
from stickslip.kernels.residuals import three


def contacts(count: int, d: int, condition: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return random W (count, d, d), pressing q (count, d) and mu (count,).

    condition: bound of the condition numbers of W, whose eigenvalues are between 1 / condition and 1.
    """
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(count, d, d)))[0]
    values = condition ** -rng.uniform(0.0, 1.0, size=(count, d))
    W = (Q * values[:, None, :]) @ Q.transpose(0, 2, 1)
    W = 0.5 * (W + W.transpose(0, 2, 1))
    q = rng.normal(size=(count, d))
    q[:, 0] = -np.abs(q[:, 0])
    return W, q, rng.choice([0.0, 0.1, 0.3, 0.6, 1.0, 3.0, 10.0], size=count)


@jit
def solve_each(method, W, q, mu, r, error, own):
    """Solve many contacts one by one, as in a sweep. r, error <- solutions and errors; own <- errors of the
    method without the exact solver.

    W (nc, d, d), q, r (nc, d), d = 3 or 2, mu, error, own (nc,); r holds the starts on entry.
    """
    d, local = W.shape[1], np.empty(9 + local_solves.EXTRAS_3)
    out, exact = np.zeros(3), np.zeros(3)
    for i in range(W.shape[0]):
        for k in range(d * d):
            local[k] = W[i, k // d, k % d]
        own[i], c = math.inf, one_contact.contact_of(local, 0, d, q[i], mu[i])
        if method != one_contact.EXACT:
            own[i] = one_contact.solve_coulomb(method, c, d, r[i], out)
        error[i] = own[i]
        if not own[i] <= TOLERANCE:
            if d == 3:
                local_solves.prepare_coulomb3(local, 0)
                exact[0], exact[1], exact[2], _ = local_solves.coulomb3(
                    local, 0, q[i, 0], q[i, 1], q[i, 2], mu[i], 0.0
                )
            else:
                exact[0], exact[1] = local_solves.coulomb2(local, 0, q[i, 0], q[i, 1], mu[i])
            error[i] = error_of(c, three(exact, 0, d))
            if method == one_contact.EXACT:
                own[i] = error[i]
            if own[i] < error[i]:
                error[i] = own[i]
            else:
                out[:] = exact
        for k in range(d):
            r[i, k] = out[k]


def main() -> None:
    """Parse the command line, measure, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--contacts", type=int, default=20_000, help="number of contacts of each kind")
    count = parser.parse_args().contacts
    print(f"{'contacts':>18} {'method':>12} {'ns/contact':>11} {'worst error':>12} {'missed':>7}")
    for d in (3, 2):
        for condition in (10.0, 1e12):
            W, q, mu = contacts(count, d, condition)
            for number, name in enumerate(METHODS):
                r, error, own = np.zeros((count, d)), np.empty(count), np.empty(count)
                solve_each(number, W, q, mu, r, error, own)
                best = np.inf
                for _ in range(5):
                    r[:] = 0.0
                    start = time.perf_counter()
                    solve_each(number, W, q, mu, r, error, own)
                    best = min(best, time.perf_counter() - start)
                missed = (~(own <= TOLERANCE)).mean()
                print(
                    f"{d}D, cond <= {condition:<6.0e} {name:>12} {1e9 * best / count:11.0f}"
                    f" {error.max():12.1e} {missed:7.1%}"
                )


if __name__ == "__main__":
    main()
