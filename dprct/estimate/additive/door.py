"""The door of additive models: what is refused before anything is counted or charged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dprct.encode import encodings
from dprct.errors import FormulaError, ParameterError, SchemaError
from dprct.estimate.door import any_table_of, check_columns, check_sample, constant_of, with_bounds
from dprct.formula.syntax import parse
from dprct.queries import EXTREMES
from dprct.schema.arguments import one_name
from dprct.schema.facts import given
from dprct.schema.legal import validate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.encode import Coded
    from dprct.estimate.additive.terms import Terms
    from dprct.schema.facts import Column
    from dprct.schema.schema import Schema
    from dprct.schema.table import Table


def bound_table(
    data: Any, schema: Schema, outcome: str, terms: Terms, others: Sequence[str] = ()
) -> tuple[Table, Column]:
    """Return the table of a fit, held against the schema, and its outcome with bounds.

    Parameters
    ----------
    data : data frame
        pandas, Polars (eager or lazy), DuckDB or PySpark.
    schema : Schema
        Sealed.
    outcome : str
    terms : Terms
    others : sequence of str
        Further columns that are read.

    Raises
    ------
    SchemaError, ColumnError
        If columns are not there or not legal, a unit has several rows, or the schema declares a
        survey.
    ParameterError
        If the outcome is no name, or is a feature, too.
    EngineError, MissingDependencyError
        As of :func:`dprct.schema.table.table`.
    """
    one_name(outcome, "outcome")
    frame = any_table_of(data)
    if schema.unit.max_rows > 1:
        raise SchemaError(
            f"one {schema.unit.name} has several rows; give one row per {schema.unit.name}"
        )
    check_sample(schema)
    used = [c.name for encoding in terms.encodings for c in encoding.columns]
    if outcome in (*used, *others):
        raise ParameterError(f"{outcome!r} is the outcome and a feature, too; name it once")
    column = with_bounds(schema.column(outcome))
    names = list(dict.fromkeys([outcome, *used, *others]))
    check_columns(frame, names, None, None)
    validate(schema, frame, names)
    return frame, column


def fill_of(column: Column, missing: object) -> float | None:
    """Return the constant that stands for a missing outcome; None where there is none.

    Raises
    ------
    SchemaError
        If the outcome may be missing and no constant is given.
    """
    if column.missing == ():
        return None
    if missing is None:
        raise SchemaError(
            f"outcome {column.name!r} may be missing; say missing= with a number within its "
            "bounds that stands for it, or declare missing='never'"
        )
    return constant_of(missing, column)


def clip_of(clip: object, default: float) -> float:
    """Return R, the declared clip."""
    if clip is None:
        return default
    if isinstance(clip, bool) or not isinstance(clip, (int, float)):
        raise ParameterError(f"clip={given(clip)}; give a number above 0 from public knowledge")
    if not EXTREMES[0] <= clip <= EXTREMES[1]:
        raise ParameterError(
            f"clip={clip!r}; give a number above 0, from {EXTREMES[0]:g} to {EXTREMES[1]:g}, from "
            "public knowledge"
        )
    return float(clip)


def features_of_formula(
    formula: str,
) -> tuple[str, tuple[str, ...], tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return outcome, features, those in ``C()``, and pairs of ``"y ~ x1 + C(g) + x1:x2"``.

    Raises
    ------
    FormulaError
        If the formula has anything else, or a pair whose features are not in it alone.

    Examples
    --------
    >>> features_of_formula("y ~ age + C(village) + age:C(village)")
    ('y', ('age', 'village'), ('village',), (('age', 'village'),))
    """
    parsed = parse(formula)
    factors = [factor for term in parsed.terms for factor in term]
    plain = len(parsed.outcomes) == 1 and parsed.outcomes[0].kind == "name" and parsed.intercept
    if not plain or any(f.kind == "expression" for f in factors) or not parsed.terms:
        raise FormulaError(
            f"{formula!r} is not of the form 'y ~ x1 + C(x2) + x1:C(x2)': one outcome, columns, "
            "C() for levels without order, and pairs; declare anything else as a derived column"
        )
    names = [[factor.names[0] for factor in term] for term in parsed.terms]
    features = tuple(dict.fromkeys(term[0] for term in names if len(term) == 1))
    pairs = tuple((term[0], term[1]) for term in names if len(term) == 2)
    if any(len(term) > 2 for term in names) or any(
        name not in features for pair in pairs for name in pair
    ):
        raise FormulaError(
            f"{formula!r} has an interaction of more than two features, or of one that does not "
            "stand alone; write x1 + x2 + x1:x2, or x1*x2"
        )
    levels = tuple(dict.fromkeys(f.names[0] for f in factors if f.kind == "C"))
    return parsed.outcome_names[0], features, levels, pairs


def treatment_code(schema: Schema, treatment: object) -> Coded:
    """Return the code of a treatment column of levels 0 and 1.

    Raises
    ------
    SchemaError
        If it has other levels, or may be missing.
    """
    if not isinstance(treatment, str):
        raise ParameterError(f"treatment={given(treatment)}; give the name of one 0/1 column")
    column = schema.column(treatment)
    levels = sorted(column.levels or (), key=str)
    if column.is_text or [float(x) for x in levels] != [0.0, 1.0] or column.missing != ():
        raise SchemaError(
            f"treatment {treatment!r} must have the declared levels 0 and 1 and missing='never'; "
            "several arms are compared two at a time"
        )
    return encodings(schema, [treatment])[0]
