"""The names of everything in which two files can differ.

A certificate permits differences under these names, and ``compare`` reports them under these.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

FACETS: Mapping[str, str] = MappingProxyType(
    {
        "rows": "number of rows",
        "variables": "a variable that only one of the files has",
        "order": "order of the variables that both files have",
        "type": "storage type of a variable",
        "width": "width of a fixed-width text variable, in bytes",
        "format": "display format of a variable",
        "label": "label of a variable",
        "value-label": "name of the label set that is attached to a variable",
        "label-set": "a label set by name and code, attached or not (the column is the set's name)",
        "sharing": "which variables share one label set",
        "dataset-label": "label of the data set",
        "sort": "variables by which the rows are said to be sorted, and whether they are",
        "characteristics": "characteristics, other than notes (the column is their owner)",
        "notes": "notes (the column is their owner, _dta for the data set)",
        "release": "release of the .dta format",
        "byteorder": "byte order of the file",
        "timestamp": "date and time written into the file",
        "values": "values and missing codes of a variable, row by row and bit by bit",
    }
)
"""Facet to one line that says what it is, in the order in which differences are listed."""

DATASET = "_dta"
"""Owner of the characteristics and notes of the data set as a whole."""
