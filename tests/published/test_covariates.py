"""Where released covariates come from: what they promise, what they charge, what they draw."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct.errors import BudgetError, ParameterError, SchemaError
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source
from dprct.published.covariates import covariates

NAMES = ["age", "score", "site"]


@pytest.mark.parametrize("x_method", ["strict", "marginals", "published"])
def test_every_source_draws_all_rows(experiment, strict_schema, x_method):
    found = covariates(experiment, strict_schema, NAMES, x_method, None)
    state, columns = found.draw(Budget(5), source(1))
    assert sorted(columns) == sorted(NAMES)
    assert all(len(values) == 400 for values in columns.values())
    assert set(columns["site"].tolist()) <= {1.0, 2.0, 3.0, 4.0}
    assert bool(state) == found.strict == (x_method != "published")


def test_only_strict_covariates_are_charged(experiment, strict_schema):
    accountant = Accountant(2)
    found = covariates(experiment, strict_schema, NAMES, "strict", None)
    receipt = found.charged(Budget(1.5), accountant, source())
    assert accountant.spent == Budget(1.5)
    assert receipt.words.endswith("(for the covariates alone)")
    with pytest.raises(BudgetError):
        found.charged(Budget(1), accountant, source())
    published = covariates(experiment, strict_schema, NAMES, "published", None)
    with pytest.raises(ParameterError, match="release has a guarantee"):
        published.charged(Budget(0.1), accountant, source())
    assert accountant.spent == Budget(1.5)


def test_words(experiment, strict_schema):
    def words(x_method, names=NAMES):
        return covariates(experiment, strict_schema, names, x_method, None).words(Budget(1, 1e-6))

    assert "alone, without any outcome, are differentially private with epsilon=1" in words(
        "strict"
    )
    assert "promises nothing either" in words("published")
    assert "given by the user" in words(experiment[NAMES])
    assert words("published", []) == "there are no covariates"


def test_strict_covariates_do_not_depend_on_anything_else(experiment, strict_schema):
    """Same seed, other outcomes: the same X~."""
    other = experiment.assign(y=0.0, arrested=1.0, visits=3.0)
    one, two = (
        covariates(data, strict_schema, NAMES, "strict", None).draw(Budget(1), source(3))
        for data in (experiment, other)
    )
    assert one[0] == two[0]
    assert all((one[1][name] == two[1][name]).all() for name in NAMES)


def test_given_rows_are_used_as_they_are(experiment, schema):
    own = experiment[NAMES].iloc[::-1].reset_index(drop=True)
    state, columns = covariates(experiment, schema, NAMES, own, None).draw(Budget(1), source(1))
    assert state == {}
    assert all((columns[name] == own[name].to_numpy()).all() for name in NAMES)


def test_the_units_id_need_not_be_a_covariate(experiment, strict_schema):
    from dprct.schema import Column, Schema, Unit

    wide = Schema((*strict_schema.columns, Column("id", "int")))
    wide = wide.declare(unit=Unit("person", id="id"))
    data = experiment.assign(id=np.arange(400.0))
    columns = covariates(data, wide, NAMES, "strict", None).draw(Budget(1), source(1))[1]
    assert "id" not in columns


@pytest.mark.parametrize(
    ("x_method", "zeta", "error", "says"),
    [
        (
            "strong",
            None,
            ParameterError,
            "x_method='strong'; allowed: strict, marginals, published",
        ),
        ("marginals", 0.5, ParameterError, "leave it out for marginals"),
        ("strict", 3, ParameterError, "zeta=3"),
        (pd.DataFrame({"age": [1.0]}), 0.5, ParameterError, "leave it out for given rows"),
        (pd.DataFrame({"age": [1.0], "score": [0.0], "site": [1.0]}), None, SchemaError, "1 rows"),
        (7, None, SchemaError, "data is int"),
    ],
)
def test_refusals(experiment, strict_schema, x_method, zeta, error, says):
    with pytest.raises(error, match=says):
        covariates(experiment, strict_schema, NAMES, x_method, zeta)


def test_given_rows_must_be_legal(experiment, strict_schema):
    with pytest.raises(SchemaError, match="age: a value outside the bounds"):
        covariates(experiment, strict_schema, NAMES, experiment.assign(age=99.0), None)


def test_strict_covariates_need_public_facts(experiment, schema):
    with pytest.raises(SchemaError, match="'age'"):
        covariates(experiment, schema, NAMES, "strict", None)
