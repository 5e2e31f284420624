"""Tables of effects: what they say, in which layout, and what they refuse."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dprct
from dprct.errors import ColumnError, FormulaError, ParameterError
from dprct.privacy.budget import Budget, Guarantee
from dprct.results.tables import Table
from dprct.schema import Column, Schema

RELEASED = Guarantee.of(Budget(1), "replace-one", unit="person")


def experiment(n=240):
    rng = np.random.default_rng(8)
    arm = np.arange(n) % 3
    block = np.arange(n) // 40
    age = rng.integers(18, 60, n).astype(float)
    shock = rng.normal(size=n)
    return pd.DataFrame(
        {
            "earn": 2.0 + 0.8 * (arm == 1) + shock + block / 3,
            "work": np.where(np.arange(n) % 17 == 0, np.nan, 0.1 * age + shock),
            "trained": (arm == 1).astype(float),
            "paid": (arm == 2).astype(float),
            "control": (arm == 0).astype(float),
            "age": age,
            "block": block,
            "village": np.where(np.arange(n) % 50 == 7, None, (np.arange(n) // 8).astype(str)),
            "w": np.linspace(0, 2, n),
            "word": "x",
        }
    )


DATA = experiment()
PLAIN = {"outcomes": ["earn", "work"], "arms": ["trained", "paid"]}


def table(**change):
    data = change.pop("data", DATA)
    schema = change.pop("schema", None)
    return dprct.itt_table(data, schema, **(PLAIN | change))


def test_the_layout():
    made = table(outcomes={"earn": "Earnings"}, arms={"trained": "Training", "paid": "Cash"})
    lines = made.to_text(notes=False).splitlines()
    assert lines[1].split() == ["Training", "Cash"]
    parts = ["ITT", "Std.", "Err", "p-value"]
    assert lines[2].split() == ["Outcome", "Control", "mean", *parts, *parts]
    record = made.estimates.iloc[0]
    assert lines[4].split()[:3] == [
        "Earnings",
        f"{record['control_mean']:.3f}",
        f"{record['estimate']:.3f}",
    ]
    assert isinstance(made, Table)
    assert len(table(style="aer").to_text(notes=False).splitlines()) == 4 + 3 * 2
    assert r"\multicolumn{3}{c}{Training}" in made.to_latex()
    assert ">Earnings</th>" in made.to_html()


def test_the_frame_is_the_estimates():
    made = table(adjust="holm")
    frame, tidy = made.to_frame(), made.tidy()
    for record in tidy.to_dict("records"):
        for part in ("estimate", "std.error", "p.value", "p.adjusted"):
            assert frame.loc[record["outcome"], (record["arm"], part)] == record[part]
        assert frame.loc[record["outcome"], ("control_mean", "")] == record["control_mean"]


def test_labels_come_from_the_schema_unless_given():
    schema = Schema((Column("earn", label="Earnings last week"), Column("trained", label="")))
    made = table(schema=schema, outcomes=["earn"])
    assert made.rows[0].name == "Earnings last week"
    assert made.columns[1].heading == "trained"
    assert table(schema=schema, outcomes={"earn": "E"}).rows[0].name == "E"


def test_the_control_mean_is_that_of_the_controls_used():
    made = table(covariates=["age"]).estimates
    used = DATA[DATA["control"] == 1]
    assert made["control_mean"].iloc[0] == pytest.approx(used["earn"].mean())
    assert made["control_mean"].iloc[2] == pytest.approx(used["work"].mean())
    weighted = table(weights="w").estimates["control_mean"].iloc[0]
    assert weighted == pytest.approx(np.average(used["earn"], weights=used["w"]))


def test_panels_of_covariate_sets():
    made = table(covariates={"None": [], "Age": ["age", "I(age ** 2)"]})
    assert [row.key for row in made.rows if row.kind == "section"] == ["None", "Age"]
    assert made.estimates["covariates"].tolist() == ["None"] * 4 + ["Age"] * 4
    assert made.estimates["outcome"].tolist() == ["earn", "earn", "work", "work"] * 2
    alone = table(covariates=["age", "I(age ** 2)"]).estimates
    np.testing.assert_array_equal(made.estimates["estimate"][4:], alone["estimate"])


def test_rows_of_all_outcomes_or_of_each():
    each = table().estimates["nobs"].tolist()
    every = table(sample="complete").estimates["nobs"].tolist()
    complete = int(DATA["work"].notna().sum())
    assert each == [240, 240, complete, complete]
    assert every == [complete] * 4


def test_a_named_control_group_leaves_an_arm_out():
    made = table(arms=["trained"], control="control").estimates
    assert made["nobs"].iloc[0] == 160
    assert table(arms=["trained"]).estimates["nobs"].iloc[0] == 240


def test_any_frame_gives_the_same():
    frames = [DATA.drop(columns="village"), pl.from_pandas(DATA.drop(columns="village"))]
    one, other = (
        table(data=frame, covariates=["age"], blocks=["block"]).estimates for frame in frames
    )
    pd.testing.assert_frame_equal(one, other)


def test_collinear_columns_are_named():
    data = DATA.assign(months=DATA["age"] * 12)
    made = table(data=data, covariates=["age", "months"])
    assert made.omitted == {("", "earn"): ("months",), ("", "work"): ("months",)}
    assert "Omitted as linear combinations of columns before them: months." in made.to_text()
    assert table(covariates=["age"]).omitted == {}


def test_rows_without_a_cluster_are_counted():
    made = table(cluster="village")
    assert made.rows_without_group == DATA["village"].isna().sum()
    assert "Left out for want of a cluster: 5 rows." in made.to_text()
    assert "clustered by village" in made.to_text()
    assert made.estimates["nobs"].iloc[0] == 235


@pytest.mark.parametrize("adjust", ["westfall-young", "romano-wolf"])
def test_resampling_is_free_on_released_data_and_marked_on_others(adjust):
    confidential = table(adjust=adjust, draws=100, rng=1)
    assert confidential.custodian
    assert "Custodian: " in confidential.to_text()
    assert "Custodian: " in confidential.to_latex()
    released = table(adjust=adjust, draws=100, rng=1, guarantee=RELEASED)
    assert not released.custodian
    assert "Custodian" not in released.to_text()
    assert released.guarantee == RELEASED
    assert "epsilon=1" in released.to_text()
    assert "do not include the noise of the release" in " ".join(released.to_text().split())


def test_the_bootstrap_follows_its_generator():
    one, same, other = (
        table(adjust="romano-wolf", draws=200, rng=seed).estimates["p.adjusted"]
        for seed in (1, 1, 2)
    )
    assert one.tolist() == same.tolist()
    assert one.tolist() != other.tolist()
    with pytest.raises(ParameterError, match="rng is str"):
        table(adjust="romano-wolf", rng="one")


def test_ordinary_fits_say_that_they_promise_nothing():
    made = table()
    assert not made.custodian
    assert made.guarantee.measure == "none"
    assert "No differential-privacy guarantee" in made.to_text()


def test_the_side_chosen_after_the_estimate_is_named():
    assert "one-sided normal, side chosen after the estimate" in " ".join(
        table(alternative="one-sided", distribution="normal").to_text().split()
    )


def test_a_table_pickles_and_holds_no_row():
    made = table(covariates=["age"], blocks=["block"], cluster="village", adjust="holm")
    stored = pickle.dumps(made)
    assert pickle.loads(stored).to_text() == made.to_text()
    longer = table(
        data=pd.concat([DATA] * 20, ignore_index=True),
        covariates=["age"],
        blocks=["block"],
        cluster="village",
        adjust="holm",
    )
    assert len(pickle.dumps(longer)) < len(stored) + 200


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"outcomes": ["earnings"]}, ColumnError, "no column 'earnings'.*'earn'"),
        ({"outcomes": []}, ParameterError, r"outcomes=\[\]; give a list"),
        ({"outcomes": "earn"}, ParameterError, "outcomes='earn'; give a list"),
        ({"outcomes": ["earn", "earn"]}, ParameterError, "twice"),
        ({"outcomes": ["word"]}, FormulaError, "'word' holds text"),
        ({"outcomes": ["trained"]}, ParameterError, "'trained' is also an arm"),
        ({"outcomes": ["block"], "blocks": ["block"]}, ParameterError, "or a block"),
        ({"covariates": ["I(earn ** 2)"]}, ParameterError, "'earn' is also a covariate"),
        ({"arms": ["train"]}, ColumnError, "did you mean 'trained'"),
        ({"arms": ["trained", "paid", "control"]}, ParameterError, "control group is empty"),
        ({"arms": ["age"]}, ParameterError, "other than 0 and 1"),
        ({"covariates": ["agee"]}, ColumnError, "did you mean 'age'"),
        ({"covariates": "age"}, ParameterError, "give a list"),
        ({"covariates": {}}, ParameterError, "empty mapping"),
        ({"covariates": ["age ^ 2"]}, FormulaError, "at character"),
        ({"blocks": ["blok"]}, ColumnError, "did you mean 'block'"),
        ({"cov_type": "cluster"}, ParameterError, "needs cluster="),
        ({"cov_type": "robust"}, ParameterError, "HC1"),
        ({"cluster": "vilage"}, ColumnError, "did you mean 'village'"),
        ({"cluster": ["a"]}, ParameterError, "1 values for 240 rows"),
        ({"cluster": "word"}, ParameterError, "one cluster"),
        ({"weights": -DATA["w"]}, ParameterError, "negative"),
        ({"weights": "weight"}, ColumnError, "'weight'"),
        ({"weights": "w", "weights_type": "iweight"}, ParameterError, "allowed: aweight"),
        ({"alternative": "greater"}, ParameterError, "allowed: two-sided, one-sided"),
        ({"distribution": "z"}, ParameterError, "allowed: t, normal"),
        ({"adjust": "fdr"}, ParameterError, "holm, westfall-young, romano-wolf, or None"),
        ({"sample": "all"}, ParameterError, "complete-per-outcome, complete"),
        ({"families": {"a": ["earn"]}}, ParameterError, "'work' is in no family"),
        ({"adjust": "romano-wolf", "family_sizes": {"all": 9}}, ParameterError, "family_sizes"),
        ({"adjust": "romano-wolf", "alternative": "one-sided"}, ParameterError, "leave out"),
        ({"style": "apa"}, ParameterError, "allowed: paper"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(change, error, says):
    with pytest.raises(error, match=says) as caught:
        table(**change)
    assert "\n" not in str(caught.value)


def test_arms_that_overlap_are_refused():
    data = DATA.assign(paid=DATA["trained"])
    with pytest.raises(ParameterError, match="'trained' and 'paid' overlap"):
        table(data=data)


def test_an_arm_without_rows_is_refused_by_name():
    data = DATA.assign(work=DATA["work"].where(DATA["paid"] == 0))
    with pytest.raises(ParameterError, match="arm 'paid' is empty in the rows used for 'work'"):
        table(data=data)


@pytest.mark.parametrize("value", [0.0, 1e-9, 5.1, -1e12])
def test_an_outcome_that_never_varies_is_refused(value):
    with pytest.raises(ParameterError, match="standard error of arm 'trained' on 'flat' is zero"):
        table(data=DATA.assign(flat=value), outcomes=["flat"], covariates=["age"])


def test_an_infinite_number_is_refused_by_name():
    data = DATA.assign(age=DATA["age"].where(DATA["age"] < 50, np.inf))
    with pytest.raises(ParameterError, match="'age' is infinite"):
        table(data=data, covariates=["age"])


def test_names_of_any_kind():
    data = DATA.rename(columns={"earn": "earn (week)", "trained": "trained?", "block": "the block"})
    made = table(data=data, outcomes=["earn (week)"], arms=["trained?"], blocks=["the block"])
    assert made.estimates["rank"].iloc[0] == 2 + 5


def test_every_row_has_its_number_of_rows_where_they_differ():
    made = table()
    assert [column.heading for column in made.columns][-1] == "N"
    frame = made.to_frame()
    assert frame.loc["work", ("nobs", "")] == DATA["work"].notna().sum()
    assert frame.loc["earn", ("nobs", "")] == 240
    assert "Observations: see N." in made.to_text()
    one = table(sample="complete")
    assert [column.heading for column in one.columns] == ["Control mean", "trained", "paid"]
    assert f"Observations: {DATA['work'].notna().sum()}." in one.to_text()
