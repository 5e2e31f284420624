"""The ``[[table]]`` sections of a study file: the tables of the paper, declared once."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from dprct import disk
from dprct.errors import ColumnError, DprctError, FileError, ParameterError, StudyError, marked
from dprct.formula import names as formula_names
from dprct.records import dataclass
from dprct.schema import conditions
from dprct.study.sections import section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    import pandas as pd

    from dprct.privacy.budget import Guarantee
    from dprct.results.itt import ITTTable
    from dprct.schema.schema import Schema


Covariates = tuple[str, ...] | Mapping[str, tuple[str, ...]]
Families = str | Mapping[str, tuple[str, ...]]
Sizes = Mapping[str, int]

_CARRIES = ("modelled", "public", "derived")
_OPTIONS = {"errors": "cov_type", "layout": "style", "seed": "rng"}
"""Keys of a table that are called otherwise in :func:`dprct.itt_table`."""


@dataclass(frozen=True)
class TableSpec:
    """One table of effects, as a study file declares it.

    Parameters
    ----------
    name : str
        A short and unique name, for example ``"table2"``.
    outcomes, arms : tuple of str
        The columns of the outcomes, or the 0/1 columns of the arms.
    title : str
        Heading of the table.
    covariates : tuple of str, or mapping of name to tuple of str
        Terms of a formula, such as ``"age"`` or ``"C(village)"``; a table of lists makes one panel
        per set.
    blocks : tuple of str
        Columns that enter as factors.
    control : str or None
        The column of the control group.
    where : str or None
        Its rows, as in ``[[regression]]``: ``"female == 1 & region <= 3"``.  Released moments give
        a regression of these if it is declared with the same ``where``, or if they are a subgroup;
        a calibrated file, whose effects are among all of its rows, gives none.
    errors : str
        The kind of standard errors: HC1, HC0, HC2, HC3, nonrobust or cluster.
    cluster, weights : str or None
        The column of the clusters, or of the weights.
    weights_type, alternative, distribution, sample : str
        As for :func:`dprct.itt_table`.
    adjust : str or None
        How p-values are adjusted for several tests, as for :func:`dprct.itt_table`.
    families : str or mapping of name to tuple of str
        ``"all"``, ``"outcome"``, ``"arm"``, or groups of outcomes that are adjusted together.
    family_sizes : mapping of str to int
        Number of tests in a family, if some of them are in another table.
    layout : str
        The style of the table: paper, econ, aer or esttab.
    digits : int or None
        Number of decimals printed.
    draws, seed : int
        Number of draws, or seed, of the bootstrap behind ``westfall-young`` and ``romano-wolf``.
    """

    name: str
    outcomes: tuple[str, ...]
    arms: tuple[str, ...]
    title: str = ""
    covariates: Covariates = ()
    blocks: tuple[str, ...] = ()
    control: str | None = None
    where: str | None = None
    errors: str = "HC1"
    cluster: str | None = None
    weights: str | None = None
    weights_type: str = "aweight"
    alternative: str = "two-sided"
    distribution: str = "t"
    sample: Literal["complete-per-outcome", "complete"] = "complete-per-outcome"
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
        single = [name for name in (self.control, self.cluster, self.weights) if name]
        asked = [] if self.where is None else sorted(conditions.named(self.condition))
        listed = [*self.outcomes, *self.arms, *named, *self.blocks, *single, *asked]
        return list(dict.fromkeys(listed))

    @property
    def condition(self) -> str:
        """Its condition on rows in one spelling; empty of all rows."""
        return "" if self.where is None else conditions.condition(self.where)

    @property
    def about_rows(self) -> tuple[str, ...]:
        """What a note below the table says of its rows."""
        return (f"Rows with {self.condition}.",) if self.where else ()

    def _rows(self, data: pd.DataFrame) -> pd.DataFrame:
        """The rows that meet its condition."""
        if self.where is None:
            return data
        columns = {name: data[name].to_numpy() for name in conditions.named(self.condition)}
        kept = conditions.meets(self.condition, columns, len(data))
        if not kept.any():
            raise ParameterError(f"``where={self.where!r}`` keeps no row; correct it")
        return data[kept].reset_index(drop=True)

    def without_information(self, fates: Mapping[str, str]) -> list[str]:
        """Return the columns that the table needs and a file of these fates holds nothing of."""
        return [name for name in self.columns() if fates.get(name) not in _CARRIES]

    def not_arms(self, is_coded: Callable[[str], bool]) -> list[str]:
        """Arms that are none, in words: of which it is public that they hold other codes."""
        return [
            f"[[table]] {self.name!r}: arm {name!r} holds numbers other than 0 and 1; give one "
            "such column per arm"
            for name in (*self.arms, self.control)
            if name is not None and is_coded(name)
        ]

    def problems(self, known: Sequence[str], text: Container[str] = ()) -> list[str]:
        """Columns that cannot make the table, in words: some of the file's hold ``text``."""
        return [
            f"[[table]] {self.name!r}: {ColumnError.unknown(name, known, 'the file')}"
            for name in self.columns()
            if name not in known
        ] + [
            f"[[table]] {self.name!r}: column {name!r} holds text; outcomes are numbers, and arms "
            "columns of 0 and 1"
            for name in (*self.outcomes, *self.arms)
            if name in text
        ]

    def check(self) -> None:
        """Refuse what no data could be given for."""
        from dprct.results.covariance import check_weights_type
        from dprct.results.itt_estimates import (
            Inference,
            covariates_apart,
            panels_of,
            refuse_sizes,
            refuse_twice,
        )
        from dprct.results.multiple_testing import FEWEST_DRAWS, families_of
        from dprct.results.ols import covariance_named
        from dprct.results.tables import style_named

        if not self.name.strip():
            raise ParameterError("name is empty; give a short one, such as 'table2'")
        for option, named in (("outcomes", self.outcomes), ("arms", self.arms)):
            if not named:
                raise ParameterError(f"{option} is empty; name at least one column")
        if self.draws < FEWEST_DRAWS or self.seed < 0:
            raise ParameterError(
                f"``draws={self.draws}``, ``seed={self.seed}``; give at least {FEWEST_DRAWS} "
                "draws and a seed from 0 up"
            )
        if self.covariates == {}:
            raise ParameterError("covariates is an empty table; name at least one set")
        style_named(self.layout).changed({} if self.digits is None else {"digits": self.digits})
        Inference(alternative=self.alternative, distribution=self.distribution, adjust=self.adjust)  # type: ignore[arg-type]
        cov_type = covariance_named(self.errors, self.cluster)
        check_weights_type(self.weights_type, cov_type, given=self.weights is not None)
        families_of(self.families, self.outcomes, self.arms, self.family_sizes or None)  # type: ignore[arg-type]
        self.columns()
        refuse_twice("outcomes", self.outcomes)
        refuse_sizes(self.adjust, self.family_sizes)
        panels = panels_of(self.arms, self.covariates, self.blocks)
        covariates_apart(self.outcomes, self.arms, self.control, panels, self.blocks)

    def made(
        self, data: pd.DataFrame, schema: Schema, guarantee: Guarantee | None = None
    ) -> ITTTable:
        """Return the table of these data, of which a released file has a guarantee."""
        from dprct.results.itt import itt_table

        options: dict[str, Any] = {
            _OPTIONS.get(f.name, f.name): getattr(self, f.name)
            for f in fields(self)
            if f.name not in ("name", "digits", "where")
        }
        options |= {"title": self.title or self.name, "family_sizes": self.family_sizes or None}
        table = itt_table(self._rows(data), schema, **options, guarantee=guarantee)
        table = replace(table, notes=(*self.about_rows, *table.notes))
        return table if self.digits is None else table.styled(digits=self.digits)


def tables_from(sections: object) -> tuple[TableSpec, ...]:
    """Return the tables that the ``[[table]]`` sections of a study file declare.

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
            table.check()
        except DprctError as error:
            raise StudyError(f"[[table]] {table.name!r}: {marked(error)}") from None
    return found


def long_form(tables: Mapping[str, ITTTable]) -> list[dict[str, Any]]:
    """Every number of the tables, one entry each, in order."""
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


HEADER = ("study", *PLACE, "value")
_OF_DO_FILE = re.compile(r".+\.a?do:\d+ ", re.IGNORECASE)
RELATIVE, ABSOLUTE = 1e-6, 1e-9
"""How far a recomputed number may be off: linear algebra differs between machines."""


@dataclass(frozen=True)
class Mismatch:
    """A number that is not what ``expected.csv`` says."""

    place: str  # table, covariate set, outcome, arm and statistic
    # expected, found: none where one side does not have the number.
    expected: float | None
    found: float | None

    def __str__(self) -> str:
        return f"{self.place}: expected {_said(self.expected)}, found {_said(self.found)}"


def written(study: str, entries: Iterable[Mapping[str, Any]]) -> str:
    """Return ``expected.csv`` of a study (its dataset id) as text.

    Examples
    --------
    >>> entry = dict(table="t", covariates="", outcome="y", arm="a", statistic="estimate", value=.1)
    >>> print(written("liberia", [entry]).splitlines()[1])
    liberia,t,,y,a,estimate,0.1
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(HEADER)
    rows.writerows(
        [study, *(entry[key] for key in PLACE), repr(float(entry["value"]))] for entry in entries
    )
    return text.getvalue()


def of_do_files(table: str) -> bool:
    """Whether a number of ``expected.csv`` is of a regression of a do-file, and of no table.

    Examples
    --------
    >>> of_do_files("main.do:4 regress robust"), of_do_files("t2")
    (True, False)
    """
    return _OF_DO_FILE.match(table) is not None


def mismatches(
    path: Path, study: str, entries: Iterable[Mapping[str, Any]], *, of_do: bool = False
) -> tuple[Mismatch, ...]:
    """Numbers of tables, or of do-files, that differ from ``expected.csv`` or are on one side."""
    expected = {x: number for x, number in _read(path, study).items() if of_do_files(x[0]) == of_do}
    found = {tuple(str(entry[key]) for key in PLACE): float(entry["value"]) for entry in entries}
    return tuple(
        Mismatch(" / ".join(part for part in place if part), expected.get(place), found.get(place))
        for place in dict.fromkeys([*expected, *found])
        if not _same(expected.get(place), found.get(place))
    )


def belongs_to(path: Path, study: str) -> bool:
    """Whether a file is an ``expected.csv`` of this study, edited or not."""
    try:
        return all(row[0] == study for row in _rows(path))
    except DprctError:
        return False


def _rows(path: Path) -> list[list[str]]:
    try:
        text = disk.content(path, disk.MOST_JSON).decode("utf-8-sig")  # a spreadsheet may mark it
    except (OSError, UnicodeDecodeError):
        raise FileError(f"cannot read {path.name!r}; give the expected.csv of this study") from None
    try:
        rows = list(csv.reader(io.StringIO(text)))
    except csv.Error:
        rows = []
    if not rows or tuple(rows[0]) != HEADER or any(len(row) != len(HEADER) for row in rows):
        raise StudyError(
            f"{path.name!r} is not an expected.csv: its columns must be {', '.join(HEADER)}; "
            "dprct protect writes it"
        )
    return rows[1:]


def _read(path: Path, study: str) -> dict[tuple[str, ...], float]:
    rows = _rows(path)
    others = {row[0] for row in rows} - {study}
    if others:
        raise StudyError(
            f"{path.name!r} is of study {min(others)!r}, this study is {study!r}; "
            "give the expected.csv that was written with this study's protected file"
        )
    try:
        numbers = {tuple(row[1:-1]): float(row[-1]) for row in rows}
    except ValueError:
        raise StudyError(
            f"{path.name!r} has a value that is not a number: it was edited; take the file that "
            "dprct protect wrote"
        ) from None
    if len(numbers) < len(rows):
        raise StudyError(
            f"{path.name!r} has a number twice: it was edited; take the file that dprct protect "
            "wrote"
        )
    return numbers


def _same(expected: float | None, found: float | None) -> bool:
    if expected is None or found is None:
        return False
    if math.isnan(expected) or math.isnan(found):
        return math.isnan(expected) and math.isnan(found)
    return math.isclose(expected, found, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def _said(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.9g}"
