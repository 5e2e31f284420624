"""The ``[[table]]`` sections of a study file: the tables of the paper, declared once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dprct.errors import ParameterError, StudyError
from dprct.formula import names as formula_names
from dprct.replicate.sections import section
from dprct.results.itt import ITTTable, itt_table
from dprct.results.style import style_named

if TYPE_CHECKING:
    import pandas as pd

    from dprct.privacy.guarantee import Guarantee
    from dprct.schema.schema import Schema

Covariates = tuple[str, ...] | Mapping[str, tuple[str, ...]]
Families = str | Mapping[str, tuple[str, ...]]
Sizes = Mapping[str, int]

_CARRIES = ("modelled", "public")


@dataclass(frozen=True, slots=True)
class TableSpec:
    """One table of effects, as a study file declares it.

    Parameters
    ----------
    name : str
        Short and unique, for example ``"table2"``.
    outcomes, arms : tuple of str
        Columns.
    title : str
    covariates : tuple of str, or mapping of name to tuple of str
        Terms of a formula; a mapping makes one panel per set.
    blocks : tuple of str
        Columns that enter as factors.
    control : str or None
        Column of the control group.
    errors : str
        HC1, HC0, HC2, HC3, nonrobust or cluster.
    groups, weights : str or None
        Columns of clusters and weights.
    weights_type, alternative, distribution, sample : str
        As for :func:`dprct.itt_table`.
    adjust : str or None
    families : str or mapping of name to tuple of str
    family_sizes : mapping of str to int
    layout : str
        paper, econ, aer or esttab.
    digits : int or None
    draws, seed : int
        Of the bootstrap behind ``westfall-young`` and ``romano-wolf``.
    """

    name: str
    outcomes: tuple[str, ...]
    arms: tuple[str, ...]
    title: str = ""
    covariates: Covariates = ()
    blocks: tuple[str, ...] = ()
    control: str | None = None
    errors: str = "HC1"
    groups: str | None = None
    weights: str | None = None
    weights_type: str = "aweight"
    alternative: str = "two-sided"
    distribution: str = "t"
    sample: str = "complete-per-outcome"
    adjust: str | None = None
    families: Families = "all"
    family_sizes: Sizes = field(default_factory=dict)
    layout: str = "paper"
    digits: int | None = None
    draws: int = 2000
    seed: int = 0

    def columns(self) -> list[str]:
        """Return the columns of the data that the table needs, in the order of their use."""
        sets = self.covariates.values() if isinstance(self.covariates, Mapping) else [
            self.covariates
        ]  # fmt: skip
        terms = [term for members in sets for term in members]
        named = formula_names("~ " + " + ".join(terms), functions=True)[1] if terms else []
        single = [name for name in (self.control, self.groups, self.weights) if name]
        return list(dict.fromkeys([*self.outcomes, *self.arms, *named, *self.blocks, *single]))

    def without_information(self, schema: Schema) -> list[str]:
        """Return the columns that the table needs and a protected file holds nothing of."""
        known = {column.name: column for column in schema.columns}
        return [
            name
            for name in self.columns()
            if name not in known
            or (known[name].derived is None and known[name].fate not in _CARRIES)
        ]

    def made(
        self, data: pd.DataFrame, schema: Schema, guarantee: Guarantee | None = None
    ) -> ITTTable:
        """Return the table of these data.

        Parameters
        ----------
        data : DataFrame
        schema : Schema
        guarantee : Guarantee or None
            Of a released file.

        Raises
        ------
        DprctError
            If the data cannot give it: a column is not there, an arm is empty.
        """
        table = itt_table(
            data,
            schema,
            outcomes=self.outcomes,
            arms=self.arms,
            covariates=self.covariates,
            blocks=self.blocks,
            control=self.control,
            cov_type=self.errors,
            groups=self.groups,
            weights=self.weights,
            weights_type=self.weights_type,  # type: ignore[arg-type]  # itt_table checks it
            alternative=self.alternative,  # type: ignore[arg-type]
            distribution=self.distribution,  # type: ignore[arg-type]
            adjust=self.adjust,  # type: ignore[arg-type]
            families=self.families,  # type: ignore[arg-type]
            family_sizes=self.family_sizes or None,
            sample=self.sample,  # type: ignore[arg-type]
            draws=self.draws,
            rng=self.seed,
            guarantee=guarantee,
            style=self.layout,
            title=self.title or self.name,
        )
        return table if self.digits is None else table.styled(digits=self.digits)


def tables_from(sections: object) -> tuple[TableSpec, ...]:
    """Return the tables that the ``[[table]]`` sections of a study file declare.

    Raises
    ------
    StudyError
        If a key is unknown, a value is of the wrong type, or a name is given twice.

    Examples
    --------
    >>> tables_from([{"name": "t2", "outcomes": ["got"], "arms": ["any"]}])[0].columns()
    ['got', 'any']
    """
    if not isinstance(sections, Sequence) or isinstance(sections, str):
        raise StudyError("tables are written as [[table]], one section for each")
    found = tuple(
        section(TableSpec, part, f"[[table]] number {k}") for k, part in enumerate(sections, 1)
    )
    names = [table.name for table in found]
    for table in found:
        if names.count(table.name) > 1:
            raise StudyError(f"two tables are called {table.name!r}; give each its own name")
        try:
            style_named(table.layout)
        except ParameterError as error:
            raise StudyError(f"[[table]] {table.name!r}: layout: {error}") from None
    return found


def long_form(tables: Mapping[str, ITTTable]) -> list[dict[str, Any]]:
    """Return every number of the tables, one entry each, in order.

    Returns
    -------
    list of dict
        ``table, covariates, outcome, arm, statistic`` and ``value``.
    """
    entries = []
    for name, table in tables.items():
        for record in table.tidy().to_dict("records"):
            place = {key: str(record[key]) for key in ("covariates", "outcome", "arm")}
            entries += [
                {"table": name, **place, "statistic": statistic, "value": float(record[statistic])}
                for statistic in STATISTICS
            ]
    return entries


STATISTICS = (
    "control_mean", "estimate", "std.error", "df", "p.value", "p.adjusted", "nobs", "rank",
)  # fmt: skip
"""Numbers of a table that ``expected.csv`` holds."""

PLACE = ("table", "covariates", "outcome", "arm", "statistic")
"""What finds a number again in ``expected.csv``."""
