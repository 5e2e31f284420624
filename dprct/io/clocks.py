"""How SPSS and SAS count and show time and numbers, in Stata's terms."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
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


@dataclass(frozen=True, slots=True)
class Clock:
    """How a column of numbers becomes Stata's numbers: ``(raw - origin) * factor / divisor``.

    Parameters
    ----------
    format : str
        Stata display format, or empty for the default.
    origin : float
        Stata's zero in the units of the file.
    factor, divisor : float
        From the units of the file to Stata's.
    lost : str
        What the format said that Stata's cannot, or empty.
    """

    format: str = ""
    origin: float = 0.0
    factor: float = 1.0
    divisor: float = 1.0
    lost: str = ""

    def to_stata(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the numbers (n,) in Stata's units."""
        return (raw - self.origin) * self.factor / self.divisor


def clock_of(original: str | None, system: str) -> Clock:
    """Return how the numbers of a column with a format of another system are to be read.

    Parameters
    ----------
    original : str or None
        Format as written in the file, for example ``"DATE11"`` or ``"F8.2"``.
    system : {"SPSS", "SAS"}
        SPSS counts seconds from 14 October 1582, SAS days or seconds from 1 January 1960.

    Returns
    -------
    Clock

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
