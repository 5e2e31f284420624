"""What a custodian compares: the confidential table, and one or many releases of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
from narwhals.exceptions import DuplicateError

from dprct.errors import ParameterError
from dprct.release.release import Release
from dprct.results.confidential import is_confidential
from dprct.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    from narwhals.typing import IntoFrame

Given = Any
"""A data frame, a pair of a data frame and its schema, or a :class:`~dprct.Release`."""

_UNINFORMATIVE = frozenset({"filler", "withheld", "key", "drop"})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Source:
    """One table that is compared.

    Parameters
    ----------
    data : data frame
        As it was given, not copied.
    schema : Schema or None
    method : str
        What released it; empty where it has no name.
    draw : int
        Counts the releases of a method, from 1; 0 for the confidential table.
    is_release : bool
        Whether it came as a :class:`~dprct.Release`, whose schema says the fate of each column.
    """

    data: IntoFrame
    schema: Schema | None
    method: str = ""
    draw: int = 0
    is_release: bool = False

    def __str__(self) -> str:
        if self.draw == 0:
            return "the confidential data"
        return f"release {self.draw}" + (f" of {self.method}" if self.method else "")

    def informative(self, names: Iterable[str]) -> list[str]:
        """Return the columns whose released values depend on the confidential ones."""
        if not self.is_release or self.schema is None:
            return list(names)
        fates = {column.name: column.fate for column in self.schema.columns}
        return [name for name in names if fates.get(name) not in _UNINFORMATIVE]


def confidential_source(
    given: Given, schema: Schema | None = None, option: str = "confidential"
) -> Source:
    """Return a confidential table, with its schema if it came with one or one was given.

    Raises
    ------
    ParameterError
        If it is a release.
    """
    if isinstance(given, Release):
        raise ParameterError(
            f"{option} is a Release; give confidential data there, and the release as released="
        )
    data, own = _parts(option, given)
    return Source(data, own or schema)


def released_sources(given: Given, schema: Schema | None = None) -> list[Source]:
    """Return every release with its method and the number of its draw.

    Parameters
    ----------
    given : Release, data frame, (data frame, Schema), list of them, or mapping of method to these
        A list is several draws of one method.
    schema : Schema, optional
        For those that come without.

    Raises
    ------
    ParameterError
        If there is none, or one is something else.

    Examples
    --------
    >>> import pandas as pd
    >>> draws = [pd.DataFrame({"y": [1.0]}), pd.DataFrame({"y": [2.0]})]
    >>> [str(source) for source in released_sources({"Hybrid": draws, "GenModel": draws[0]})]
    ['release 1 of Hybrid', 'release 2 of Hybrid', 'release 1 of GenModel']
    """
    methods: Mapping[str, Given] = given if isinstance(given, Mapping) else {"": given}
    found = [
        _released(str(method), draw, one, schema)
        for method, several in methods.items()
        for draw, one in enumerate(_listed(several), start=1)
    ]
    if not found:
        raise ParameterError("released is empty; give at least one release or data frame")
    return found


def _released(method: str, draw: int, given: Given, schema: Schema | None) -> Source:
    if isinstance(given, Release):
        return Source(given.protected, given.schema, method, draw, is_release=True)
    data, own = _parts("released", given)
    return Source(data, own or schema, method, draw)


def _listed(given: Given) -> list[Given]:
    if isinstance(given, (list, tuple)) and not _is_pair(given):
        return list(given)
    return [given]


def _is_pair(given: Given) -> bool:
    return isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], Schema)


def _is_table(data: object) -> bool:
    try:
        return nw.from_native(data, pass_through=True) is not data
    except DuplicateError:  # said later, with the names
        return True


def _parts(option: str, given: Given) -> tuple[Any, Schema | None]:
    data, schema = given if _is_pair(given) else (given, None)
    if is_confidential(data):
        raise ParameterError(f"{option} is a custodian report; give the data that it compared")
    if not _is_table(data):
        raise ParameterError(
            f"{option} holds {type(data).__name__}; give a data frame, or a pair of a data frame "
            "and its schema" + (", or a Release" if option == "released" else "")
        )
    return data, schema
