r"""A digest of the values of a table that does not depend on the file that holds them.

The SHA-256 of a file changes when somebody opens and saves it.  This digest does not: whoever can
read the values can compute it again, from a .dta of any release, an .rds, a .csv or the .tab of an
archive.  It is defined here so that others can compute it without this package.

**A cell** is either a number or a text, by its column.

- A *number* is the 8 bytes of its IEEE 754 double, most significant byte first; -0 becomes 0.
- A *missing number* is the 8 bytes ``7F F8 00 00 00 00 00 kk``.  In the *exact* digest ``kk`` is 0
  for ``.`` and 1 to 26 for ``.a`` to ``.z``; in the *plain* digest it is always 0, because a .csv
  does not know which code was meant.
- A *text* is its length in bytes (8 bytes, most significant first), then its bytes in UTF-8; bytes
  that are no UTF-8 stay as they are in the file.  A missing text is the empty text.

**A column** is the SHA-256 of one byte, ``N`` for numbers or ``T`` for texts, the number of rows (8
bytes, most significant first), and its cells from the first row to the last.

**A rounded column** of numbers is the plain digest after every number was printed with 15
significant digits (``%.15g`` of C) and read again, as R's ``write.csv`` prints them.

**The table** is the SHA-256 of the line ``dprct-values-1`` with its line feed and, for every column
in the order of the table, the length in bytes of its name (8 bytes, most significant first), the
name in UTF-8, and the 32 bytes of the column's digest: exact ones for the exact digest, plain ones
for the plain.

**The labels of a column** are the SHA-256 of the texts, each as above, of: its variable label, then
for each value label by rising code (numbers by size, then ``.`` to ``.z``) the code (a decimal
number or a missing code) and the label.  Names of label sets do not count, as programs rename them.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dprct.errors import ParameterError
from dprct.missing import MISSING_CODES, missing_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from dprct.schema.columns import Code
    from dprct.schema.schema import Schema

Kind = Literal["number", "float", "text"]

_HEAD = b"dprct-values-1\n"
_MISSING = np.uint64(0x7FF8_0000_0000_0000)


@dataclass(frozen=True, slots=True)
class ColumnDigest:
    """The digests of one column, each 64 hexadecimal digits.

    Parameters
    ----------
    name : str
    kind : {"number", "float", "text"}
        ``"float"`` is a number that the file keeps in four bytes: printed, such a number may
        have fewer digits, and it is rounded to four bytes again before it is compared.
    exact : str
        With the missing codes.
    plain : str
        Without them; that of a text is the exact one.
    rounded : str
        Plain, of the numbers at 15 significant digits; that of a text is the exact one.
    labels : str
        Of the variable label and the value labels.
    """

    name: str
    kind: Kind
    exact: str
    plain: str
    rounded: str
    labels: str


@dataclass(frozen=True, slots=True)
class ValuesDigest:
    """The digests of a table.

    Parameters
    ----------
    rows : int
    columns : tuple of ColumnDigest
        In the order of the file.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.schema import Column, Schema
    >>> schema = Schema((Column("got", "byte"),))
    >>> found = digest_of(pd.DataFrame({"got": [1.0, -0.0]}), schema)
    >>> found.sha256[:16], found.sha256 == found.plain_sha256
    ('f8c53d063cb3bec4', True)
    """

    rows: int
    columns: tuple[ColumnDigest, ...]

    @property
    def sha256(self) -> str:
        """The exact digest of the table."""
        return _of_table([(c.name, c.exact) for c in self.columns])

    @property
    def plain_sha256(self) -> str:
        """The plain digest of the table, which a .csv has too."""
        return _of_table([(c.name, c.plain) for c in self.columns])

    def to_dict(self) -> dict[str, Any]:
        """Return the digests as JSON-ready values; see ``certificate.schema.json``."""
        return {
            "definition": "dprct-values-1",
            "rows": self.rows,
            "sha256": self.sha256,
            "plain_sha256": self.plain_sha256,
            "columns": [asdict(column) for column in self.columns],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> ValuesDigest:
        """Return the digests that :meth:`to_dict` wrote.

        Raises
        ------
        ParameterError
            If they contradict themselves, so that somebody changed one of them.
        """
        columns = tuple(ColumnDigest(**column) for column in content["columns"])
        stated = (content["sha256"], content["plain_sha256"])
        try:
            found = cls(int(content["rows"]), columns)
            is_whole = (found.sha256, found.plain_sha256) == stated
        except ValueError:  # a digest that is no hexadecimal number
            is_whole = False
        if not is_whole:
            raise ParameterError(
                "the digests of the columns in the certificate do not add up to that of the table, "
                "so the certificate was changed; take the one that came with the file"
            )
        return found


def digest_of(table: pd.DataFrame, schema: Schema) -> ValuesDigest:
    """Return the digests of a released table.

    Parameters
    ----------
    table : pandas.DataFrame
        Codes and numbers, missing codes in NaN payloads, text as ``str`` or ``bytes``.
    schema : Schema
        Gives storage types and labels.
    """
    columns = []
    for column in schema.columns:
        labels = labels_digest(column.label, schema.labels_of(column.name))
        if column.type.startswith("str"):
            digest = text_digest(list(table[column.name]))
            columns.append(ColumnDigest(column.name, "text", digest, digest, digest, labels))
            continue
        values = table[column.name].to_numpy(np.float64)
        kind: Kind = "float" if column.type == "float" else "number"
        exact, plain = (number_digest(values, exact=keep) for keep in (True, False))
        rounded = number_digest(to_15_digits(values), exact=False)
        columns.append(ColumnDigest(column.name, kind, exact, plain, rounded, labels))
    return ValuesDigest(len(table), tuple(columns))


def number_digest(values: NDArray[np.float64], *, exact: bool) -> str:
    """Return the digest of a column of numbers (n,), with or without its missing codes."""
    codes = missing_numbers(values)
    bits = np.where(values == 0, 0.0, values).view(np.uint64)
    tags = np.maximum(codes, 0).astype(np.uint64) if exact else np.uint64(0)
    bits = np.where(codes >= 0, _MISSING | tags, bits)
    return hashlib.sha256(b"N" + _length(len(values)) + bits.astype(">u8").tobytes()).hexdigest()


def text_digest(values: Sequence[object]) -> str:
    """Return the digest of a column of texts (n,); anything but ``str`` or ``bytes`` is missing."""
    digest = hashlib.sha256(b"T" + _length(len(values)))
    for value in values:
        digest.update(_counted(value if isinstance(value, (str, bytes)) else ""))
    return digest.hexdigest()


def labels_digest(label: str, labels: Mapping[Code, str]) -> str:
    """Return the digest of a variable label and of value labels."""
    digest = hashlib.sha256(_counted(label))
    for code in sorted(labels, key=_rank):
        digest.update(_counted(code if isinstance(code, str) else f"{code:d}"))
        digest.update(_counted(labels[code]))
    return digest.hexdigest()


def to_15_digits(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers (n,) as they come back from 15 printed digits; missing ones as they are.

    Examples
    --------
    >>> to_15_digits(np.array([1 / 3, 0.1 + 0.2])).tolist()
    [0.333333333333333, 0.3]
    """
    exact = np.isnan(values) | (values == np.rint(values)) & (np.abs(values) < 1e15)
    out = values.copy()
    out[~exact] = [float(f"{value:.15g}") for value in values[~exact].tolist()]
    return out


def _of_table(columns: Sequence[tuple[str, str]]) -> str:
    digest = hashlib.sha256(_HEAD)
    for name, column in columns:
        digest.update(_counted(name) + bytes.fromhex(column))
    return digest.hexdigest()


def _counted(text: str | bytes) -> bytes:
    raw = text if isinstance(text, bytes) else _bytes(text)
    return _length(len(raw)) + raw


def _bytes(text: str) -> bytes:
    """Return a text in UTF-8; a surrogate escape is the byte of the file that it stands for."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _length(number: int) -> bytes:
    return number.to_bytes(8, "big")


def _rank(code: Code) -> tuple[int, float]:
    return (1, MISSING_CODES.index(code)) if isinstance(code, str) else (0, code)
