from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dprct.privacy.budget import Guarantee
from dprct.rbridge.api.results import guarantee_record, other_record, result_record
from dprct.rbridge.convert import Matrix, Record, Table
from dprct.rbridge.registry import exported

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_an_estimate_has_all_that_its_methods_in_r_need(effect: Any) -> None:
    result = effect.method.fit(1.0, rng=1)
    record = result_record(result)
    assert record.classes == ("dprct_private", "dprct_estimate")
    assert record.live.params.equals(result.params)
    fields = record.fields
    pd.testing.assert_series_equal(fields["coefficients"], result.params)
    assert isinstance(fields["vcov"], Matrix)
    assert fields["vcov"].rows == list(result.params.index)
    assert fields["text"] == result.summary()
    assert "tabular" in exported("result_view")(record.live, "latex")
    assert not fields["guarantee"].fields["holds"]


def test_a_release_carries_its_file_and_its_estimates(release: Record) -> None:
    assert release.classes == ("dprct_release",)
    table = release.fields["protected"]
    assert isinstance(table, Table)
    assert table.attach
    assert table.like is None
    assert release.fields["guarantee"].fields["epsilon"] == 1.0
    assert release.fields["estimates"].classes[-1] == "dprct_estimate"
    assert release.fields["plan"].fields["text"].startswith("Plan")


def test_a_guarantee_of_nothing_says_why() -> None:
    fields = guarantee_record(Guarantee.none("it is a test")).fields
    assert (fields["holds"], fields["epsilon"]) == (False, None)
    assert "it is a test" in fields["text"]


def test_a_result_without_some_views_has_none_of_them() -> None:
    class Bare:
        guarantee = Guarantee.none("it is a test")
        att = 1.5

        def summary(self) -> str:
            return "text"

    fields = other_record(Bare()).fields
    assert (fields["att"], fields["text"]) == (1.5, "text")
    assert fields["tidy"] is None
    assert exported("result_view")(Bare(), "latex") is None
    assert fields["glance"].to_dict("list") == {"guarantee": ["none"]}


def plain(value: Any) -> Iterator[Any]:
    """Everything of a record that stays in R when it is saved."""
    for item in value.fields.values() if isinstance(value, Record) else [value]:
        if isinstance(item, Record):
            yield from plain(item)
        else:
            yield item


def test_what_r_saves_of_a_fit_holds_no_confidential_row(nsw: Table, design: Any) -> None:
    nsw.data.loc[:2, "re78"] = np.float32([31415.9265, 27182.8182, 14142.1356])
    model = exported("model")("PrivateATE", nsw, {"assignment": design}, "re78 ~ treat")
    result = exported("fit")(model.live, 1.0)
    kept = b"".join(pickle.dumps(list(plain(record))) for record in (model, result))
    for secret in nsw.data["re78"].to_numpy()[:3]:
        assert secret.tobytes() not in kept
        assert secret.tobytes()[::-1] not in kept
    row = float(nsw.data["re78"].to_numpy()[0])
    assert np.float64(row).tobytes()[::-1] in pickle.dumps(row)
