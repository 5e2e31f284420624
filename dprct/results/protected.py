"""What a fit knows of where its table comes from: a release, a protected file, or nothing.

A guarantee is repeated only where it is known to hold for the columns that a fit uses: they are
those of the release that was given, or their digests are those of the certificate next to the file
that was read.  Whatever else looks like a protected file is said to be unverified, and why.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct import disk
from dprct.certificate.certificate import (
    NO_GUARANTEE_LABEL,
    Certificate,
    ValuesDigest,
    certificate_path,
    number_digest,
    text_digest,
    to_15_digits,
)
from dprct.certificate.valid_regressions import Validity
from dprct.errors import DprctError, ParameterError
from dprct.formula.design_matrix import columns_of, is_factor
from dprct.io.formats import read
from dprct.privacy.budget import Guarantee
from dprct.schema.columns import DATASET

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from dprct.certificate.certificate import ColumnDigest
    from dprct.schema import Schema

_MADE = re.compile(r"(?:Protected|Synthetic, not protected,) file made by dprct\. ")
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class Origin:
    """A certificate that may describe a table.

    Parameters
    ----------
    name : str
        What messages call it.
    guarantee : Guarantee
    values : ValuesDigest or None
        Of the table that it describes; None where it has none, or the release is a simulation.
    """

    name: str
    guarantee: Guarantee
    values: ValuesDigest | None

    def to_json(self) -> str:
        """Return it as text, by which a frame of R carries it."""
        content: dict[str, Any] = {"name": self.name, "guarantee": self.guarantee.to_dict()}
        if self.values is not None:
            content["values"] = self.values.to_dict()
        return json.dumps(content)

    @classmethod
    def from_json(cls, text: str) -> Origin:
        """Return what :meth:`to_json` wrote.

        Raises
        ------
        ParameterError
            If it is something else.
        """
        try:
            content = json.loads(text)
            values = ValuesDigest.from_dict(content["values"]) if "values" in content else None
            return cls(str(content["name"]), Guarantee.from_dict(content["guarantee"]), values)
        except (ValueError, LookupError, TypeError, AttributeError):
            raise ParameterError(
                "what the data say of their release cannot be read; take them from the release"
            ) from None

    def promised(self, data: Any, names: Iterable[str]) -> Guarantee:
        """Return the guarantee, if these columns of a table are those of the certificate."""
        if self.guarantee.simulation:
            return self.guarantee
        if self.values is None:
            return Guarantee.unverified_because(
                f"{self.name} has no digest of the values, so that it cannot be held against them"
            )
        known = {column.name: column for column in self.values.columns}
        names = list(dict.fromkeys(names))
        frame = columns_of(data, names)
        foreign = [n for n in names if n not in known or not _is_described(frame[n], known[n])]
        if not foreign:
            return self.guarantee
        shown = ", ".join(foreign[:_MOST_NAMED]) + (", ..." if len(foreign) > _MOST_NAMED else "")
        return Guarantee.unverified_because(
            f"{self.name} does not describe the column{'s' * (len(foreign) > 1)} {shown} as given "
            "(rows were left out or reordered, values were changed, or columns were added)"
        )


@dataclass(frozen=True, slots=True)
class Provenance:
    """What is known of the table of a fit.

    Parameters
    ----------
    guarantee : Guarantee or None
        None of a table of which nothing says that it was released.
    contradicted : bool
        Whether there is a certificate, and it does not describe the columns: what the file says of
        its errors then does not hold for them either.
    """

    guarantee: Guarantee | None
    contradicted: bool = False

    @property
    def is_released(self) -> bool:
        """Whether the table is known to be a release, whatever that promises."""
        return self.guarantee is not None and not self.guarantee.unverified


def binned_notes(
    schema: Schema | None, outcomes: Iterable[str], known: Provenance
) -> tuple[str, ...]:
    """Return what is said of means of released columns that have bins, as their schema tells."""
    if schema is None or not known.is_released:
        return ()
    names = [
        name
        for name in dict.fromkeys(outcomes)
        if name in schema.names and schema.column(name).bins is not None
    ]
    if not names:
        return ()
    return (
        f"{', '.join(names)}: released in bins; within them values are drawn, and a mean or an "
        "effect is as good as the plan in the certificate says of it.",
    )


def table_given(
    data: Any, schema: Schema | None, guarantee: Guarantee | None
) -> tuple[Any, Schema | None, Guarantee | None]:
    """Return table, schema and guarantee of the argument ``data``.

    Parameters
    ----------
    data : Release, path, (data, schema) or data frame
        A release brings its schema and its guarantee, a file and a pair their schema.
    schema : Schema or None
    guarantee : Guarantee or None

    Raises
    ------
    ParameterError
        If a schema or guarantee is given for data that bring their own.
    """
    if getattr(type(data), "holds_protected", False):
        if schema is not None or guarantee is not None:
            raise ParameterError(
                "a release brings its schema and its guarantee; leave out ``schema=`` "
                "and ``guarantee=``"
            )
        return data.protected, data.schema, data.guarantee
    if isinstance(data, (str, os.PathLike)):
        data = read(data)
    if isinstance(data, tuple):
        if len(data) != 2 or schema is not None:
            raise ParameterError(
                "``data=`` is ``a tuple``; give a pair of data and schema, and leave out "
                "``schema=``"
            )
        data, schema = data
    return data, schema, guarantee


def provenance(
    data: Any,
    schema: Schema | None,
    names: Iterable[str],
    guarantee: Guarantee | None,
    *,
    by_row: bool,
) -> Provenance:
    """Return what is known of the columns that a fit uses.

    Parameters
    ----------
    data : data frame
    schema : Schema or None
    names : iterable of str
    guarantee : Guarantee or None
        As given: then it holds, unless it says itself that it is unverified.
    by_row : bool
        Whether something was given by row, which is no column of any file.
    """
    if guarantee is not None:
        return Provenance(guarantee, contradicted=guarantee.unverified)
    if schema is None:
        return Provenance(None)
    origin, problem = _beside(schema.source)
    if origin is not None and by_row:
        return Provenance(Guarantee.unverified_because(_BY_ROW.format(origin.name)))
    if origin is not None:
        found = origin.promised(data, names)
        return Provenance(found, contradicted=found.unverified)
    words = _own_words(schema)
    if words is None and not problem:
        return Provenance(None)
    said = "" if words is None else f"; the data's own notes say: {words.rstrip('.')}"
    problem = problem or "no certificate was found with these data"
    return Provenance(Guarantee.unverified_because(problem + said))


_BY_ROW = "{} does not describe the clusters or weights, which were given by row"


def _beside(source: Path | None) -> tuple[Origin | None, str]:
    """Return the certificate next to a file, or why it cannot be read; neither without one."""
    if source is None:
        return None, ""
    place = certificate_path(source)
    if not os.path.lexists(place):
        return None, ""
    try:
        found = Certificate.from_dict(json.loads(disk.content(place, disk.MOST_JSON)))
    except (OSError, ValueError, TypeError, RecursionError, DprctError):
        return None, f"{place.name}, next to the file, is no certificate that can be read"
    return Origin(place.name, found.guarantee, found.values), ""


def _own_words(schema: Schema) -> str | None:
    """Return what the file of a schema says of its guarantee; None of an ordinary file."""
    for owner, name, text in schema.file.characteristics:
        found = _MADE.match(text)
        if owner == DATASET and name.startswith("note") and found is not None:
            return text[found.end() :]
    if Validity.of(schema) is not None:
        return "it is calibrated"
    label = schema.file.label
    return label if isinstance(label, str) and label.startswith(NO_GUARANTEE_LABEL) else None


def _is_described(column: Any, digest: ColumnDigest) -> bool:
    """Whether a column has the values of a digest; which missing code stands where is no matter."""
    if digest.kind == "text":
        return bool(text_digest(list(column)) == digest.plain)
    if is_factor(column):
        return False
    values = column.to_numpy(np.float64, na_value=np.nan)
    if digest.kind == "float":
        values = values.astype(np.float32).astype(np.float64)
    if number_digest(values, exact=False) == digest.plain:
        return True
    return bool(number_digest(to_15_digits(values), exact=False) == digest.rounded)
