"""A table on a calibrated file says which of its regressions are valid."""

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.certificate.valid_regressions import ARTEFACT, Validity
from dprct.schema import Column, Schema


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(rng.normal(size=(40, 4)), columns=["earn", "hours", "age", "school"])
    frame["cash"] = np.repeat([1.0, 0, 0, 0], 10)
    frame["therapy"] = np.repeat([0, 1.0, 0, 0], 10)
    frame["town"] = np.tile([0.0, 1, 2, 3], 10)
    return frame


@pytest.fixture(scope="module")
def schema(rows):
    valid = Validity(
        outcomes=("earn", "hours"),
        arms=("cash", "therapy"),
        covariates=(("age", "C(town)"), ("school",)),
        subsets_valid=True,
        rows=(40, 40),
    )
    return valid.stamped(Schema(tuple(Column(name) for name in rows)))


def everywhere(made, words):
    """Whether words are in every format."""
    texts = [" ".join(made.notes), made.to_latex(), made.to_html(), made.to_text()]
    return all(words in " ".join(text.split()) for text in texts)


def table(rows, schema, **options):
    return dprct.itt_table(
        rows, schema, **{"outcomes": ["earn", "hours"], "arms": ["cash", "therapy"], **options}
    )


def test_a_table_of_declared_regressions_is_calibrated(rows, schema):
    made = table(rows, schema, covariates={"A": ["age", "C(town)"], "B": ["school"]})
    assert everywhere(made, "Calibrated: the errors")
    assert not everywhere(made, ARTEFACT)
    assert made.style.legend() == "* p < 0.05."  # the one level that was declared


def test_a_table_says_which_of_its_regressions_is_an_artefact(rows, schema):
    made = table(rows, schema, outcomes=["earn", "age"], covariates=["school"])
    assert everywhere(made, "earn: Calibrated: ")
    assert everywhere(made, f"age: {ARTEFACT} The effects on")


def test_a_table_with_blocks_names_them_as_factors(rows, schema):
    assert everywhere(table(rows, schema, covariates=["age"], blocks=["town"]), "Calibrated: ")


def test_a_table_of_a_part_of_the_rows_is_an_artefact(rows, schema):
    made = table(rows[rows.age > 0], schema, covariates=["school"])
    assert everywhere(made, "of 40 rows; subgroups were not released")
    assert not everywhere(made, "Calibrated: the errors")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cov_type": "nonrobust"}, "not nonrobust"),
        ({"cluster": "town"}, "not clusters town"),
        ({"weights": "w"}, "weighted"),
        ({"covariates": ["C(wealth)"]}, "C(wealth) was not declared"),
        ({"covariates": ["school"], "adjust": "holm"}, "Adjusted p-values test at levels below"),
    ],
)
def test_a_table_marks_other_regressions(rows, schema, options, words):
    made = table(rows.assign(w=1.0, wealth=rows.town), schema, **options)
    assert words in " ".join(made.notes)
