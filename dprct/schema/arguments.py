"""What a caller gave: names, a choice, a schema; refused without showing any data.

A column of the data in the place of its name is the commonest slip (``outcome=data.y`` for
``outcome="y"``); no message prints what is in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np

from dprct.errors import ParameterError, SchemaError
from dprct.schema.columns import given
from dprct.schema.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Collection


def listed_names(names: object, parameter: str) -> tuple[str, ...]:
    """Return one name, of a column or another thing of the schema, or several as a tuple.

    Raises
    ------
    ParameterError
        If they are no text, or a column of data rather than its name.

    Examples
    --------
    >>> listed_names("earn", "outcome"), listed_names(["earn", "works"], "outcome")
    (('earn',), ('earn', 'works'))
    """
    if isinstance(names, str):
        return (names,)
    if isinstance(names, Iterable) and not (isinstance(names, Mapping) or is_data(names)):
        found = tuple(names)
        if all(isinstance(name, str) for name in found):
            return found
    raise ParameterError(
        f"{parameter}= is {type(names).__name__}; give names, as text or a list of texts"
    )


def distinct_names(names: object, parameter: str) -> tuple[str, ...]:
    """Return names of columns, each once.

    Raises
    ------
    ParameterError
        If they are no text, or one is given twice.

    Examples
    --------
    >>> distinct_names(["age", "site"], "features")
    ('age', 'site')
    """
    listed = listed_names(names, parameter)
    if len(set(listed)) < len(listed):
        raise ParameterError(f"{parameter}= must name columns, each once")
    return listed


def one_name(name: object, parameter: str) -> str:
    """Return the name of one column.

    Raises
    ------
    ParameterError
        If it is no text, such as the column itself.

    Examples
    --------
    >>> one_name("earn", "outcome")
    'earn'
    """
    if isinstance(name, str):
        return name
    raise ParameterError(f"{parameter}={given(name)}; give the name of one column")


def check_choice(parameter: str, value: object, allowed: Collection[str]) -> None:
    """Refuse what is none of the allowed words.

    Raises
    ------
    ParameterError

    Examples
    --------
    >>> check_choice("legal", "strict", ("calibrated", "strict"))
    """
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(f"{parameter}={given(value)}; allowed: {', '.join(allowed)}")


def check_not_named(options: Mapping[str, object], names: Collection[str]) -> None:
    """Refuse options that a formula gives already.

    Raises
    ------
    ParameterError

    Examples
    --------
    >>> check_not_named({"trim": 0.1}, ("treatment", "covariates"))
    """
    for name in options:
        if name in names:
            raise ParameterError(f"{name}= follows from the formula; leave it out")


def check_schema(schema: object) -> None:
    """Refuse what is no schema.

    Raises
    ------
    SchemaError

    Examples
    --------
    >>> check_schema(Schema(()))
    """
    if not isinstance(schema, Schema):
        raise SchemaError(
            f"schema is {type(schema).__name__}; give a dprct.Schema, such as dprct.read returns "
            "beside the data"
        )


def is_data(value: object) -> bool:
    """Whether this is a column or a table of some library; a pandas Index holds names.

    Examples
    --------
    >>> is_data(np.array([1.5])), is_data(["earn", "works"])
    (True, False)
    """
    return (
        isinstance(value, np.ndarray)
        or nw.dependencies.is_into_series(value)
        or nw.dependencies.is_into_dataframe(value)
    )
