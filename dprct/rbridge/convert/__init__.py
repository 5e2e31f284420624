"""Every conversion between R and Python: one file per kind of value."""

from dprct.rbridge.convert.calls import RError, RWarning, call_r
from dprct.rbridge.convert.frames import Likeness, Table
from dprct.rbridge.convert.plain import Matrix
from dprct.rbridge.convert.records import Record
from dprct.rbridge.convert.schemas import schema_record
from dprct.rbridge.convert.values import RFunction, RProcedure, from_r, named_from_r, to_r

__all__ = [
    "Likeness",
    "Matrix",
    "RError",
    "RFunction",
    "RProcedure",
    "RWarning",
    "Record",
    "Table",
    "call_r",
    "from_r",
    "named_from_r",
    "schema_record",
    "to_r",
]
