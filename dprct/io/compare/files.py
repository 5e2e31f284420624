"""The comparison of two files, or of two tables with their schemas."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from dprct.errors import ParameterError, SchemaError
from dprct.io.compare.comparison import Comparison, in_order
from dprct.io.compare.facts import fact_differences
from dprct.io.compare.permits import certificate_beside, permits_of, permitted
from dprct.io.compare.values import value_differences
from dprct.schema.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    Source: TypeAlias = str | os.PathLike[str] | tuple[pd.DataFrame, Schema]


def compare(
    a: Source, b: Source, certificate: str | Path | Mapping[str, Any] | None = None
) -> Comparison:
    """Compare two files in every facet, and separate what a certificate permits.

    Parameters
    ----------
    a, b : path or (data, schema)
        The original and the file that takes its place.
    certificate : path or mapping, optional
        What is permitted; by default the ``<stem>.certificate.json`` beside ``b``, where ``b`` is
        a path and there is one.  ``{"differences": []}`` permits nothing.

    Returns
    -------
    Comparison
        False when the files are identical.

    Raises
    ------
    FileError
        If a file or the certificate cannot be read.
    ParameterError
        If ``a`` or ``b`` is neither a path nor a pair.
    SchemaError
        If the columns of a pair are not those of its schema.

    Notes
    -----
    Values are counted, never shown, so that a comparison may be read by whoever may know the
    headers.  The counts come from both files without noise: where one is confidential, so are
    they; values that a certificate permits to differ are therefore not counted.  Whether
    values are legal is the matter of :meth:`dprct.schema.schema.Schema.validate`.

    Examples
    --------
    >>> from dprct.schema.facts import Column
    >>> a = (pd.DataFrame({"x": [1.0, 2.0]}), Schema((Column("x", "byte"),)))
    >>> b = (pd.DataFrame({"x": [1.0, 3.0]}), Schema((Column("x", "int"),)))
    >>> print(compare(a, b))
    the first and the second differ in 2 ways that no certificate permits
      type of x: byte in the first, int in the second
      values of x: 1 of 2 rows differ
    >>> bool(compare(a, a))
    False
    """
    if certificate is None and isinstance(b, (str, os.PathLike)):
        certificate = certificate_beside(Path(b))
    permits = {} if certificate is None else permits_of(certificate)
    one, two = _pair(a), _pair(b)
    found = [*fact_differences(one[1], two[1]), *value_differences(one, two)]
    differences = in_order([permitted(difference, permits) for difference in found])
    return Comparison(differences, (_name(a, "the first"), _name(b, "the second")))


def _pair(source: object) -> tuple[pd.DataFrame, Schema]:
    if isinstance(source, (str, os.PathLike)):
        from dprct.io import read

        return read(source)
    kinds = [type(part) for part in source] if isinstance(source, tuple) else [type(source)]
    match source:
        case (pd.DataFrame() as data, Schema() as schema):
            pass
        case _:
            given = ", ".join(kind.__name__ for kind in kinds)
            raise ParameterError(f"got {given}; give a path, or a pair of pandas frame and schema")
    if list(data.columns) != schema.names:
        raise SchemaError(
            "the columns of the data are not those of the schema, in its order; "
            "give a pair as dprct.read returns it"
        )
    return data, schema


def _name(source: Source, otherwise: str) -> str:
    return Path(source).name if isinstance(source, (str, os.PathLike)) else otherwise
