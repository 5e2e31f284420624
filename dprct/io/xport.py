"""Special missing codes of a SAS transport file, which pyreadstat reads as plain missing.

A missing number is one byte, ``.``, ``_`` or ``A`` to ``Z``, followed by zeros; everything else
about the file is left to pyreadstat.

References
----------
SAS technical support notes TS-140 (version 5) and "Record Layout of a SAS Version 8 or 9 Data Set
in SAS Transport Format".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_CARD = 80
_OBSERVATIONS = (
    b"HEADER RECORD*******OBS     HEADER RECORD!!!!!!!",
    b"HEADER RECORD*******OBSV8   HEADER RECORD!!!!!!!",
)
_BEFORE_A = ord("A") - 1


def special_missing(path: Path, header: Any) -> dict[str, NDArray[np.int8]] | None:
    """Return where ``.A`` to ``.Z`` stand, by column.

    Parameters
    ----------
    path : Path
    header : object
        pyreadstat's metadata of the same file.

    Returns
    -------
    dict of str to ndarray (rows,), or None
        Number of the missing code, 1 for ``.A`` to 26 for ``.Z``, else 0; only columns that have
        one.  None where the rows do not lie as the header says, so that nothing can be said.
    """
    raw = path.read_bytes()
    rows = _rows(raw, header)
    if rows is None:
        return None
    found = {}
    start = 0
    for name in header.column_names:
        width = header.variable_storage_width[name]
        if header.readstat_variable_types[name] != "string":
            codes = _letters(rows[:, start : start + width])
            if codes.any():
                found[name] = codes
        start += width
    return found


def _rows(raw: bytes, header: Any) -> NDArray[np.uint8] | None:
    """Return the rows as bytes (rows, width), where the file has one table of that size."""
    cards = [raw.find(card) for card in _OBSERVATIONS]
    starts = [at + _CARD for at in cards if at >= 0 and at % _CARD == 0]
    width = sum(header.variable_storage_width[name] for name in header.column_names)
    count = header.number_rows
    if len(starts) != 1 or not count or not width:
        return None
    left = len(raw) - starts[0] - count * width
    if not 0 <= left < _CARD + width:
        return None
    cells = np.frombuffer(raw, np.uint8, count * width, starts[0])
    return cells.reshape(count, width)


def _letters(cells: NDArray[np.uint8]) -> NDArray[np.int8]:
    first = cells[:, 0]
    is_letter = (first >= ord("A")) & (first <= ord("Z")) & ~cells[:, 1:].any(axis=1)
    return np.where(is_letter, first.astype(np.int16) - _BEFORE_A, 0).astype(np.int8)
