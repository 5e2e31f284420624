"""How a regression is read off released moments: the command of the shell, and what it gives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from dprct.errors import ParameterError
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from dprct.estimate.moments.groups import Value
    from dprct.estimate.moments.results import Moments


Names = tuple[str, ...]


class ServedRegression(NamedTuple):
    """A declared regression or model of an index, as verdicts compare it with a do-file's."""

    title: str
    formula: str
    clusters: Names  # the columns of the clusters of its errors
    cov_type: str  # what its errors are robust to: "HC1", "CR1" or "nonrobust"
    # where, weights: the condition on rows, and the column of weights; empty for none.
    where: str = ""
    weights: str = ""
    covariates: Names = ()
    terms: Names = ()  # the coefficients of treatment
    counted: bool = True  # whether its errors count absorbed effects among the coefficients
    # Whether errors are clustered by each of two columns, not by both together.
    two_ways: bool = False
    family: str = ""  # of a model of an index


class Call(NamedTuple):
    """A method of :class:`dprct.Moments` with its arguments."""

    method: str
    asked: str
    options: Mapping[str, Any]
    then: tuple[str, ...] = ()  # a method of what it returns, with its arguments

    def __str__(self) -> str:
        said = [repr(self.asked), *(f"{name}={value!r}" for name, value in self.options.items())]
        text = f"moments.{self.method}({', '.join(said)})"
        if self.then:
            text += f".{self.then[0]}({', '.join(map(repr, self.then[1:]))})"
        return text


@dataclass(frozen=True)
class Reading:
    """A regression of released moments, as ``dprct ols`` takes it.

    Examples
    --------
    >>> print(Reading("farms.moments.json", "y ~ t", where=("female=1",)))
    dprct ols farms.moments.json "y ~ t" --where female=1
    """

    file: str  # name of the moments
    asked: str  # a declared regression's name, or a formula
    where: tuple[str, ...] = ()  # groups, each as ``"column=level"``
    # cov_type, family: of the errors; of a declared model of an index.
    cov_type: str | None = None
    family: str | None = None
    # The family of the model that average marginal effects follow; of a declared model of an index
    # a regressor.
    margins: str | None = None
    ratios: bool = False  # whether its ratios are printed
    # before, after: what a verdict says around the command.
    before: str = ""
    after: str = ""

    @property
    def command(self) -> str:
        """The command of a shell."""
        options = [f"--where {one}" for one in self.where]
        options += [f"--cov-type {self.cov_type}"] if self.cov_type else []
        options += [f"--family {self.family}"] if self.family else []
        options += [f"--margins {self.margins}"] if self.margins else []
        options += ["--ratios"] if self.ratios else []
        return " ".join([f'dprct ols {self.file} "{self.asked}"', *options])

    def __str__(self) -> str:
        return f"{self.before}{self.command}{self.after}"

    @property
    def every_level(self) -> bool:
        """Whether it is one for every level of a column."""
        return any(one.endswith("=LEVEL") for one in self.where)

    def of_index(self, moments: Moments) -> bool:
        """Whether it is a declared logit, probit or Poisson regression."""
        return self.family is not None or self.asked in {one.title for one in moments.models}

    def call(self, moments: Moments) -> Call:
        """Return the method of the moments that gives it, and its arguments."""
        asked = _declared(moments, self.asked, self.where)
        where = None if asked is not None else groups(moments, self.where)
        asked = self.asked if asked is None else asked
        if self.of_index(moments):
            options = {"family": self.family} if self.family is not None else {}
            then: tuple[str, ...] = () if self.margins is None else ("margins", self.margins)
            then = (self._ratios(moments),) if self.ratios else then
            return Call("glm", asked, options, then)
        if self.margins is not None:
            return Call("margins", asked, {"family": self.margins})
        instrumented = {one.title for one in moments.instrumented}
        method = "iv" if "[" in asked or asked in instrumented else "ols"
        given = {"cov_type": self.cov_type, "where": where}
        return Call(method, asked, {name: x for name, x in given.items() if x is not None})

    def of(self, moments: Moments) -> Any:
        """Return the results, or the table of ratios."""
        call = self.call(moments)
        found = getattr(moments, call.method)(call.asked, **call.options)
        return getattr(found, call.then[0])(*call.then[1:]) if call.then else found

    def numbers(self, moments: Moments, level: float) -> pd.DataFrame:
        """Every coefficient that it returns: ``estimate, std.error, conf.low, conf.high``."""
        found = self.of(moments)
        table: pd.DataFrame = found if self.ratios else found.tidy(level).set_index("term")
        return table[["estimate", "std.error", "conf.low", "conf.high"]]

    def _ratios(self, moments: Moments) -> str:
        family = self.family or next(x.family for x in moments.models if x.title == self.asked)
        return "odds_ratios" if family == "logit" else "rate_ratios"


def _declared(moments: Moments, formula: str, where: tuple[str, ...]) -> str | None:
    """Title of the declared regression that has a formula and these levels as its condition."""
    if not where:
        return None
    pairs = [tuple(part.strip() for part in re.split("==?", text, maxsplit=1)) for text in where]
    said = " & ".join(" == ".join(pair) for pair in pairs)
    of = (one.title for one in moments.declared if (one.formula, one.where) == (formula, said))
    return next(of, None)


def groups(moments: Moments, said: tuple[str, ...]) -> Mapping[str, Value] | None:
    """Return the condition that texts say, levels as the release has them."""
    found: dict[str, Any] = {}
    for text in said:
        name, equals, level = text.partition("=")
        if not equals:
            raise ParameterError(f"--where {text!r} is not of the form ``COLUMN=LEVEL``")
        name, level = name.strip(), level.strip()
        known = {
            "." if value is None else value if isinstance(value, str) else f"{value:g}": value
            for group in moments.groups
            if name in moments.group_columns
            for value in [group.value(name)]
        }
        found[name] = known.get(level, level)
    return found or None
