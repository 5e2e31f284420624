"""The regressions that are valid on a calibrated file, ready to run in Stata and in R.

Each command is followed by the numbers that it must give: a reader sees at once that the file is
the one that was released, and that their program reads it as ours does.
"""

from __future__ import annotations

import json
import math
import re
import textwrap
from dataclasses import replace
from itertools import islice, product
from typing import TYPE_CHECKING

from dprct.certificate.certificate import TOLERANCE
from dprct.certificate.valid_arms import SomeArms
from dprct.certificate.valid_declared import ValidRegression
from dprct.certificate.valid_groups import spelled
from dprct.certificate.valid_regressions import Validity, estimand_words
from dprct.errors import DprctError
from dprct.formula import parse
from dprct.records import dataclass
from dprct.results.covariance import give_back
from dprct.results.iv import iv
from dprct.results.ols import ols
from dprct.schema.conditions import in_signs, named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from dprct.certificate.valid_groups import Level
    from dprct.formula.syntax import Factor
    from dprct.schema.schema import Schema

    Where = tuple[str, Level] | SomeArms | ValidRegression | None

STATA, R = "valid.do", "valid.R"
"""What the files are called, after the protected file."""

MOST = 400
"""Regressions that are written; all are in the certificate."""

_WIDTH = 76
_TOLERANCE = "1e-6"


@dataclass(frozen=True)
class Shown:
    """A valid regression with the numbers that it gives on the file."""

    outcome: str
    terms: tuple[str, ...]  # the right side, arms first
    # Of each arm, the released effect and its error; of what is instrumented, their ratio's.
    numbers: dict[str, tuple[float, float]]
    # Column and level, the arms, or the declared regression to whose rows it is confined.
    where: Where = None
    taken: str = ""  # what the one arm instruments, by two-stage least squares; nothing if empty
    valid: Validity | None = None  # of a declared regression, what is valid of it alone

    @property
    def condition(self) -> str:
        """Rows to which it is confined, in Stata's words; empty for all."""
        if isinstance(self.where, SomeArms):
            return self.where.condition()
        if isinstance(self.where, ValidRegression):
            return _in_stata_rows(self.where)
        return "" if self.where is None else f"{self.where[0]} == {spelled(self.where[1])}"

    def estimand(self, valid: Validity) -> str:
        """Return what it is valid for."""
        return estimand_words(valid.covariates_in(self.terms), valid.estimand)

    @property
    def of_levels(self) -> bool:
        """Whether an effect is that of a level of one column that holds the group."""
        return any(name.endswith("]") for name in self.numbers)


def valid_texts(data: pd.DataFrame, schema: Schema, dataset_id: str, place: str) -> dict[str, str]:
    """``valid.do`` and ``valid.R`` of a protected file, by name; empty if it has none."""
    valid = Validity.of(schema)
    if valid is None or valid.rounded:
        return {}
    # which level of one column for all groups Stata and R take as the first, they decide otherwise
    found = [one for one in shown_regressions(valid, data, schema) if not one.of_levels]
    if not found:
        return {}
    return {
        STATA: _stata(valid, found, dataset_id, place),
        R: _r(valid, found, dataset_id, place),
    }


def first_line(name: str, dataset_id: str) -> str:
    """First line of a file that is this data set's own; any other is never replaced.

    Examples
    --------
    >>> first_line("valid.R", "liberia")
    '# Written by dprct protect for liberia: regressions that are valid on the protected file.'
    """
    return (
        f"{'*' if name == STATA else '#'} Written by dprct protect for {dataset_id}: regressions "
        "that are valid on the protected file."
    )


def shown_regressions(valid: Validity, data: pd.DataFrame, schema: Schema) -> Iterator[Shown]:
    """Yield every calibrated regression, with its numbers."""
    for one, alone in islice(valid.alone(), MOST):
        rows: Where = None if one.where is None else one
        for shown in shown_regressions(alone, _rows(data, rows), schema):
            told = shown.numbers
            if one.carries == "effects":  # the file has no such error
                told = {arm: (effect, math.nan) for arm, (effect, _) in told.items()}
            yield replace(shown, numbers=told, where=rows, valid=alone)
    if valid.declared:
        return
    give_back(len(data))
    for outcome, part, where in islice(_every(valid), MOST):
        absent = where.absent if isinstance(where, SomeArms) else ()
        arms = [arm for arm in valid.arms if arm not in absent]
        terms = (*arms, *part)
        formula = f"{_quoted(outcome)} ~ {' + '.join(map(_spelt, terms))}"
        try:
            fit = ols(formula, _rows(data, where), schema, valid.cov_type, valid.cluster)
            # of a column that holds the group, a coefficient for each of its levels
            names = [
                name
                for arm in arms
                for name in [x for x in fit.params.index if x.startswith(f"{arm}[")] or [arm]
            ]
            numbers = {name: (float(fit.params[name]), float(fit.bse[name])) for name in names}
        except (DprctError, KeyError):  # an arm that this file cannot tell from another
            continue
        yield Shown(outcome, terms, numbers, where)
    for (y, d), part in islice(product(valid.ratios, valid.covariates), MOST):
        outcome, taken, (arm,) = valid.outcomes[y], valid.outcomes[d], valid.arms
        inner = f"[{_quoted(taken)} ~ {_spelt(arm)}]"
        formula = f"{_quoted(outcome)} ~ {' + '.join([*map(_spelt, part), inner])}"
        try:
            two = iv(formula, data, schema, cov_type=valid.cov_type, cluster=valid.cluster)
        except DprctError:
            continue
        found = float(two.params[taken]), float(two.bse[taken])
        yield Shown(outcome, (arm, *part), {taken: found}, taken=taken)


def _every(
    valid: Validity,
) -> Iterator[tuple[str, tuple[str, ...], Where]]:
    """Yield outcome and covariates of every calibrated regression, and what its rows are."""
    groups, sizes = valid.groups, valid.sizes
    for place, outcome in enumerate(valid.outcomes):
        for part in valid.covariates:
            if groups is None or groups.holds(part):
                yield outcome, part, None
        if groups is not None:
            for level in groups.levels:
                yield outcome, (), (groups.column, level)
        if sizes is None:
            continue
        for two in sizes.pairs():
            if sizes.factor(two, place) >= 1 - TOLERANCE:
                yield outcome, (), SomeArms(sizes.columns, two)


def _rows(data: pd.DataFrame, where: Where) -> pd.DataFrame:
    if where is None:
        return data
    return data[data[where[0]] == where[1] if isinstance(where, tuple) else where.of(data)]


def _head(valid: Validity, sign: str) -> list[str]:
    arms = ", ".join(valid.arms)
    below = "Below each regression stand the numbers that it must give."
    if valid.declared:
        words = [
            f"The coefficients of {arms} are those of declared regressions, as they were released. "
            "The errors that are asserted contain sampling and privacy noise. All other "
            f"coefficients are artefacts. {below}",
            *(one.words() for one in valid.declared if one.carries != "all"),
        ]
    else:
        words = [
            f"The coefficients of {arms} are the released effects, and their errors with "
            f"{valid.errors} contain sampling and privacy noise. The other coefficients are "
            f"artefacts. {below}",
            *([valid.control_words()] if valid.control_errors else []),
        ]
    return [f"{sign} {line}" for text in words for line in textwrap.wrap(text, _WIDTH)]


def _stata(valid: Validity, found: Sequence[Shown], dataset_id: str, place: str) -> str:
    lines = [first_line(STATA, dataset_id), *_head(valid, "*"), "version 12"]
    # a name that Stata would read as something else is left to the reader
    opened = (
        "* Open the protected file first." if set(place) & set('"$`') else f'use "{place}", clear'
    )
    lines.append(opened)
    at = len(lines)
    made: dict[str, str] = {}
    for one in found:
        words = [_in_stata(term, made) for term in one.terms]
        lines += ["", f"* valid {one.estimand(valid)}"]
        if None in words:
            lines.append(
                f"* {one.outcome} on {' '.join(one.terms)}: valid, but not written here, because "
                "Stata has other words for such interactions"
            )
            continue
        command = " ".join(["regress", one.outcome, *map(str, words)])
        if one.taken:
            inner = f"({one.taken} = {words[0]})"
            command = " ".join(["ivregress 2sls", one.outcome, *map(str, words[1:]), inner])
            lines += [f"{command}, {valid.errors} small", *_asserted(one)]
            continue
        condition = f" if {one.condition}" if one.condition else ""
        lines += [f"{command}{condition}, {(one.valid or valid).errors}", *_asserted(one)]
    lines[at:at] = made.values()
    return "\n".join(lines) + "\n"


def _asserted(one: Shown) -> Iterator[str]:
    for arm, (value, error) in one.numbers.items():
        yield f"assert reldif(_b[{arm}], {value:.12g}) < {_TOLERANCE}"
        if not math.isnan(error):
            yield f"assert reldif(_se[{arm}], {error:.12g}) < {_TOLERANCE}"


def _in_stata_rows(one: ValidRegression) -> str:
    """Return the condition of a declared regression in Stata's words, where missing is large."""
    assert one.where is not None
    there = ", ".join(_only_compared(one.where))
    return in_signs(one.where) + (f" & !missing({there})" if there else "")


def _in_stata(term: str, made: dict[str, str]) -> str | None:
    """Return a term in Stata's words, or None; ``made`` holds commands for columns it needs."""
    (factors,) = parse(f"~ {term}", functions=True).terms
    if len(factors) == 1:
        factor = factors[0]
        if factor.kind == "name":
            return factor.names[0]
        return _column(factor, made)
    if any(factor.kind == "C" for factor in factors):
        return None
    names = [f.names[0] if f.kind == "name" else _column(f, made) for f in factors]
    return "#".join(f"c.{name}" for name in names)


def _column(factor: Factor, made: dict[str, str]) -> str:
    """Return the column of categories or of arithmetic, after a command that makes it."""
    if factor.label not in made:
        new = f"_valid{len(made) + 1}"
        if factor.expression is None:
            # by group, so that texts, negative codes and fractions are categories, too
            made[factor.label] = f"egen {new} = group({factor.names[0]})"
        else:
            source = factor.expression.source.replace("**", "^")
            for place, name in reversed([*enumerate(factor.names)]):
                source = re.sub(rf"\bv{place}\b", name, source)
            there = ", ".join(factor.names)
            made[factor.label] = f"generate double {new} = {source} if !missing({there})"
    new = made[factor.label].split(" = ")[0].split()[-1]
    return f"i.{new}" if factor.kind == "C" else new


_FUNCTION = """\
# The robust errors that Stata prints: HC1, or CR1 where there are clusters.
errors <- function(fit, cluster = NULL) {
  there <- !is.na(coef(fit))
  X <- model.matrix(fit)[, there, drop = FALSE]
  e <- residuals(fit)
  n <- nrow(X)
  k <- ncol(X)
  B <- solve(crossprod(X))
  if (is.null(cluster)) {
    scores <- X * e
    factor <- n / (n - k)
  } else {
    scores <- rowsum(X * e, as.character(cluster))
    G <- nrow(scores)
    factor <- G / (G - 1) * (n - 1) / (n - k)
  }
  sqrt(diag(B %*% crossprod(scores) %*% B) * factor)
}
# Two-stage least squares with one instrument z: a ratio, whose residuals are y's less b times d's.
ratio <- function(y, d, z, cluster = NULL) {
  b <- coef(y)[z] / coef(d)[z]
  y$residuals <- residuals(y) - b * residuals(d)
  c(b, errors(y, cluster)[z] / abs(coef(d)[z]))
}
agrees <- function(found, told) {
  stopifnot(all(abs(unname(found) - told) / (abs(told) + 1) < 1e-6))
}"""


def _r(valid: Validity, found: Sequence[Shown], dataset_id: str, place: str) -> str:
    lines = [first_line(R, dataset_id), *_head(valid, "#"), _FUNCTION]
    lines += [
        f"d <- haven::read_dta({json.dumps(place, ensure_ascii=False)})",
        "d <- as.data.frame(haven::zap_labels(haven::zap_missing(d)))",
    ]
    for one in found:
        lines += ["", f"# valid {one.estimand(valid)}"]
        right = " + ".join(map(_in_r, one.terms))
        arms = ", ".join(json.dumps(_quoted(arm), ensure_ascii=False) for arm in one.numbers)
        values = ", ".join(f"{value:.12g}" for value, _ in one.numbers.values())
        told = ", ".join(f"{error:.12g}" for _, error in one.numbers.values())
        if one.taken:
            arm = json.dumps(_quoted(one.terms[0]), ensure_ascii=False)
            lines += [
                f"y <- lm({_quoted(one.outcome)} ~ {right}, data = d)",
                f"taken <- lm({_quoted(one.taken)} ~ {right}, data = d)",
                f"agrees(ratio(y, taken, {arm}{_clusters_in_r(valid, 'y')}), c({values}, {told}))",
            ]  # fmt: skip
            continue
        rows = ""
        if isinstance(one.where, SomeArms):
            absent = (f"{_quoted(column)} == 0" for column in one.where.absent)
            rows = f", subset = {' & '.join(absent)}"
        elif isinstance(one.where, ValidRegression):
            rows = f", subset = {_in_r_condition(one.where)}"
        elif one.where is not None:
            column, level = one.where
            said = json.dumps(level, ensure_ascii=False) if isinstance(level, str) else (
                f"{level:.17g}"
            )  # fmt: skip
            rows = f", subset = {_quoted(column)} == {said}"
        lines += [f"fit <- lm({_quoted(one.outcome)} ~ {right}, data = d{rows})"]
        cluster, clusters = "", (one.valid or valid).cluster
        if clusters is not None:
            name = json.dumps(clusters, ensure_ascii=False)
            lines.append(f"used <- d[names(residuals(fit)), {name}]")
            cluster = ", used"
        lines += [
            f"agrees(coef(fit)[c({arms})], c({values}))",
            *[f"agrees(errors(fit{cluster})[c({arms})], c({told}))"] * ("nan" not in told),
        ]
    return "\n".join(lines) + "\n"


def _clusters_in_r(valid: Validity, fit: str) -> str:
    """Return the clusters of the rows of a fit, as an argument; nothing without."""
    if valid.cluster is None:
        return ""
    return f", d[names(residuals({fit})), {json.dumps(valid.cluster, ensure_ascii=False)}]"


def _in_r_condition(one: ValidRegression) -> str:
    """Return the condition of a declared regression in R's words; a missing value meets none."""
    assert one.where is not None
    there = [f"!is.na({_quoted(name)})" for name in _only_compared(one.where)]
    return " & ".join([in_signs(one.where, "is.na"), *there])


def _only_compared(condition: str) -> list[str]:
    """Return the columns that a condition compares without asking whether there is a value."""
    return sorted(named(condition) - {*re.findall(r"missing\((\w+)\)", condition)})


def _in_r(term: str) -> str:
    """Return a term in R's words.

    Examples
    --------
    >>> _in_r("C(town)"), _in_r("age:female"), _in_r("I(age ** 2)")
    ('factor(town)', 'age:female', 'I(age ^ 2)')
    """
    (factors,) = parse(f"~ {term}", functions=True).terms
    words = []
    for factor in factors:
        if factor.kind == "name":
            words.append(_quoted(factor.names[0]))
        elif factor.kind == "C":
            words.append(f"factor({_quoted(factor.names[0])})")
        else:
            words.append(factor.label.replace("**", "^"))
    return ":".join(words)


def _quoted(name: str) -> str:
    """Return a column as formulas take it, here and in R."""
    return name if re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) else f"`{name}`"


def _spelt(term: str) -> str:
    """Return a term as our formulas take it."""
    return term if not re.fullmatch(r"\w+", term) else _quoted(term)
