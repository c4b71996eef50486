"""Read and write files: problems in FCLIB's HDF5 and Siconos' text format, models in TOML and JSON, and runs.

    problem = read("KaplasTower.hdf5")
    write("tower.dat", problem)
    save(world, "model.toml")
    world = load("model.toml")

Malformed files raise a `FormatError`, which names the position and the error.
"""

from typing import TYPE_CHECKING

from stickslip.doors import door

if TYPE_CHECKING:
    from stickslip.files.dat import KINDS as KINDS
    from stickslip.files.errors import FormatError as FormatError
    from stickslip.files.gdx import read_gdx_answer as read_gdx_answer
    from stickslip.files.gdx import write_gams as write_gams
    from stickslip.files.model_faults import Fault as Fault
    from stickslip.files.model_faults import ModelFileError as ModelFileError
    from stickslip.files.problems import read as read
    from stickslip.files.problems import read_record as read_record
    from stickslip.files.problems import write as write
    from stickslip.files.record import ProblemRecord as ProblemRecord
    from stickslip.files.record import StoredSolution as StoredSolution
    from stickslip.files.runs import read_trajectory as read_trajectory
    from stickslip.files.saving import load as load
    from stickslip.files.saving import save as save
else:
    __getattr__, __dir__ = door(__name__)
