"""Roles that the names and labels of columns suggest; a person takes them by one press."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.schema.columns import Column
    from dprct.schema.schema import Schema

_LOOKS: Mapping[str, re.Pattern[str]] = {
    "id": re.compile(r"(\w+_)?(id|pid|uid|caseid|person_?id|respid)"),
    "weight": re.compile(r"(\w+_)?(wt|wgt|pw|pweight)|(survey|sample|sampling)_?weights?"),
    "treatment": re.compile(r"treat(ed|ment)?|arm|assigned"),
    "out": re.compile(
        r"(\w+_)?(name|firstname|surname|phone|email|e_mail|address|comments?|remarks?|notes?)"
    ),
}
"""What columns of each role are called; readers do not even see those that are left out."""

_TREATED = ("experiment", "observational")


def guessed(document: Mapping[str, Any], header: Schema, family: str) -> dict[str, str]:
    """Roles of columns of which nobody said anything yet.

    Examples
    --------
    >>> from dprct.schema import Column, Schema
    >>> guessed({}, Schema((Column("hh_id"), Column("wt"), Column("width"))), "survey")
    {'hh_id': 'id', 'wt': 'weight'}
    """
    tables = document.get("columns", {})
    return {
        column.name: role
        for column in header.columns
        if not {"role", "fate"} & {*tables.get(column.name, {})}
        and (role := _looks_like(column))
        and (role != "treatment" or family in _TREATED)
    }


def _looks_like(column: Column) -> str:
    name, label = column.name.lower(), re.sub(r"\W+", "_", column.label.lower())
    return next(
        (role for role, form in _LOOKS.items() if form.fullmatch(name) or form.fullmatch(label)),
        "",
    )
