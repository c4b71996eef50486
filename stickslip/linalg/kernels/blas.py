"""Routines of BLAS and LAPACK for the factorisations, called as described in `kernels/fortran.py`."""

from stickslip.kernels.fortran import routine

NO, TRANSPOSED, LOWER, UPPER, LEFT, RIGHT, UNIT = (ord(letter) for letter in "NTLULRU")
"""Option characters of BLAS; LEFT and LOWER are the same letter, as are UPPER and UNIT."""

dgemm = routine("scipy.linalg.cython_blas", "dgemm", "cciiidpipidpi")
dsyrk = routine("scipy.linalg.cython_blas", "dsyrk", "cciidpidpi")
dtrsm = routine("scipy.linalg.cython_blas", "dtrsm", "cccciidpipi")
dgemv = routine("scipy.linalg.cython_blas", "dgemv", "ciidpipidpi")
dtrsv = routine("scipy.linalg.cython_blas", "dtrsv", "cccipipi")
dpotrf = routine("scipy.linalg.cython_lapack", "dpotrf", "cipip")
dgetrf = routine("scipy.linalg.cython_lapack", "dgetrf", "iipipp")
