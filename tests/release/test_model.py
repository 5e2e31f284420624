from __future__ import annotations

import copy
import pickle
import time
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct.errors import (
    ColumnError,
    ConfirmationError,
    DprctError,
    DprctWarning,
    FormulaError,
    ModelPicklingError,
    ParameterError,
    SchemaError,
)
from dprct.missing import MISSING_CODES, missing_numbers, tagged
from dprct.privacy.accountant import Accountant
from dprct.privacy.aggregates import cell_count
from dprct.privacy.budget import Budget
from dprct.privacy.composition import per_row
from dprct.privacy.histograms import OneWayHistograms, SparseHistogram, StabilityHistogram
from dprct.release.histogram import Marginals, MVHistogram
from dprct.schema import Column, Schema, Unit

if TYPE_CHECKING:
    from collections.abc import Callable

    from dprct.release.release import ReleaseModel


@pytest.fixture(params=[MVHistogram, Marginals], ids=lambda kind: kind.__name__)
def kind(request: pytest.FixtureRequest) -> type[ReleaseModel[Any, Any, Any]]:
    found: type[ReleaseModel[Any, Any, Any]] = request.param
    return found


LEVELS: dict[str, Any] = {"levels": [0, 1], "missing": "never"}


def small(**facts: Any) -> Schema:
    schema = Schema((Column("got", "byte"), Column("arm", "byte"), Column("age", "int")))
    return schema.declare(
        **{"got": LEVELS, "arm": LEVELS, "age": {"bounds": (0, 99), "bins": 4, "missing": ["."]},
           **facts}
    )  # fmt: skip


def table(n: int = 400) -> pd.DataFrame:
    return pd.DataFrame(
        {"got": np.arange(n) % 2.0, "arm": np.arange(n) // 2 % 2.0, "age": np.arange(n) % 100.0}
    )


@pytest.mark.parametrize(
    "leave",
    [pickle.dumps, copy.copy, copy.deepcopy, lambda model: pickle.dumps([model], protocol=0)],
)
def test_a_model_does_not_leave_its_process(
    leave: Callable[[ReleaseModel[Any, Any, Any]], object], kind: type[ReleaseModel[Any, Any, Any]]
) -> None:
    with pytest.raises(ModelPicklingError, match=f"{kind.__name__} holds confidential rows"):
        leave(kind(table(), small(), columns=["got", "arm", "age"]))


def test_a_model_shows_names_and_n_only(kind: type[ReleaseModel[Any, Any, Any]]) -> None:
    model = kind(table(), small(), columns=["got", "age", "arm"])
    assert repr(model) == f"{kind.__name__}(n=400, modelled: got, arm, age)"
    assert str(model) == repr(model)


@pytest.mark.parametrize(
    ("epsilon", "match"),
    [(0, "epsilon=0"), (-1, "negative"), (float("nan"), "not finite"), (float("inf"), "not finite"),
     ("1", "epsilon is str"), (None, "epsilon is NoneType"), (True, "epsilon is bool"),
     (1e-30, "larger epsilon"), (5e-324, "larger epsilon")],
)  # fmt: skip
@pytest.mark.parametrize("call", ["plan", "fit"])
def test_epsilon_is_checked(
    epsilon: Any, match: str, call: str, kind: type[ReleaseModel[Any, Any, Any]]
) -> None:
    model = kind(table(), small(), columns=["got", "arm", "age"])
    with pytest.raises(ParameterError, match=match):
        getattr(model, call)(epsilon)


@pytest.mark.parametrize("delta", [1, 1.5, -1e-9, float("nan"), float("inf"), "0", None])
def test_delta_is_checked(delta: Any, kind: type[ReleaseModel[Any, Any, Any]]) -> None:
    model = kind(table(), small(), columns=["got", "arm", "age"])
    with pytest.raises(ParameterError, match="delta"):
        model.fit(1, delta)


@pytest.mark.parametrize("rng", ["1", -1, 2.5, object()])
def test_rng_is_checked(rng: object, kind: type[ReleaseModel[Any, Any, Any]]) -> None:
    with pytest.raises(ParameterError, match="rng"):
        kind(table(), small(), columns=["got", "arm", "age"]).fit(1, rng=rng, confirm=True)


ARM_AND_AGE = {"arm": {"fate": "withheld"}, "age": {"fate": "withheld"}}


@pytest.mark.parametrize(
    ("data", "schema", "columns", "error", "match"),
    [
        (table(0), small(), ["got", "arm", "age"], SchemaError, "no rows"),
        (table().set_axis(["got", "arm", "got"], axis=1), small(), ["got"], SchemaError,
         "named twice: got"),
        ([1, 2], small(), ["got"], SchemaError, "list; one fit reads one table"),
        (table(), small(), None, SchemaError, "no column is modelled"),
        (table(), small(), ["got"], SchemaError, "no fate declared for: arm, age"),
        (table(), small(), ["gott"], ColumnError, "did you mean 'got'"),
        (table(), small(), "got", ParameterError, r"\['got'\]"),
        (table(), small(**ARM_AND_AGE), ["got", "arm"], SchemaError, "fate is 'withheld'"),
        (table(), small(got={**LEVELS, "fate": "modelled"}), ["arm"], SchemaError,
         "leaves out: got"),
        (table(), small(age={"derived": "got + arm"}), ["got", "arm", "age"], SchemaError,
         "recomputed and not modelled"),
        (table().drop(columns="arm"), small(), ["got", "arm", "age"], ColumnError, "'arm'"),
        (table().assign(got=2.0), small(), ["got", "arm", "age"], SchemaError,
         "got: a value outside the declared levels"),
        (table().assign(age=np.inf), small(), ["got", "arm", "age"], SchemaError, "infinite"),
        (table().assign(got="yes"), small(), ["got", "arm", "age"], SchemaError,
         "schema says numbers"),
        (table().assign(got=np.nan), small(), ["got", "arm", "age"], SchemaError,
         "missing code that is not declared"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_at_the_door(
    data: Any,
    schema: Schema,
    columns: Any,
    error: type[DprctError],
    match: str,
    kind: type[ReleaseModel[Any, Any, Any]],
) -> None:
    with pytest.raises(error, match=match):
        kind(data, schema, columns=columns)


@pytest.mark.parametrize(
    ("fact", "match"),
    [({"levels": [0, 1]}, "missing policy"), ({"missing": "never"}, "bounds nor levels"),
     ({"levels": [0, 1], "missing": "never", "built_from": "cohort"}, "cohort")],
)  # fmt: skip
def test_a_missing_public_fact_is_named(
    fact: dict[str, Any], match: str, kind: type[ReleaseModel[Any, Any, Any]]
) -> None:
    schema = Schema((Column("got", "byte"),)).declare(got={**fact, "fate": "modelled"})
    with pytest.raises(SchemaError, match=f"column 'got'.*{match}"):
        kind(table(), schema)


def test_cohort_columns_need_public_constants(kind: type[ReleaseModel[Any, Any, Any]]) -> None:
    fact = {**LEVELS, "fate": "modelled", "built_from": "cohort", "constants_public": True}
    schema = Schema((Column("got", "byte"),)).declare(got=fact)
    assert kind(table(), schema).n == 400


def test_an_unknown_characteristic_to_keep_is_refused(
    kind: type[ReleaseModel[Any, Any, Any]],
) -> None:
    with pytest.raises(ParameterError, match="'note1', which the file does not have"):
        kind(table(), small(), columns=["got", "arm", "age"], keep=["note1"])


def test_a_formula_names_the_columns(kind: type[ReleaseModel[Any, Any, Any]]) -> None:
    model = kind.from_formula("got ~ arm + age", table(), small())
    assert [e.name for e in model.facts.encodings] == ["got", "arm", "age"]
    with pytest.raises(FormulaError):
        kind.from_formula("got ~ {__import__('os').system('id')}", table(), small())
    with pytest.raises(ColumnError, match="did you mean 'arm'"):
        kind.from_formula("got ~ armm", table(), small())


def test_the_guarantee_says_what_is_public(data: pd.DataFrame, schema: Schema) -> None:
    guarantee = MVHistogram(data, schema).guarantee(Budget(1))
    assert (guarantee.measure, guarantee.relation) == ("pure", "replace-one")
    assert guarantee.unit == "household"
    text = str(guarantee)
    for part in ("n = 400", "bounds, levels, bins, missing codes and exclusive groups",
                 "label, sort order and characteristics", "how many rows each household has",
                 "column village (declared public)"):  # fmt: skip
        assert part in text
    approximate = MVHistogram(data, schema).guarantee(Budget(1, 1e-6))
    assert approximate.measure == "approximate"


@pytest.mark.parametrize("columns", [None, ["got", "arm", "age"]])
def test_a_schema_that_meets_the_data_unsealed_was_not_sealed_before(
    columns: list[str] | None, kind: type[ReleaseModel[Any, Any, Any]]
) -> None:
    """The header alone was read into the schema, but the rows are in memory already."""
    schema = small() if columns else small().declare_rest("modelled")
    assert not schema.opened
    late = kind(table(), schema, columns=columns).fit(8, confirm=True).certificate()
    assert late.seal.endswith("sealed after opening")
    fated = small().declare_rest("modelled").seal()
    early = kind(table(), fated).fit(8, confirm=True).certificate()
    assert "before the data were read" in early.seal


def test_without_an_id_one_row_for_each_is_a_fact_that_the_claim_rests_on() -> None:
    model = MVHistogram(table(), small(), columns=["got", "arm", "age"])
    assert "that no person has two rows" in str(model.guarantee(Budget(1)))


def test_several_rows_of_a_unit_divide_the_budget() -> None:
    schema = Schema((Column("hh", "int"), Column("got", "byte"))).declare(
        got={**LEVELS, "fate": "modelled"}, hh={"fate": "drop"}
    )
    data = pd.DataFrame({"hh": np.repeat(np.arange(200.0), 2), "got": np.arange(400) % 2.0})
    with pytest.raises(SchemaError, match="a household with several rows; declare max_rows"):
        MVHistogram(data, schema.declare(unit=Unit("household", "hh")))
    with pytest.raises(SchemaError, match="an id that is missing"):
        MVHistogram(data.assign(hh=np.nan), schema.declare(unit=Unit("household", "hh")))
    two = MVHistogram(data, schema.declare(unit=Unit("household", "hh", max_rows=2)))
    one = MVHistogram(data, schema)
    assert one.plan(1).budget == two.plan(1).budget == Budget(1)
    assert two._allocated(Budget(1))["counts"] == one._allocated(Budget(0.5))["counts"]
    assert two.plan(1).value("price of max_rows") == 2
    assert "price of max_rows" not in one.plan(1).facts
    assert two.plan(0.1).value("t") > one.plan(0.1).value("t")
    release = two.fit(1)
    assert release.guarantee.unit == "household"
    release.schema.validate(release.protected)


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("most", [1, 2, 4])
def test_a_unit_s_rows_are_drawn_for_what_was_charged_together(
    most: int,
    delta: float,
    kind: type[ReleaseModel[Any, Any, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[Budget] = []
    for mechanism in (SparseHistogram, StabilityHistogram, OneWayHistograms):

        def watched(self: Any, *given: Any, real: Any = mechanism.release) -> Any:
            drawn.append(self.budget)
            return real(self, *given)

        monkeypatch.setattr(mechanism, "release", watched)
    schema = Schema((Column("hh", "int"), Column("got", "byte"))).declare(
        got={**LEVELS, "fate": "modelled"},
        hh={"fate": "drop"},
        unit=Unit("household", "hh", max_rows=most),
    )
    data = pd.DataFrame({"hh": np.arange(400) // most * 1.0, "got": np.arange(400) % 2.0})
    purse = Accountant(2, 1e-6, unit="household")
    kind(data, schema).fit(2, delta, accountant=purse, confirm=True)
    assert purse.remaining == Budget(0, 1e-6 - delta)
    assert drawn == [per_row(Budget(2, delta), most)]


@pytest.mark.parametrize("kind_of_frame", ["polars", "shuffled", "float32", "integers"])
def test_the_frame_does_not_matter(
    kind_of_frame: str, kind: type[ReleaseModel[Any, Any, Any]]
) -> None:
    data = table(600)
    data.loc[::7, "age"] = np.nan
    frames: dict[str, Any] = {
        "polars": pl.DataFrame(data).with_columns(pl.col("age").fill_nan(None)),
        "shuffled": data.sample(frac=1, random_state=np.random.default_rng(1)),
        "float32": data.astype(np.float32),
        "integers": data.astype({"got": "int64", "arm": "int8"}),
    }
    names = ["got", "arm", "age"]
    first = kind(data, small(), columns=names).fit(1, rng=5).protected
    second = kind(frames[kind_of_frame], small(), columns=names).fit(1, rng=5).protected
    pd.testing.assert_frame_equal(first, second)


def test_polars_brings_missing_codes_in_companion_columns(
    kind: type[ReleaseModel[Any, Any, Any]],
) -> None:
    schema = Schema((Column("got", "byte"),)).declare(
        got={"levels": [0, 1], "missing": [".", ".b"], "fate": "modelled"}
    )
    numbers = np.arange(900) % 3 - 1
    got = np.where(numbers < 0, 1.0, tagged(np.maximum(numbers, 0) * 2))
    data = pd.DataFrame({"got": got})
    frame = pl.DataFrame(
        {"got": [1.0 if k < 0 else None for k in numbers],
         "got__missing": [-1 if k < 0 else int(k) * 2 for k in numbers]}
    )  # fmt: skip
    first, second = (kind(d, schema).fit(3, rng=1).protected for d in (data, frame))
    pd.testing.assert_frame_equal(first, second)
    found = {MISSING_CODES[k] for k in missing_numbers(second["got"].to_numpy()) if k >= 0}
    assert found == {".", ".b"}


def test_a_warning_is_given_once_and_before_the_charge() -> None:
    from dprct.privacy.accountant import Accountant

    model = Marginals(table(20), small(), columns=["got", "arm", "age"])
    accountant = Accountant(1)
    with pytest.raises(DprctWarning, match="noise is large"):  # a warning is an error in tests
        model.fit(0.01, accountant=accountant)
    assert accountant.ledger == ()


def test_few_survivors_need_confirmation() -> None:
    model = MVHistogram(table(20), small(), columns=["got", "arm", "age"])
    with pytest.raises(ConfirmationError, match="confirm=True"):
        model.fit(0.5)
    with pytest.warns(DprctWarning, match="below t"):
        assert len(model.fit(0.5, confirm=True).protected) == 20


def test_a_domain_without_end_is_fast_and_exact_in_size() -> None:
    names = [f"v{k}" for k in range(80)]
    facts = {"bounds": (0, 9_999), "bins": 100, "missing": ["."], "fate": "modelled"}
    schema = Schema(tuple(Column(name, "int") for name in names)).declare(
        **dict.fromkeys(names, facts)
    )
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 10_000, (3, len(names)))[np.arange(2_000) % 3]
    data = pd.DataFrame(rows.astype(float), columns=names)
    start = time.process_time()
    model = MVHistogram(data, schema)
    with pytest.warns(DprctWarning, match="below t"):
        release = model.fit(4, confirm=True)
    assert time.process_time() - start < 60  # visiting 10^160 cells would not end
    assert cell_count(model.facts.sizes) == 101**80
    assert model.plan(4).value("K") == pytest.approx(101**80)
    release.schema.validate(release.protected)
    bins = release.protected.to_numpy() // 100
    assert len(np.unique(bins, axis=0)) >= 3


def test_public_columns_keep_missing_codes_that_stand_in_a_companion() -> None:
    """Polars has no NaN payloads: .b comes in beside the column."""
    facts = {"levels": [0, 1], "missing": "never", "fate": "modelled"}
    declared = Schema((Column("y", "byte"), Column("wave", "byte"))).declare(
        y=facts, wave={"fate": "public"}
    )
    data = pl.DataFrame({"y": [0, 1] * 20, "wave": [1, None] * 20, "wave__missing": [-1, 2] * 20})
    wave = MVHistogram(data, declared).fit(5, rng=1).protected["wave"].to_numpy()
    assert sorted(set(missing_numbers(wave).tolist())) == [-1, 2]


def test_a_companion_with_gaps_counts_as_the_door_read_it() -> None:
    """A plain pandas column of codes with a NaN among them once stopped fit after its charge."""
    facts = {"levels": [0, 1], "missing": [".", ".a"], "fate": "modelled"}
    declared = Schema((Column("y", "byte"),)).declare(y=facts)
    data = pd.DataFrame(
        {"y": [0.0, None, None, 1.0] * 100, "y__missing": [None, 1, None, -1] * 100}
    )
    y = MVHistogram(data, declared).fit(20).protected["y"].to_numpy()
    counts = np.unique(missing_numbers(y), return_counts=True)
    assert counts[0].tolist() == [-1, 0, 1]
    assert np.abs(counts[1] - [200, 100, 100]).max() < 20  # a count is off by 0.1, within 3 or so


def test_noise_that_no_sampler_draws_is_refused_before_the_charge() -> None:
    model = Marginals(table(), small(), columns=["got", "arm", "age"])
    accountant = Accountant(2, Fraction(1, 100))
    with pytest.raises(ParameterError, match="give a larger delta"):
        model.fit(1, 1e-40, accountant=accountant)
    assert accountant.ledger == ()
