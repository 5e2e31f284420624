from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dprct.errors import ParameterError, StudyError
from dprct.privacy.budget import Budget, Guarantee
from dprct.results.itt import itt_table
from dprct.schema import Column, Schema
from dprct.study.declared_tables import PLACE, STATISTICS, TableSpec, long_form, tables_from

BASE: dict[str, Any] = {"name": "t", "outcomes": ["y", "z"], "arms": ["a", "b"]}


@pytest.fixture
def data() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    n = 300
    arm = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "y": rng.normal(0, 1, n) + (arm == 1),
            "z": rng.normal(5, 2, n),
            "a": (arm == 1) * 1.0,
            "b": (arm == 2) * 1.0,
            "none": ((arm == 0) & (np.arange(n) < 200)) * 1.0,
            "age": rng.integers(20, 60, n) * 1.0,
            "site": rng.integers(1, 6, n) * 1.0,
            "village": rng.integers(1, 30, n) * 1.0,
            "w": rng.uniform(1, 2, n),
        }
    )


@pytest.fixture
def schema(data: pd.DataFrame) -> Schema:
    return Schema(tuple(Column(name) for name in data.columns))


def declared(**keys: Any) -> TableSpec:
    return tables_from([{**BASE, **keys}])[0]


@pytest.mark.parametrize(
    ("keys", "options"),
    [
        ({}, {}),
        ({"covariates": ["age", "C(site)"]}, {"covariates": ["age", "C(site)"]}),
        ({"covariates": {"no": [], "yes": ["age"]}}, {"covariates": {"no": [], "yes": ["age"]}}),
        ({"blocks": ["site"]}, {"blocks": ["site"]}),
        ({"control": "none"}, {"control": "none"}),
        ({"errors": "HC3"}, {"cov_type": "HC3"}),
        (
            {"errors": "cluster", "cluster": "village"},
            {"cov_type": "cluster", "cluster": "village"},
        ),
        ({"weights": "w"}, {"weights": "w"}),
        ({"weights": "w", "weights_type": "pweight"}, {"weights": "w", "weights_type": "pweight"}),
        ({"alternative": "one-sided"}, {"alternative": "one-sided"}),
        ({"distribution": "normal"}, {"distribution": "normal"}),
        ({"sample": "complete"}, {"sample": "complete"}),
        ({"adjust": "holm"}, {"adjust": "holm"}),
        ({"adjust": "holm", "families": "arm"}, {"adjust": "holm", "families": "arm"}),
        (
            {"adjust": "bonferroni", "families": {"one": ["y"], "two": ["z"]},
             "family_sizes": {"one": 6}},
            {"adjust": "bonferroni", "families": {"one": ["y"], "two": ["z"]},
             "family_sizes": {"one": 6}},
        ),
        ({"adjust": "romano-wolf", "draws": 200, "seed": 7},
         {"adjust": "romano-wolf", "draws": 200, "rng": 7}),
    ],
)  # fmt: skip
def test_every_key_reaches_the_table(
    keys: dict[str, Any], options: dict[str, Any], data: pd.DataFrame, schema: Schema
) -> None:
    data.loc[::7, "y"] = np.nan  # so that the sample matters
    made = declared(**keys).made(data, schema)
    direct = itt_table(
        data, schema, outcomes=BASE["outcomes"], arms=BASE["arms"], **{"rng": 0, **options}
    )
    pd.testing.assert_frame_equal(made.tidy(), direct.tidy())
    if options:
        plain = itt_table(data, schema, outcomes=BASE["outcomes"], arms=BASE["arms"])
        assert not made.tidy().equals(plain.tidy())


def test_layout_digits_and_title_are_those_declared(data: pd.DataFrame, schema: Schema) -> None:
    made = declared(layout="aer", digits=1, title="Effects").made(data, schema)
    assert made.title == "Effects"
    assert made.style.digits == 1
    assert made.style.brackets == "()"
    assert "*" not in made.to_text(notes=False)
    assert declared().made(data, schema).title == "t"


def test_a_guarantee_is_printed(data: pd.DataFrame, schema: Schema) -> None:
    guarantee = Guarantee.of(Budget(2), "replace-one")
    made = declared().made(data, schema, guarantee)
    assert "epsilon=2" in made.to_text()
    assert "epsilon" not in declared().made(data, schema).to_text()


def test_the_same_seed_gives_the_same_draws(data: pd.DataFrame, schema: Schema) -> None:
    spec = declared(adjust="westfall-young", draws=200)
    pd.testing.assert_frame_equal(spec.made(data, schema).tidy(), spec.made(data, schema).tidy())


def test_columns_are_all_that_the_table_needs_in_the_order_of_use() -> None:
    spec = declared(
        covariates={"one": ["age", "I(size ** 2)"], "two": ["C(site)", "age:size"]},
        blocks=["stratum"], control="none", cluster="village", weights="w",
    )  # fmt: skip
    assert spec.columns() == ["y", "z", "a", "b", "age", "size", "site", "stratum", "none",
                              "village", "w"]  # fmt: skip


@pytest.mark.parametrize("fate", ["filler", "withheld", "key", "drop"])
def test_a_column_that_carries_nothing_is_named(fate: str) -> None:
    fates = {"y": "modelled", "z": "derived", "a": "public", "b": fate}
    assert declared().without_information(fates) == ["b"]
    assert declared(arms=["a"]).without_information(fates) == []
    assert declared(blocks=["gone"]).without_information(fates) == ["b", "gone"]


def test_columns_that_the_file_lacks_are_named_with_a_hint() -> None:
    problems = declared(covariates=["agee"]).problems(["y", "z", "a", "b", "age"])
    assert problems == [
        "[[table]] 't': no column 'agee' in the file; did you mean 'age'?"
    ]  # fmt: skip
    assert declared().problems(["y", "z", "a", "b"]) == []


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"outcome": ["y"]}, "unknown key 'outcome' in [[table]] number 1; did you mean"),
        ({"name": 3}, "name = 3; give text"),
        ({"name": "  "}, "name is empty"),
        ({"outcomes": []}, "outcomes is empty"),
        ({"arms": []}, "arms is empty"),
        ({"outcomes": "y"}, "outcomes = 'y'; give a list of texts"),
        ({"digits": -1}, "digits=-1"),
        ({"digits": 99}, "digits=99"),
        ({"layout": "latex"}, "style='latex'"),
        ({"errors": "HC9"}, "'HC9'; allowed"),
        ({"errors": "cluster"}, "needs cluster"),
        ({"errors": "HC2", "cluster": "village"}, "has no clusters"),
        ({"weights_type": "aw"}, "weights_type='aw'"),
        ({"alternative": "both"}, "alternative='both'; allowed"),
        ({"distribution": "chi2"}, "distribution='chi2'; allowed"),
        ({"adjust": "none"}, "adjust='none'; allowed"),
        ({"sample": "all"}, "sample = 'all'; allowed"),
        ({"draws": 0, "adjust": "romano-wolf"}, "draws=0"),
        ({"seed": -1}, "seed=-1"),
        ({"families": "some"}, "families='some'; allowed"),
        ({"families": {"one": ["y"]}}, "'z'"),
        ({"families": {"one": ["y", "z", "q"]}}, "'q'"),
        ({"family_sizes": {"all": 1}}, "all"),
        ({"covariates": ["age +"]}, "'~ age +'"),
        ({"covariates": ["__import__('os')"]}, "[[table]]"),
        ({"covariates": {}}, "covariates"),
        ({"covariates": ["{x}"]}, "[[table]]"),
        ({"arms": ["a"], "control": "a"}, "name a column twice"),
        ({"arms": ["a", "y"]}, "'y' is also an arm"),
        ({"outcomes": ["y", "y"]}, "outcomes name a column twice"),
        ({"covariates": ["age", "log(y)"]}, "'y' is also a covariate"),
        ({"blocks": ["y"]}, "'y' is also an arm or a block"),
        ({"adjust": "romano-wolf", "family_sizes": {"all": 9}}, "leave out family_sizes"),
    ],
)  # fmt: skip
def test_what_no_data_could_be_given_for_is_refused_at_once(
    keys: dict[str, Any], words: str
) -> None:
    with pytest.raises(StudyError) as caught:
        declared(**keys)
    assert words in str(caught.value)
    assert "[[table]]" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_tables_of_one_name_are_refused() -> None:
    with pytest.raises(StudyError, match="two tables are called 't'"):
        tables_from([BASE, {**BASE, "name": "u"}, BASE])


@pytest.mark.parametrize("sections", ["text", 3, {"name": "t"}])
def test_tables_are_a_list_of_sections(sections: object) -> None:
    with pytest.raises(StudyError, match=r"written as \[\[table\]\]"):
        tables_from(sections)


def test_a_section_says_its_number() -> None:
    with pytest.raises(StudyError, match=r"\[\[table\]\] number 2 lacks outcomes"):
        tables_from([BASE, {"name": "u", "arms": ["a"]}])


@pytest.mark.parametrize(
    ("keys", "change", "words"),
    [
        ({}, {"b": 1.0}, "arms 'a' and 'b' overlap"),
        ({"arms": ["a", "age"]}, {}, "'age' holds numbers other than 0 and 1"),
        ({"control": "empty"}, {"empty": 0.0}, "control group is empty"),
        ({"arms": ["a", "empty"]}, {"empty": 0.0}, "arm 'empty' is empty"),
        ({"weights": "w"}, {"w": -417.25}, "'w' are negative"),
        ({"cluster": "village"}, {"village": np.nan}, "'y'"),
        ({"cluster": "village"}, {"village": 417.25}, "one cluster"),
        ({"arms": ["a", "twin"], "control": "none"}, {"twin": "a"}, "overlap"),
        ({"outcomes": ["gone"]}, {}, "no column 'gone'"),
    ],
)
def test_data_that_cannot_give_it_are_refused_without_a_value(
    keys: dict[str, Any], change: dict[str, Any], words: str, data: pd.DataFrame
) -> None:
    for name, value in change.items():
        data[name] = data[value] if isinstance(value, str) else value
    with pytest.raises((ParameterError, KeyError)) as caught:
        declared(**keys).made(data, Schema(tuple(Column(name) for name in data.columns)))
    assert words in str(caught.value)
    assert "417" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_collinear_columns_are_named_in_the_notes(data: pd.DataFrame) -> None:
    data["months"] = 12 * data["age"]
    schema = Schema(tuple(Column(name) for name in data.columns))
    made = declared(covariates=["age", "months"]).made(data, schema)
    assert made.omitted["", "y"] == ("months",)
    assert "Omitted as linear combinations of columns before them: months." in made.to_text()


def test_rows_without_a_cluster_are_counted(data: pd.DataFrame, schema: Schema) -> None:
    data.loc[:9, "village"] = np.nan
    made = declared(cluster="village").made(data, schema)
    assert "Left out for want of a cluster: 10 rows." in made.to_text()


def test_the_long_form_has_every_number_once(data: pd.DataFrame, schema: Schema) -> None:
    spec = declared(covariates={"no": [], "yes": ["age"]}, adjust="holm")
    made = spec.made(data, schema)
    entries = long_form({"t": made})
    assert len(entries) == 2 * 2 * 2 * len(STATISTICS)
    assert len({tuple(entry[key] for key in PLACE) for entry in entries}) == len(entries)
    record = made.tidy().iloc[-1]
    found = {e["statistic"]: e["value"] for e in entries[-len(STATISTICS) :]}
    assert found == {name: record[name] for name in STATISTICS}
    assert (entries[-1]["covariates"], entries[-1]["outcome"], entries[-1]["arm"]) == (
        record["covariates"], record["outcome"], record["arm"],
    )  # fmt: skip


def test_a_table_is_of_the_rows_that_meet_its_condition(data: pd.DataFrame, schema: Schema) -> None:
    data.loc[::5, "age"] = np.nan  # who has no age does not meet it
    table = declared(where="age>30 & inlist(site, 1, 2)")
    assert table.columns() == ["y", "z", "a", "b", "age", "site"]
    kept = data[(data["age"] > 30) & data["site"].isin([1, 2])].reset_index(drop=True)
    direct = itt_table(kept, schema, outcomes=BASE["outcomes"], arms=BASE["arms"])
    pd.testing.assert_frame_equal(table.made(data, schema).tidy(), direct.tidy())
    said = "Rows with age > 30 and (site == 1 or site == 2)."
    assert table.made(data, schema).notes[0] == said
    assert said in table.made(data, schema).to_text().replace("\n", " ")
    with pytest.raises(ParameterError, match="keeps no row"):
        declared(where="age > 200").made(data, schema)
    assert len(declared(where="agee > 3").problems([*data.columns])) == 1
    for wrong in ("age = 3", "1 == 1", "open(3)"):
        with pytest.raises(StudyError, match="where"):
            declared(where=wrong)
