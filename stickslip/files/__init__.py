"""Files: problems in FCLIB's HDF5 and in Siconos' text, read from anywhere, written to be read back.

    problem = read("KaplasTower.hdf5")
    write("tower.dat", problem)

Whatever is wrong with a file is a `FormatError` that says where and what.
"""

from stickslip.files.dat import KINDS
from stickslip.files.errors import FormatError
from stickslip.files.problems import read, read_record, write
from stickslip.files.record import ProblemRecord, StoredSolution

__all__ = ["KINDS", "FormatError", "ProblemRecord", "StoredSolution", "read", "read_record", "write"]
