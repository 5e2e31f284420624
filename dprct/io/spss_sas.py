"""SPSS and SAS files through pyreadstat: .sav, .zsav, .por, .sas7bdat and .xpt."""

from __future__ import annotations

import re
import warnings
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import DprctWarning, FileError
from dprct.lazy import pandas as pd
from dprct.missing import MISSING_CODES, Recoding, recoding_of, tagged
from dprct.records import dataclass
from dprct.schema.columns import DATASET, Code, Column, FileFacts
from dprct.schema.facts import STRING_WIDTH
from dprct.schema.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray


_FORMAT = re.compile(r"\$?([A-Z_](?:[A-Z0-9_]*[A-Z_])?)(\d*)(?:\.(\d*))?")
_DAY = 86_400.0
_SPSS_DAYS = 137_775  # 14 October 1582 to 1 January 1960
_SPSS_SECONDS = _SPSS_DAYS * _DAY

_SPSS_DAY_FORMATS = {
    "DATE": "%td",
    "ADATE": "%tdNN/DD/CCYY",
    "EDATE": "%tdDD.NN.CCYY",
    "SDATE": "%tdCCYY/NN/DD",
    "JDATE": "%tdCCYYJJJ",
    "QYR": "%tdq_!Q_CCYY",
    "MOYR": "%tdMon_CCYY",
    "WKYR": "%tdWW_!W!K_CCYY",
}
_SPSS_MOMENTS = ("DATETIME", "YMDHMS")
_SAS_DAY_FORMATS = {
    "DATE": "%td",
    "WEEKDATE": "%td",
    "WORDDATE": "%td",
    "MMDDYY": "%tdNN/DD/CCYY",
    "MMDDYYS": "%tdNN/DD/CCYY",
    "DDMMYY": "%tdDD/NN/CCYY",
    "DDMMYYS": "%tdDD/NN/CCYY",
    "YYMMDD": "%tdCCYY-NN-DD",
    "YYMMDDD": "%tdCCYY-NN-DD",
    "YYMMDDN": "%tdCCYYNNDD",
    "E8601DA": "%tdCCYY-NN-DD",
    "IS8601DA": "%tdCCYY-NN-DD",
    "B8601DA": "%tdCCYYNNDD",
    "JULIAN": "%tdCCYYJJJ",
    "MONYY": "%tdMon_CCYY",
    "YYQ": "%tdCCYY!Qq",
}
_SAS_MOMENTS = ("DATETIME", "DATEAMPM", "MDYAMPM", "E8601DT", "IS8601DT", "B8601DT")
_SAS_TIMES = ("TIME", "TOD", "HHMM", "TIMEAMPM", "E8601TM", "IS8601TM", "B8601TM")
_FIXED = {"F": "f", "COMMA": "fc"}
_PLAIN = {"F", "COMMA", "N", "BEST"}


@dataclass(frozen=True)
class Clock:
    """How a column of numbers becomes Stata's numbers: ``(raw - origin) * factor / divisor``."""

    format: str = ""  # Stata display format, or empty for the default
    origin: float = 0.0  # Stata's zero in the units of the file
    # factor, divisor: from the units of the file to Stata's.
    factor: float = 1.0
    divisor: float = 1.0
    lost: str = ""  # what the format said that Stata's cannot, or empty

    def to_stata(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the numbers (n,) in Stata's units."""
        return (raw - self.origin) * self.factor / self.divisor


def clock_of(original: str | None, system: str) -> Clock:
    """Clock by which the numbers of a column with a format of another system are read.

    SPSS counts seconds from 14 October 1582, SAS days or seconds from 1 January 1960.

    Examples
    --------
    >>> import numpy as np
    >>> clock_of("F8.2", "SPSS").format
    '%8.2f'
    >>> clock_of("DATE11", "SPSS").to_stata(np.array([13_797_216_000.0])).tolist()
    [21915.0]
    """
    found = _FORMAT.fullmatch((original or "").strip().upper().rstrip("."))
    if found is None:
        return Clock(lost=_unknown(original) if original else "")
    name, width, decimals = found[1], found[2], found[3] or "0"
    known = _spss(name) if system == "SPSS" else _sas(name)
    if known is not None:
        return known
    if name in _FIXED and width and int(decimals) < int(width):
        return Clock(f"%{width}.{decimals}{_FIXED[name]}")
    return Clock(lost="" if name in _PLAIN else _unknown(name))


def _spss(name: str) -> Clock | None:
    if name in _SPSS_DAY_FORMATS:
        return Clock(_SPSS_DAY_FORMATS[name], origin=_SPSS_SECONDS, divisor=_DAY)
    if name in _SPSS_MOMENTS:
        return Clock("%tc", origin=_SPSS_SECONDS, factor=1000.0)
    if name == "TIME":
        return Clock("%tcHH:MM:SS", factor=1000.0)
    return Clock(lost="that seconds are shown as a duration") if name == "DTIME" else None


def _sas(name: str) -> Clock | None:
    if name in _SAS_DAY_FORMATS:
        return Clock(_SAS_DAY_FORMATS[name])
    if name in _SAS_MOMENTS:
        return Clock("%tc", factor=1000.0)
    return Clock("%tcHH:MM:SS", factor=1000.0) if name in _SAS_TIMES else None


def _unknown(name: str) -> str:
    return f"the format {name}"


_CARD = 80
_OBSERVATIONS = (
    b"HEADER RECORD*******OBS     HEADER RECORD!!!!!!!",
    b"HEADER RECORD*******OBSV8   HEADER RECORD!!!!!!!",
)
_BEFORE_A = ord("A") - 1


def special_missing(path: Path, header: Any) -> dict[str, NDArray[np.int8]] | None:
    """Places of ``.A`` to ``.Z`` in a SAS transport file, by column: 1 to 26, else 0.

    pyreadstat reads them as plain missing.  None where the rows do not lie as its header says, so
    that nothing can be said.

    References
    ----------
    SAS technical support notes TS-140 (version 5) and "Record Layout of a SAS Version 8 or 9 Data
    Set in SAS Transport Format".
    """
    # a missing number is one byte, ".", "_" or "A" to "Z", followed by zeros
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


_KINDS = {
    ".sav": ("read_sav", "SPSS"),
    ".zsav": ("read_sav", "SPSS"),
    ".por": ("read_por", "SPSS portable"),
    ".sas7bdat": ("read_sas7bdat", "SAS"),
    ".xpt": ("read_xport", "SAS transport"),
}
_KEEPS_USER_MISSING = ("read_sav", "read_sas7bdat")
_LARGEST_CODE = 2_147_483_620
_BYTES_PER_BYTE = 3  # the most that one byte of an 8-bit or East Asian encoding takes in UTF-8


@dataclass
class _Parts:
    """What has been made of a file so far, column by column, and what could not be kept."""

    system: str
    data: dict[str, pd.Series[Any]] = field(default_factory=dict)
    columns: list[Column] = field(default_factory=list)
    label_sets: dict[str, Mapping[Code, str]] = field(default_factory=dict)
    characteristics: list[tuple[str, str, str]] = field(default_factory=list)
    lost: dict[str, list[str]] = field(default_factory=dict)

    def lose(self, what: str, name: str) -> None:
        self.lost.setdefault(what, []).append(name)


def read_foreign(path: Path) -> tuple[pd.DataFrame, Schema]:
    """Read an SPSS or SAS file with its labels, formats and missing codes.

    Warns
    -----
    DprctWarning
        Naming what this file has and Stata's facts cannot hold.

    Notes
    -----
    User-missing values of SPSS become ``.a`` to ``.z`` by a rule that needs the header only (see
    :func:`dprct.missing.recoding_of`); the rule is kept as the characteristic
    ``user_missing`` of the column, the level of measurement as ``measure``.  SPSS's alignments,
    column widths, roles, weights and custom attributes are not kept, nor is the file's date.

    SAS's ``.A`` to ``.Z`` become ``.a`` to ``.z``.  Its value labels are in a catalogue, which is
    not read: a format that is not one of SAS's own is named in the warning.
    """
    reader, kind = _KINDS[path.suffix.lower()]
    raw, header = _parsed(path, reader, kind)
    parts = _Parts(system=kind.split()[0])
    for name in header.column_names:
        _add_column(parts, name, raw[name], header)
    if reader == "read_xport":
        _add_special_missing(parts, path, header)
    _add_notes(parts, header)
    _say_lost(parts, path, reader, header)
    file = FileFacts(
        label=header.file_label or "",
        value_labels=MappingProxyType(parts.label_sets),
        characteristics=tuple(parts.characteristics),
        rows=len(raw),
    )
    schema = Schema(tuple(parts.columns), file=file, opened=True, source=path)
    return pd.DataFrame(parts.data), schema


def _parsed(path: Path, reader: str, kind: str) -> tuple[pd.DataFrame, Any]:
    import pyreadstat

    options = {"user_missing": True} if reader in _KEEPS_USER_MISSING else {}
    try:
        raw, header = getattr(pyreadstat, reader)(
            str(path), disable_datetime_conversion=True, **options
        )
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError, OSError) as error:
        # a UnicodeDecodeError would quote the data, the library's own words do not
        known = isinstance(error, (pyreadstat.ReadstatError, pyreadstat.PyreadstatError))
        cause = f" ({str(error).strip().rstrip('.')})" if known else ""
        raise FileError(
            f"{path.name!r} cannot be read as a file of {kind}{cause}; "
            "check that its extension says what it is"
        ) from None
    names = header.column_names
    if not all(names) or len(names) == 0 or len(set(names)) < len(names):
        raise FileError(
            f"{path.name!r} has no columns, one without a name, or a name twice; "
            f"correct it in {kind}"
        )
    return raw, header


def _add_column(parts: _Parts, name: str, raw: pd.Series[Any], header: Any) -> None:
    if header.readstat_variable_types[name] == "string":
        column = _add_text(parts, name, raw, header)
    else:
        column = _add_numbers(parts, name, raw, header)
    parts.columns.append(column)
    measure = header.variable_measure.get(name, "unknown")
    if measure != "unknown":
        parts.characteristics.append((name, "measure", measure))


def _add_text(parts: _Parts, name: str, raw: pd.Series[Any], header: Any) -> Column:
    cells = raw.to_numpy(object).copy()
    cells[pd.isna(cells)] = ""
    parts.data[name] = pd.Series(cells, dtype=object)
    if header.missing_ranges.get(name):
        parts.lose("that a text is user-missing", name)
    if header.variable_value_labels.get(name):
        parts.lose("value labels of text", name)
    return Column(name, _text_type(name, header), label=_label(header, name))


def _text_type(name: str, header: Any) -> str:
    encoding = (header.file_encoding or "UTF-8").upper()
    factor = 1 if encoding in ("UTF-8", "US-ASCII", "ASCII") else _BYTES_PER_BYTE
    width = max(1, header.variable_storage_width[name] * factor)
    return f"str{width}" if width <= STRING_WIDTH else "strL"


def _add_numbers(parts: _Parts, name: str, raw: pd.Series[Any], header: Any) -> Column:
    clock = clock_of(header.original_variable_types[name], parts.system)
    labels = header.variable_value_labels.get(name, {})
    recoding = recoding_of(header.missing_ranges.get(name, []), labels)
    numbers, codes = _with_letters(parts, name, raw)
    codes = np.maximum(codes, recoding.codes(numbers))
    values = np.where(codes < 0, clock.to_stata(numbers), tagged(np.maximum(codes, 0)))
    parts.data[name] = pd.Series(values)
    _note_recoding(parts, name, recoding, clock)
    set_name = header.variable_to_label.get(name, name) if labels else ""
    value_label = _add_labels(parts, name, set_name, _stata_labels(parts, name, labels, recoding))
    return Column(
        name, "double", format=clock.format, label=_label(header, name), value_label=value_label
    )


def _with_letters(
    parts: _Parts, name: str, raw: pd.Series[Any]
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Return the numbers of a column, and the missing codes that SAS wrote as letters."""
    if raw.dtype != object:
        numbers = raw.to_numpy(np.float64)
        return numbers, np.where(np.isnan(numbers), 0, -1).astype(np.int8)
    cells = raw.to_numpy(object)
    letters = np.array([cell.lower() if isinstance(cell, str) else "" for cell in cells])
    if np.any(letters == "_"):
        parts.lose("the missing code ._ (read as .)", name)
    numbers = np.where(letters == "", cells, np.nan).astype(np.float64)
    codes = np.where(np.isnan(numbers), 0, -1).astype(np.int8)
    for number, code in enumerate(MISSING_CODES[1:], start=1):
        codes[letters == code[1:]] = number
    return numbers, codes


def _note_recoding(parts: _Parts, name: str, recoding: Recoding, clock: Clock) -> None:
    if recoding.rules:
        parts.characteristics.append((name, "user_missing", str(recoding)))
    if recoding.merged:
        parts.lose("which of several user-missing values it was", name)
    if clock.lost:
        parts.lose(clock.lost, name)


def _stata_labels(
    parts: _Parts, name: str, labels: Mapping[Any, str], recoding: Recoding
) -> dict[Code, str]:
    """Return the labels of whole numbers and missing codes; Stata labels nothing else."""
    out: dict[Code, str] = {}
    for value, text in labels.items():
        code = _code(value, recoding)
        if code is None:
            parts.lose("labels of values that are not whole numbers", name)
        else:
            out.setdefault(code, text)
    return out


def _code(value: Any, recoding: Recoding) -> Code | None:
    if isinstance(value, str):  # a letter of SAS
        code = f".{value.lower()}"
        return code if code in MISSING_CODES else None
    number = int(recoding.codes(np.array([value], np.float64))[0])
    if number > 0:
        return MISSING_CODES[number]
    whole = float(value).is_integer() and abs(value) <= _LARGEST_CODE
    return int(value) if whole else None


def _add_labels(parts: _Parts, name: str, set_name: str, labels: dict[Code, str]) -> str:
    """Keep a label set under its name, or under one more name where recoding split it."""
    if not labels:
        return ""
    if parts.label_sets.setdefault(set_name, labels) != labels:
        set_name = f"{set_name}_{name}"
        parts.label_sets[set_name] = labels
    return set_name


def _add_special_missing(parts: _Parts, path: Path, header: Any) -> None:
    found = special_missing(path, header)
    if found is None:
        parts.lose("special missing codes (read as .)", "any number")
        return
    for name, codes in found.items():
        values = parts.data[name].to_numpy()
        parts.data[name] = pd.Series(np.where(codes > 0, tagged(codes), values))


def _add_notes(parts: _Parts, header: Any) -> None:
    notes = [note for note in header.notes or [] if note]
    if notes:
        parts.characteristics.append((DATASET, "note0", str(len(notes))))
    for number, note in enumerate(notes, start=1):
        parts.characteristics.append((DATASET, f"note{number}", note))


def _say_lost(parts: _Parts, path: Path, reader: str, header: Any) -> None:
    lost = [f"{what} (of {', '.join(names)})" for what, names in parts.lost.items()]
    if getattr(header, "mr_sets", None):
        lost.append("multiple-response sets")
    if reader == "read_por":
        lost.append("user-missing values, which this format's reader gives as .")
    if lost:
        warnings.warn(
            f"{path.name!r} was read without {'; '.join(lost)}",
            DprctWarning,
            stacklevel=5,  # the caller of dprct.io.read, past its check of arguments
        )


def _label(header: Any, name: str) -> str:
    return header.column_names_to_labels.get(name) or ""
