from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from dprct.io.xport import special_missing

if TYPE_CHECKING:
    from pathlib import Path

MISSING = b".\0\0\0\0\0\0\0"


def xpt(path: Path, version: int) -> Any:
    frame = pd.DataFrame(
        {"s": ["A", "B", "."], "x": [1.0, np.nan, np.nan], "y": [np.nan, 2.0, 3.0]}
    )
    pyreadstat.write_xport(frame, path, file_format_version=version)
    return pyreadstat.read_xport(path)[1]


@pytest.mark.parametrize("version", [5, 8])
def test_letters_are_found_where_they_stand(tmp_path: Path, version: int) -> None:
    path = tmp_path / "x.xpt"
    header = xpt(path, version)
    assert special_missing(path, header) == {}
    raw = path.read_bytes()
    first, second, third = _places(raw)
    letters = raw[:second] + b"C" + raw[second + 1 : third] + b"Z" + raw[third + 1 :]
    path.write_bytes(letters)
    found = special_missing(path, header)
    assert found is not None
    assert {name.lower(): codes.tolist() for name, codes in found.items()} == {"x": [0, 3, 26]}
    assert first < second


@pytest.mark.parametrize("version", [5, 8])
def test_a_number_that_starts_like_a_letter_is_none(tmp_path: Path, version: int) -> None:
    # 16.0 is 0x42 ("B") 10 00 ... in IBM's floating point
    path = tmp_path / "x.xpt"
    pyreadstat.write_xport(pd.DataFrame({"x": [16.0, 1.0]}), path, file_format_version=version)
    assert b"B\x10\0\0\0\0\0\0" in path.read_bytes()
    assert special_missing(path, pyreadstat.read_xport(path)[1]) == {}


def test_rows_that_do_not_lie_as_the_header_says_give_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.xpt"
    header = xpt(path, 8)
    raw = path.read_bytes()
    path.write_bytes(raw + bytes(160))
    assert special_missing(path, header) is None
    path.write_bytes(raw[:-80])
    assert special_missing(path, header) is None


def _places(raw: bytes) -> list[int]:
    """Where the three missing numbers stand, in the order of the file: y, x, x."""
    places, at = [], raw.find(MISSING)
    while at >= 0:
        places.append(at)
        at = raw.find(MISSING, at + 1)
    assert len(places) == 3
    return places
