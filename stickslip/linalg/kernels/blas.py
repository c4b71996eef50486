"""The routines of BLAS and LAPACK of the factorisations; `kernels/fortran.py` says how they are called."""

from stickslip.kernels.fortran import routine

NO, TRANSPOSED, LOWER, UPPER, LEFT, RIGHT, UNIT = (ord(letter) for letter in "NTLULRU")
"""Characters of BLAS; LEFT and LOWER share a letter, UPPER and UNIT too."""

dgemm = routine("scipy.linalg.cython_blas", "dgemm", "cciiidpipidpi")
dsyrk = routine("scipy.linalg.cython_blas", "dsyrk", "cciidpidpi")
dtrsm = routine("scipy.linalg.cython_blas", "dtrsm", "cccciidpipi")
dgemv = routine("scipy.linalg.cython_blas", "dgemv", "ciidpipidpi")
dtrsv = routine("scipy.linalg.cython_blas", "dtrsv", "cccipipi")
dpotrf = routine("scipy.linalg.cython_lapack", "dpotrf", "cipip")
dgetrf = routine("scipy.linalg.cython_lapack", "dgetrf", "iipipp")
