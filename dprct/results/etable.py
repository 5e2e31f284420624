"""Regression tables: several fits side by side, with the rows that papers add below them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dprct.arguments import checked
from dprct.certificate.valid_regressions import NOT_RELEASED
from dprct.errors import ColumnError, ParameterError
from dprct.plots import Labels
from dprct.results.base import LinearResults
from dprct.results.tables import Cell, Column, Estimate, Row, Table, style_named

if TYPE_CHECKING:
    from dprct.schema import Schema

STATISTICS: Mapping[str, str] = {
    "nobs": "Observations",
    "n_groups": "Clusters",
    "rsquared": "R-squared",
    "rsquared_adj": "Adjusted R-squared",
    "rmse": "Root MSE",
    "fvalue": "F",
    "f_pvalue": "Prob > F",
    "df_resid": "Residual degrees of freedom",
    "cov_type": "Standard errors",
}
"""What a row at the foot of a table may say, and what it is called."""

_SHARES = {"rsquared": 3, "rsquared_adj": 3, "fvalue": 2, "f_pvalue": 3}  # their decimals
_COUNTS = ("nobs", "n_groups", "df_resid")
_LEVEL = re.compile(r"(?:C\((?P<coded>.+)\)|(?P<plain>.+))\[(?:T\.)?(?P<level>.*)\]")
_BETWEEN = re.compile(r":(?![^\[]*\])")


@checked
def etable(
    models: Sequence[Any] | Mapping[str, Any],
    schema: Schema | None = None,
    *,
    keep: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    indicate: Mapping[str, Sequence[str]] | None = None,
    groups: Mapping[str, Sequence[str | int]] | None = None,
    labels: Mapping[str, str] | None = None,
    stats: Sequence[str] = ("nobs", "n_groups", "rsquared"),
    rows: Mapping[str, Sequence[Cell]] | None = None,
    style: str = "econ",
    title: str = "",
    notes: Sequence[str] = (),
) -> Table:
    """Put regressions side by side in one table, as in a paper.

    Parameters
    ----------
    models : list of results, or mapping of heading to results
        Results with coefficients, such as those of :func:`dprct.ols`; a release with its
        estimates, or released moments with their effects.
    schema : Schema, optional
        Labels of variables and of the levels of factors are taken from here.
    keep : list of str, optional
        Coefficients to show, in this order.  The name of a factor stands for all its levels.
    drop : list of str
        Coefficients to leave out.
    indicate : mapping of name to list of str, optional
        Rows that print Yes for models with one of these coefficients, which are then not shown.
        Absorbed effects have such a row without being asked for.
    groups : mapping of heading to list of str or int, optional
        Headings above adjacent models, given by heading or by position from 1, as with ``mgroups``
        of Stata's ``esttab``.
    labels : mapping of str to str, optional
        Names of coefficients and outcomes, instead of those of the schema.
    stats : list of str
        Rows at the foot: ``nobs``, ``n_groups``, ``rsquared``, ``rsquared_adj``, ``rmse``,
        ``fvalue``, ``f_pvalue``, ``df_resid``, ``cov_type``. A statistic that no model has is left
        out.
    rows : mapping of name to list, optional
        Rows added by hand, one cell per model.
    style : {"econ", "aer", "esttab", "paper"}
    title : str
    notes : sequence of str

    Returns
    -------
    Table
        The coefficients with their standard errors; ``to_frame()`` returns them unrounded.

    Raises
    ------
    ColumnError
        If no model has one of the coefficients named.
    ParameterError
        If there is no model, a statistic or style is unknown, or models of a group are not
        adjacent.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.results.ols import ols
    >>> data = pd.DataFrame({"y": [1.0, 2, 4, 3, 6], "x": [0, 0, 1, 1, 1], "z": [1, 2, 1, 3, 5]})
    >>> fits = [ols("y ~ x", data), ols("y ~ x + z", data)]
    >>> table = etable(fits, indicate={"Controls": ["z"]}, stats=["nobs"], style="aer")
    >>> print(table.to_text(notes=False))
    ==============================
                         y
                      (1)      (2)
    ------------------------------
    x              2.833    2.039
                  (1.036)  (1.089)
    Constant       1.500    0.706
                  (0.456)  (0.592)
    ------------------------------
    Controls           No      Yes
    Observations       5        5
    ------------------------------
    >>> table = etable(fits * 2, groups={"All": [1, 2], "Towns": [3, 4]}, keep=["x"], stats=[])
    >>> print(table.to_text(notes=False, style="aer", digits=1))
    =============================
           All          Towns
            y             y
         (1)    (2)    (3)    (4)
    -----------------------------
    x   2.8    2.0    2.8    2.0
       (1.0)  (1.1)  (1.0)  (1.1)
    -----------------------------
    """
    fits = _headed(models)
    shape = style_named(style)
    for name in stats:
        if name not in STATISTICS:
            raise ParameterError(f"stats has {name!r}; allowed: {', '.join(STATISTICS)}")
    terms = _terms(fits)
    said = {} if indicate is None else {name: list(wanted) for name, wanted in indicate.items()}
    hidden = {t for group in (*said.values(), drop) for one in group for t in _matching(one, terms)}
    wanted = terms if keep is None else [t for one in keep for t in _matching(one, terms)]
    naming = _Naming(schema, {} if labels is None else labels)
    body = [
        Row(term, naming.of(term), tuple(_coefficient(fit, term) for fit in fits.values()))
        for term in dict.fromkeys(wanted)
        if term not in hidden
    ]
    yes_no = [
        _statistic(name, [_says(fit, members) for fit in fits.values()])
        for name, members in said.items()
    ]
    absorbed = dict.fromkeys(name for fit in fits.values() for name in _absorbed(fit))
    yes_no += [
        _statistic(
            f"{naming.of(name)} effects",
            ["Yes" if name in _absorbed(fit) else "No" for fit in fits.values()],
        )
        for name in absorbed
    ]
    by_hand = [_statistic(name, cells) for name, cells in ({} if rows is None else rows).items()]
    foot = [
        _statistic(
            STATISTICS[name],
            [_value(fit, name) for fit in fits.values()],
            key=name,
            digits=_SHARES.get(name),
        )
        for name in stats
    ]
    over = _groups(list(fits), {} if groups is None else groups)
    return Table(
        columns=tuple(
            Column(key, key, naming.of(fit.outcome), over.get(key, "")) for key, fit in fits.items()
        ),
        rows=(*body, *yes_no, *by_hand, *(row for row in foot if set(row.cells) != {None})),
        title=title,
        style=shape,
        notes=(*notes, *_notes(list(fits.values()))),
    )


class _Naming:
    """What coefficients are called."""

    def __init__(self, schema: Schema | None, labels: Mapping[str, str]) -> None:
        self._public = Labels(schema)
        self._labels = labels

    def of(self, name: str) -> str:
        if name in self._labels:
            return self._labels[name]
        parts = _BETWEEN.split(name)
        if len(parts) > 1:
            return " \N{MULTIPLICATION SIGN} ".join(map(self.of, parts))
        level = _LEVEL.fullmatch(name)
        if level is None:
            return "Constant" if name == "Intercept" else self._public.of(name)
        column = level["coded"] or level["plain"]
        label = self._labels.get(column) or self._public.of(column)
        return f"{label} = {self._public.level(column, level['level'])}"


def _headed(
    models: Sequence[Any] | Mapping[str, Any],
) -> dict[str, LinearResults]:
    given: dict[str, Any]
    if isinstance(models, LinearResults) or _holds(models):
        raise ParameterError(
            "etable got one model by itself; give a list of fits, such as ``[fit]``"
        )
    if isinstance(models, Mapping):
        given = dict(models)
    else:
        given = {f"({k})": fit for k, fit in enumerate(models, start=1)}
    fits = {heading: _estimates(fit) for heading, fit in given.items()}
    if not fits:
        raise ParameterError("etable got no model; give at least one fit")
    for heading, fit in fits.items():
        if not isinstance(fit, LinearResults):
            raise ParameterError(
                f"model {heading} is ``{type(fit).__name__}``; give results such as those of ols"
            )
    return fits


def _groups(headings: Sequence[str], groups: Mapping[str, Sequence[str | int]]) -> dict[str, str]:
    """Return the heading of the group of every model that is in one."""
    found: dict[str, str] = {}
    for group, models in groups.items():
        if isinstance(models, str) or not models:
            raise ParameterError(f"groups has no list of models for {group!r}; give one, as [1, 2]")
        places = [_place(model, headings, group) for model in models]
        if sorted(places) != list(range(min(places), min(places) + len(places))):
            raise ParameterError(
                f"the models of group {group!r} are not adjacent, each named once; give them in "
                "the order of the table"
            )
        for place in places:
            other = found.setdefault(headings[place], group)
            if other != group:
                raise ParameterError(
                    f"model {headings[place]} is in the groups {other!r} and {group!r}; name it in "
                    "one of them"
                )
    return found


def _place(model: str | int, headings: Sequence[str], group: str) -> int:
    if isinstance(model, int) and 1 <= model <= len(headings):
        return model - 1
    if model in headings:
        return headings.index(str(model))
    raise ParameterError(
        f"group {group!r} names the model {model!r}; allowed: numbers from 1 to {len(headings)}, "
        f"or the headings {', '.join(headings)}"
    )


def _holds(model: object) -> bool:
    return any(getattr(type(model), name, False) for name in ("holds_protected", "holds_moments"))


def _estimates(model: Any) -> Any:
    """Return the estimates of a release or of released moments; anything else as it is."""
    if getattr(type(model), "holds_moments", False):
        return model.effects()
    if not _holds(model):
        return model
    if model.estimates is None:
        raise ParameterError(
            "a release without estimates has no coefficients; fit it first, as in "
            "etable([ols('y ~ t', release)])"
        )
    return model.estimates


def _terms(fits: Mapping[str, LinearResults]) -> list[str]:
    """Return all coefficients in the order in which models bring them, the constant last."""
    names = dict.fromkeys(n for fit in fits.values() for n in fit.layout or fit.params.index)
    return sorted(map(str, names), key=lambda name: name == "Intercept")


def _matching(named: str, terms: Sequence[str]) -> list[str]:
    found = [term for term in terms if term == named or term.startswith(f"{named}[")]
    if not found:
        raise ColumnError.unknown(named, terms, "the models")
    return found


def _coefficient(fit: LinearResults, term: str) -> Cell:
    if term in fit.omitted:
        return "(omitted)"
    if term not in fit.params.index:
        return None
    if term in getattr(fit, "not_carried", ()):
        return NOT_RELEASED
    if term in getattr(fit, "not_released", ()):
        return Estimate(float(fit.params[term]), told=False)
    noise = math.nan if fit.bse_noise is None else float(fit.bse_noise[term])
    value, error, p = (float(of[term]) for of in (fit.params, fit.bse, fit.pvalues))
    return Estimate(value, error, p, noise=noise)


def _says(fit: LinearResults, members: Sequence[str]) -> str:
    names = [str(name) for name in fit.params.index]
    has = any(name == one or name.startswith(f"{one}[") for one in members for name in names)
    return "Yes" if has else "No"


def _absorbed(fit: LinearResults) -> tuple[str, ...]:
    """Return the columns whose effects a fit absorbed."""
    effects = getattr(fit, "absorbed", None)
    return () if effects is None else effects.names


def _value(fit: LinearResults, name: str) -> Cell:
    value = getattr(fit, name, None)
    if value is None or isinstance(value, str):
        return value
    if name in _COUNTS and float(value).is_integer():
        return int(value)
    return None if math.isnan(value) else float(value)


def _statistic(name: str, cells: Sequence[Cell], key: str = "", digits: int | None = None) -> Row:
    return Row(key or name, name, tuple(cells), "statistic", digits)


def _notes(fits: Sequence[LinearResults]) -> list[str]:
    kinds = list(dict.fromkeys(fit.cov_type for fit in fits))
    errors = [f"Standard errors: {', '.join(kinds)}."]
    said = [line for fit in fits for line in (*fit.notes, *str(fit.guarantee).splitlines())]
    return list(dict.fromkeys([*errors, *said]))
