"""No argument of any method brings in a column in which one person can move the rows of others.

Every parameter of every class with a guarantee is either an argument that names columns, and then
it has a case here, or is listed as naming none: a new one fails until somebody decides.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct import (
    CATE,
    IPW,
    Budget,
    Calibrated,
    Marginals,
    MVHistogram,
    PrivateAdditive,
    PrivateATE,
    PrivateMoments,
    Simple,
    SyntheticControl,
    Unit,
    published,
)
from dprct.encoding import ExclusiveEncoding, encoding
from dprct.errors import SchemaError
from dprct.queries.covariates import Feature, covariates, features_of
from dprct.queries.donors import Donors, Predictor, Scale
from dprct.queries.propensity import Coordinates, Treated
from dprct.queries.sums import Clipped
from dprct.schema import Column, Schema
from dprct.schema.tables import eager

if TYPE_CHECKING:
    from collections.abc import Callable

    from dprct.schema.facts import BuiltFrom

    Make = Callable[[pd.DataFrame, Schema, str], Any]

BINARY: dict[str, Any] = {"levels": (0.0, 1.0), "bounds": (0.0, 1.0), "missing": ()}
N = 400


def table(name: str) -> pd.DataFrame:
    """Return people, and the column in question, which goes with nothing."""
    rng = np.random.default_rng(3)
    found = pd.DataFrame({c: rng.integers(2, size=N).astype(float) for c in ("y", "x")})
    found["t"] = np.tile([0.0, 1.0], N // 2)
    found["pid"] = np.arange(1.0, N + 1)
    found[name] = np.repeat([0.0, 1.0, 1.0, 0.0], N // 4)
    return found


def schema_of(name: str, built_from: BuiltFrom | None) -> Schema:
    """Return the schema of :func:`table`, with what is said of the column in question."""
    columns = [Column(c, "byte", **BINARY) for c in ("y", "x", "t")]
    pid = Column("pid", "int", missing=(), fate="drop")
    return Schema((*columns, pid, Column(name, "byte", built_from=built_from, **BINARY)))


def few(schema: Schema, *names: str) -> Schema:
    """Return the schema of a release, which wants a fate for every column that it has."""
    return schema.select([*names, "pid"])


def effect(d: pd.DataFrame, s: Schema, **options: Any) -> Any:
    return PrivateATE(d, s, **{"outcome": "y", "treatment": "t", **options})


def calibrated(d: pd.DataFrame, s: Schema, v: str, **options: Any) -> Any:
    schema = few(s, "y", "t", v)
    if "index_bounds" in options:  # its columns are in the file for another purpose, or none
        schema = schema.with_columns([replace(schema.column(v), fate="withheld")])
    return Calibrated(d, schema, outcome="y", treatment="t", **options)


def panel(d: pd.DataFrame, v: str) -> pd.DataFrame:
    return d.assign(u=np.repeat(np.arange(20.0), N // 20), p=np.tile(np.arange(20.0), N // 20))


def control(kind: Any, d: pd.DataFrame, s: Schema, v: str, **options: Any) -> Any:
    schema = Schema((*s.columns, Column("u", missing=()), Column("p", missing=())))
    return kind(
        panel(d, v), schema, outcome=v, treated=0.0, treatment_time=15, unit="u", time="p",
        **options,
    )  # fmt: skip


def informed(kind: Any, d: pd.DataFrame, s: Schema, v: str) -> Any:
    """Return a method whose covariates alone are charged, being strict."""
    return kind(
        d, few(s, "y", "t", v), formula=f"y ~ t + {v}", treatment="t", assignment=Simple("t"),
        x_method="strict",
    )  # fmt: skip


PROMISED: dict[str, Any] = {
    "scale": "norm_bound", "norm_bound": 1, "outcome_bound": 1, "trim": 0.2,
}  # fmt: skip
INDEX: dict[str, Any] = {"index_bounds": (-1, 1)}
WEIGHTED: dict[str, Any] = {"treatment": "t", "covariates": ["x"], "outcome": "y"}
SHAPES: dict[str, Any] = {"outcome": "y", "features": ["x"]}
VARIED: dict[str, Any] = {**SHAPES, "treatment": "t", "propensity": 0.5}

CASES: dict[tuple[Any, str], Make] = {
    (MVHistogram, "columns"): lambda d, s, v: MVHistogram(d, few(s, "y", v), columns=["y", v]),
    (Marginals, "columns"): lambda d, s, v: Marginals(d, few(s, "y", v), columns=["y", v]),
    (PrivateATE, "outcome"): lambda d, s, v: effect(d, s, outcome=v),
    (PrivateATE, "treatment"): lambda d, s, v: effect(
        d, s, treatment=v, assignment=Simple(v), neighbors="replace-one"
    ),
    (PrivateATE, "assignment"): lambda d, s, v: effect(
        d, s, treatment=None, assignment=Simple(v), neighbors="replace-one"
    ),
    (PrivateATE, "subgroups"): lambda d, s, v: effect(d, s, subgroups=[v]),
    (PrivateATE, "index"): lambda d, s, v: effect(d, s, index=f"1.0*{v}", **INDEX),
    (PrivateATE, "index_columns"): lambda d, s, v: effect(
        d, s, index=lambda rows: rows[v].to_numpy(), index_columns=[v], **INDEX
    ),
    (Calibrated, "outcome"): lambda d, s, v: Calibrated(
        d, few(s, v, "t"), outcome=v, treatment="t"
    ),
    (Calibrated, "covariates"): lambda d, s, v: calibrated(
        d, s, v, covariates=[v], covariate_release="histogram"
    ),
    (Calibrated, "specifications"): lambda d, s, v: calibrated(
        d, s, v, specifications=[v], covariate_release="marginals"
    ),
    (Calibrated, "index"): lambda d, s, v: calibrated(d, s, v, index=f"1.0*{v}", **INDEX),
    (Calibrated, "index_columns"): lambda d, s, v: calibrated(
        d, s, v, index=lambda r: r[v].to_numpy(), index_columns=[v], **INDEX
    ),
    (IPW, "treatment"): lambda d, s, v: IPW(d, s, **{**WEIGHTED, "treatment": v}),
    (IPW, "covariates"): lambda d, s, v: IPW(d, s, **{**WEIGHTED, "covariates": [v]}),
    (IPW, "outcome"): lambda d, s, v: IPW(d, s, **{**WEIGHTED, "outcome": v}),
    (IPW, "balance"): lambda d, s, v: IPW(d, s, **{**WEIGHTED, "covariates": [v]}, balance=[v]),
    (PrivateAdditive, "outcome"): lambda d, s, v: PrivateAdditive(d, s, **{**SHAPES, "outcome": v}),
    (PrivateAdditive, "features"): lambda d, s, v: PrivateAdditive(
        d, s, outcome="y", features=["x", v]
    ),
    (PrivateAdditive, "categorical"): lambda d, s, v: PrivateAdditive(
        d, s, outcome="y", features=["x", v], categorical=[v]
    ),
    (PrivateAdditive, "pairs"): lambda d, s, v: PrivateAdditive(
        d, s, outcome="y", features=["x", v], pairs=[("x", v)]
    ),
    (PrivateAdditive, "subgroups"): lambda d, s, v: PrivateAdditive(d, s, **SHAPES, subgroups=[v]),
    (PrivateAdditive, "projection"): lambda d, s, v: PrivateAdditive(
        d, s, outcome="y", features=["x", v], projection=["x", v]
    ),
    (CATE, "outcome"): lambda d, s, v: CATE(d, s, **{**VARIED, "outcome": v}),
    (CATE, "features"): lambda d, s, v: CATE(d, s, **{**VARIED, "features": [v]}),
    (CATE, "treatment"): lambda d, s, v: CATE(d, s, **{**VARIED, "treatment": v}),
    (CATE, "assignment"): lambda d, s, v: CATE(d, s, **SHAPES, treatment=v, assignment=Simple(v)),
    (CATE, "categorical"): lambda d, s, v: CATE(
        d, s, **{**VARIED, "features": [v]}, categorical=[v]
    ),
    (CATE, "pairs"): lambda d, s, v: CATE(
        d, s, **{**VARIED, "features": ["x", v]}, pairs=[("x", v)]
    ),
    (CATE, "subgroups"): lambda d, s, v: CATE(d, s, **VARIED, subgroups=[v]),
    (CATE, "projection"): lambda d, s, v: CATE(
        d, s, **{**VARIED, "features": ["x", v]}, projection=["x", v]
    ),
    (Calibrated, "formulas"): lambda d, s, v: Calibrated(
        d,
        few(s, "y", "t", v),
        assignment=Simple("t"),
        attrition=True,
        covariate_release="filler",
        formulas=[f"y ~ t + {v}"],
    ),
    (PrivateMoments, "columns"): lambda d, s, v: PrivateMoments(d, s, columns=["y", v]),
    (PrivateMoments, "formulas"): lambda d, s, v: PrivateMoments(d, s, formulas=[f"y ~ x + {v}"]),
    (PrivateMoments, "subgroups"): lambda d, s, v: PrivateMoments(
        d, s, columns=["y", "x"], subgroups=[v]
    ),
    (PrivateMoments, "assignment"): lambda d, s, v: PrivateMoments(
        d, s, columns=["y", "x"], assignment=Simple(v)
    ),
    (SyntheticControl, "outcome"): lambda d, s, v: control(SyntheticControl, d, s, v),
    (SyntheticControl, "predictors"): lambda d, s, v: control(
        SyntheticControl, d, s, "y", predictors=[v]
    ),
    (published.SyntheticControl, "outcome"): lambda d, s, v: control(
        published.SyntheticControl, d, s, v
    ),
    (published.IPW, "formula"): lambda d, s, v: published.IPW(
        d, s, formula=f"t ~ {v}", outcome="y", **PROMISED
    ),
    (published.IPW, "outcome"): lambda d, s, v: published.IPW(
        d, s, formula="t ~ x", outcome=v, **PROMISED
    ),
    (published.Hybrid, "formula"): lambda d, s, v: informed(published.Hybrid, d, s, v),
    (published.GenModel, "formula"): lambda d, s, v: informed(published.GenModel, d, s, v),
}
"""A model in which the argument brings in column v, by class and argument."""


_PUBLIC = "public by the guarantee: the same in all neighbours"
PUBLIC: dict[tuple[Any, str], str] = {
    (Calibrated, "treatment"): _PUBLIC,
    (Calibrated, "assignment"): _PUBLIC,
    (Calibrated, "subgroups"): _PUBLIC,
    (SyntheticControl, "unit"): _PUBLIC,
    (SyntheticControl, "time"): _PUBLIC,
    (published.SyntheticControl, "unit"): _PUBLIC,
    (published.SyntheticControl, "time"): _PUBLIC,
    (published.Hybrid, "treatment"): "drawn from the design, and not from the data",
    (published.Hybrid, "assignment"): "drawn from the design, and not from the data",
    (published.GenModel, "treatment"): "drawn from the design, and not from the data",
    (published.GenModel, "assignment"): "drawn from the design, and not from the data",
}

_NONE = """
self data schema zeta keep control missing weights sd effects blocks privacy_unit largest_cluster
icc cluster_mean_bounds
index_bounds attrition neighbors covariate_release legal gamma options estimand noise lam trim split
shares budget_shares alphas hajek treated overlap errors clip bins parts propensity learner
cov_type outcome_share treated_share
changes estimator propensity_model
treatment_time donors donor_weights bound protect_treated mean_effect pre_fit placebos perturb c
scale norm_bound outcome_bound intercept sampling classical override families x_method
missing_outcomes noise_on centre radius default_bins allocation B v alpha sigma_min sigma_max sigma
confidential_from weights_epsilon effect_epsilon clipped
"""
NO_COLUMNS = set(_NONE.split())
"""Arguments that name no column, or (keys of mappings) a column that another argument names."""

WORDS = {"cohort": "other people's values", "constructed": "named or labelled like"}


def named(case: tuple[Any, str]) -> str:
    return f"{case[0].__module__.split('.')[1]}.{case[0].__name__}-{case[1]}"


def test_every_argument_that_names_columns_has_a_case() -> None:
    undecided = [
        (kind.__name__, name)
        for kind in {kind for kind, _ in CASES}
        for name in inspect.signature(kind.__init__).parameters
        if (kind, name) not in CASES and (kind, name) not in PUBLIC and name not in NO_COLUMNS
    ]
    assert undecided == []
    options = set(inspect.signature(PrivateATE.__init__).parameters) & {"index", "index_columns"}
    assert all((Calibrated, name) in CASES for name in options)


def test_every_class_with_a_guarantee_has_cases() -> None:
    strict = {"MVHistogram", "Marginals", "Calibrated", "PrivateATE", "PrivateAdditive", "CATE"}
    strict |= {"IPW", "SyntheticControl", "PrivateMoments"}
    models = {
        name
        for name in dprct.__all__
        if inspect.isclass(getattr(dprct, name)) and hasattr(getattr(dprct, name), "plan")
    }
    assert models == strict
    assert models <= {kind.__name__ for kind, _ in CASES}


@pytest.mark.parametrize("argument", CASES, ids=named)
@pytest.mark.parametrize("taint", WORDS)
def test_a_column_with_other_peoples_values_is_refused(
    argument: tuple[Any, str], taint: str
) -> None:
    name, built_from = ("any_ill", "cohort") if taint == "cohort" else ("x_imputed", None)
    with pytest.raises(SchemaError, match=f"column '{name}' is .*{WORDS[taint]}"):
        CASES[argument](table(name), schema_of(name, built_from), name)  # type: ignore[arg-type]


@pytest.mark.parametrize("argument", CASES, ids=named)
def test_a_column_of_own_values_is_taken(argument: tuple[Any, str]) -> None:
    """Else the refusals above could have another reason."""
    CASES[argument](table("x_imputed"), schema_of("x_imputed", "own"), "x_imputed")


@pytest.mark.parametrize(
    "make",
    [
        lambda d, s, v: effect(d, s, treatment=v),
        lambda d, s, v: IPW(
            d, s, **{**WEIGHTED, "treatment": v}, estimand="att",
            neighbors="replace-one-design-public",
        ),
        lambda d, s, v: control(published.SyntheticControl, d, s, v, perturb="objective"),
        lambda d, s, v: published.IPW(d, s, formula=f"t ~ {v}", outcome="y"),
    ],
    ids=["treatment public", "treatment public, IPW", "no guarantee", "no guarantee, IPW"],
)  # fmt: skip
def test_where_nothing_rests_on_it_the_column_is_taken(make: Make) -> None:
    make(table("any_ill"), schema_of("any_ill", "cohort"), "any_ill")


def test_arms_that_are_coded_as_one_are_asked_too() -> None:
    """Exclusive columns have an encoding of their own."""
    facts: dict[str, Any] = {"levels": (0.0, 1.0), "missing": (), "exclusive": "arm"}
    arms = (Column("a", "byte", **facts), Column("b", "byte", built_from="cohort", **facts))
    data = pd.DataFrame({"a": [0.0, 1.0] * 100, "b": [0.0, 0.0] * 100})
    with pytest.raises(SchemaError, match="column 'b' is built from"):
        MVHistogram(data, Schema(arms), columns=["a", "b"])


TAINTED = Column("v", "byte", built_from="cohort", **BINARY)
WORDY = Column("v", "str5", levels=("a", "b"), built_from="cohort")
ROWS = eager(pd.DataFrame({"v": [0.0, 1.0]}))
READ: dict[str, Callable[[], Any]] = {
    "Clipped": lambda: Clipped(TAINTED),
    "Feature": lambda: Feature(WORDY, level="b"),
    "features_of": lambda: features_of([WORDY]),
    "Coordinates": lambda: Coordinates(TAINTED),
    "Treated": lambda: Treated(TAINTED, 1.0),
    "encoding": lambda: encoding(TAINTED),
    "ExclusiveEncoding": lambda: ExclusiveEncoding("arm", (TAINTED,)),
    "Predictor": lambda: Predictor(TAINTED, (0,), 1.0),
    "Donors": lambda: Donors.of(ROWS, TAINTED, np.array([[0], [1]]), Scale(0.0, 1.0), 1),
    "covariates": lambda: covariates(ROWS, ["v"], Schema((TAINTED,))),
}


@pytest.mark.parametrize("read", READ)
def test_a_query_asks_for_itself_whatever_the_door_does(read: str) -> None:
    with pytest.raises(SchemaError, match="column 'v' is built from other people's values"):
        READ[read]()


PER_PERSON = {kind: make for (kind, _), make in CASES.items() if kind not in (
    SyntheticControl, published.SyntheticControl,
)}  # fmt: skip
"""One case of each class in which one record is a person's row, and not a donor's series."""


@pytest.mark.parametrize("kind", PER_PERSON, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_a_repeated_id_is_refused(kind: Any) -> None:
    schema = schema_of("v", "own").declare(unit=Unit("pupil", id="pid"))
    make = PER_PERSON[kind]
    once, twice = table("v"), table("v")
    twice.loc[N - 1, "pid"] = 1.0
    with pytest.raises(SchemaError, match="a pupil with several rows"):
        make(twice, schema, "v")
    facts = make(once, schema, "v").guarantee(
        Budget(0.5, 1e-6 if kind in (IPW, published.IPW, PrivateMoments) else 0)
    )
    if facts.measure != "none":
        assert "how many rows each pupil has (at most 1)" in facts.public_facts
