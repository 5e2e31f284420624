"""What both model-informed methods do around their draws: fates, types, rows, words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.errors import ConfirmationError, DprctWarning, SchemaError
from dprct.missing import missing_numbers, tagged
from dprct.published import GenModel, Hybrid
from dprct.published.informed import _storable, _with_missing
from dprct.schema import Column, Schema, Unit

METHODS = [Hybrid, GenModel]
FORMULA = "y ~ treat + age + score + C(site)"


def bound(method, data, schema, formula=FORMULA, **options):
    settings = {"treatment": "treat", "assignment": dprct.Block("treat", block="site")} | options
    return method.from_formula(formula, data, schema, **settings)


@pytest.mark.parametrize("method", METHODS)
def test_without_fates_the_rest_is_withheld(method, experiment, schema):
    release = bound(method, experiment, schema).fit(epsilon=4, rng=1)
    assert list(release.protected.columns) == schema.names
    assert release.protected[["arrested", "visits"]].isna().all().all()
    assert release.protected[["treat", "age", "score", "site"]].notna().all().all()


@pytest.mark.parametrize("method", METHODS)
def test_declared_fates_stand(method, experiment, schema):
    declared = schema.declare(
        arrested={"fate": "public"}, visits={"fate": "drop"}, **{
            name: {"fate": "modelled"} for name in ("y", "treat", "age", "score", "site")
        },
    )  # fmt: skip
    release = bound(method, experiment, declared).fit(epsilon=4, rng=1)
    assert "visits" not in release.protected
    assert release.protected["arrested"].sum() == experiment["arrested"].sum()
    assert "column arrested" in release.guarantee.not_covered
    with pytest.raises(SchemaError, match="no fate declared for: visits"):
        bound(method, experiment, schema.declare(arrested={"fate": "public"}))


@pytest.mark.parametrize("method", METHODS)
def test_a_column_of_the_formula_with_another_fate(method, experiment, schema):
    with pytest.raises(SchemaError, match="'age' is to be modelled, but its declared fate"):
        bound(method, experiment, schema.declare(age={"fate": "public"}))


@pytest.mark.filterwarnings("ignore:the private residual variance")
@pytest.mark.parametrize("method", METHODS)
def test_a_plan_that_refuses_is_confirmed_or_not_made(method, experiment, strict_schema):
    fine = strict_schema.declare(age={"bins": 50}, score={"bins": 50})
    model = bound(method, experiment, fine, x_method="strict")
    with pytest.raises(ConfirmationError, match="confirm=True"):
        model.fit(epsilon=0.05)
    with pytest.warns(DprctWarning, match="below t"):
        assert model.fit(epsilon=0.05, confirm=True, rng=1).protected["y"].notna().all()


@pytest.mark.parametrize("method", METHODS)
def test_text_covariates_and_arms(method, experiment, schema):
    town = Column("town", "str5", levels=("north", "south"))
    arm = Column("arm", "str7", levels=("control", "letter", "visit"))
    wide = Schema((*schema.columns, town, arm))
    groups = np.array(["control", "letter", "visit", "control"], object)
    data = experiment.assign(
        town=np.where(experiment["score"] > 0, "north", "south").astype(object),
        arm=np.tile(groups, 100),
    )
    design = dprct.Complete(["control", "letter", "visit"], shares=[0.5, 0.25, 0.25], arm="arm")
    model = bound(method, data, wide, "y ~ arm + town + age", treatment="arm", assignment=design)
    assert "arm[T.visit]" in model.facts.regressors
    released = model.fit(epsilon=4, rng=1).protected
    assert released["arm"].value_counts().to_dict() == {"control": 200, "letter": 100, "visit": 100}
    assert set(released["town"]) <= {"north", "south"}


@pytest.mark.parametrize("method", METHODS)
def test_arms_in_one_numeric_column(method, experiment, schema):
    wide = Schema((*schema.columns, Column("arm", "byte")))
    data = experiment.assign(arm=np.tile([0.0, 1.0, 2.0, 0.0], 100))
    design = dprct.Complete([0, 1, 2], shares=[0.5, 0.25, 0.25], arm="arm")
    model = bound(method, data, wide, "y ~ C(arm) + age", treatment="arm", assignment=design)
    assert model.facts.regressors == ("Intercept", "C(arm)[T.1]", "C(arm)[T.2]", "age")
    released = model.fit(epsilon=4, rng=1).protected
    assert released["arm"].value_counts().to_dict() == {0: 200, 1: 100, 2: 100}


@pytest.mark.parametrize("x_method", ["published", "strict", "marginals"])
def test_exclusive_arms_that_interact_stay_exclusive(experiment, schema, x_method):
    two = [{"levels": [0, 1], "missing": "never", "exclusive": "arm"}] * 2
    wide = Schema((*schema.columns, Column("letter", "byte"), Column("visit", "byte")))
    wide = wide.declare(letter=two[0], visit=two[1],
                        site={"levels": [1, 2, 3, 4], "missing": "never"})  # fmt: skip
    data = experiment.assign(
        letter=np.tile([1.0, 0, 0, 0], 100), visit=np.tile([0.0, 1, 0, 0], 100)
    )
    model = bound(Hybrid, data, wide, "y ~ (letter + visit)*site", treatment=["letter", "visit"],
                  assignment=None, x_method=x_method)  # fmt: skip
    released = model.fit(epsilon=4, rng=1, confirm=True).protected
    assert (released["letter"] + released["visit"]).max() == 1


def test_strict_covariates_of_units_with_several_rows(experiment, strict_schema):
    wide = Schema((*strict_schema.columns, Column("hh", "int")))
    wide = wide.declare(
        unit=Unit("household", id="hh", max_rows=2), hh={"fate": "key"}, **{
            name: {"fate": "modelled"} for name in ("y", "treat", "age", "score", "site")
        },
    ).declare_rest("withheld")  # fmt: skip
    data = experiment.assign(hh=np.repeat(np.arange(200.0), 2))
    release = bound(Hybrid, data, wide, x_method="strict").fit(epsilon=4, rng=1, confirm=True)
    assert "for every household" in release.guarantee.sentence()
    assert "price of max_rows" in str(release.plan)
    assert release.protected["hh"].nunique() == 200


@pytest.mark.parametrize("method", METHODS)
def test_the_seed_decides_everything(method, experiment, schema):
    model = bound(method, experiment, schema)
    one, two = (model.fit(epsilon=4, rng=9).protected for _ in range(2))
    pd.testing.assert_frame_equal(one, two)
    assert not one.equals(model.fit(epsilon=4, rng=10).protected)


@pytest.mark.parametrize("method", METHODS)
def test_arithmetic_without_a_result_leaves_its_row_out(method, experiment, schema):
    """One over zero is missing, in the fit and in released rows, as in Stata."""
    data = experiment.assign(age=np.where(np.arange(400) % 8 == 0, 0.0, experiment["age"]))
    model = bound(method, data, schema, "y ~ treat + I(1/age)")
    assert model.facts.fits[0].nobs == 350
    released = model.fit(epsilon=4, rng=1).protected
    assert (released["y"].isna() == (released["age"] == 0)).all()


def test_a_column_is_widened_only_where_values_need_it():
    whole = np.array([0.0, 1.0, 100.0])
    byte = Column("k", "byte", bounds=(0, 100), levels=None)
    assert _storable(byte, whole)[1] == byte
    assert _storable(byte, whole + 0.5)[1] == Column("k", "double")
    assert _storable(byte, whole + 1)[1] == Column("k", "double")
    real = Column("k", "double", bounds=(0, 1), bins=4, decimals=1)
    values, column = _storable(real, np.array([0.26, 3.0]))
    assert values.tolist() == [0.3, 3.0]
    assert column == Column("k", "double", decimals=1)
    two = Column("k", "byte", levels=(0.0, 1.0))
    assert _storable(two, np.array([0.0, 1.0, 1.0]))[1] == two
    assert _storable(two, np.array([2.0]))[1].levels is None
    single = _storable(Column("k", "float"), np.array([0.1]))[0]
    assert single[0] == np.float32(0.1)


def test_missing_codes_become_legal():
    column = Column("k", missing=(".a",))
    codes = np.array([-1, 0, 26, 26], np.int8)
    assert _with_missing(column, codes).missing == (".", ".a", ".z")
    assert _with_missing(Column("k"), codes).missing is None


def test_missing_codes_reach_the_file(experiment, schema, tmp_path):
    values = experiment["y"].to_numpy().copy()
    values[:120] = tagged(np.full(120, 4))
    release = bound(Hybrid, experiment.assign(y=values), schema).fit(epsilon=1)
    path = tmp_path / "made_no_dp_guarantee.dta"
    release.write_dta(path)
    codes = missing_numbers(dprct.read_dta(path)[0]["y"].to_numpy())
    assert set(codes.tolist()) == {-1, 4}
    assert abs((codes == 4).sum() - 120) < 30
