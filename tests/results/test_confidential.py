from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from dprct.errors import DisclosureError, DprctWarning, ModelPicklingError
from dprct.results.base import (
    WATERMARK,
    Confidential,
    HoldsRows,
    caution,
    is_confidential,
    marked,
)

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Report(Confidential):
    number: float = 0.5


@pytest.mark.parametrize("holder", [lambda r: r, lambda r: {"estimates": r}, lambda r: [r, r]])
def test_a_report_does_not_leave_the_process(holder: object) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(DisclosureError, match="a Report is confidential"):
            pickle.dumps(holder(Report()), protocol)  # type: ignore[operator]
    with pytest.raises(DisclosureError):
        copy.deepcopy(Report())


class Model(HoldsRows):
    def __init__(self) -> None:
        self.rows = [0.5]

    def fit(self) -> None:
        """Stay here."""


WAYS: dict[str, Callable[[Model], object]] = {
    **{f"protocol {k}": partial(pickle.dumps, protocol=k) for k in range(6)},
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "inside": lambda model: pickle.dumps({"a": [model]}),
    "its method": lambda model: pickle.dumps(model.fit),
    "reduced": lambda model: model.__reduce__(),
    "its state": lambda model: model.__getstate__(),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_model_leaves_on_no_way(way: str) -> None:
    with pytest.raises(ModelPicklingError, match="Model holds confidential rows"):
        WAYS[way](Model())


def test_reports_and_their_frames_are_known() -> None:
    frame = marked(pd.DataFrame({"overlap": [0.5, 0.7]}))
    assert frame.attrs == {"dprct": WATERMARK}
    for thing in (Report(), frame, frame[frame["overlap"] > 0.6], frame.copy()):
        assert is_confidential(thing)
    for thing in (None, 0.5, pd.DataFrame({"overlap": [0.5]}), Report):
        assert not is_confidential(thing)


def test_the_caution_points_at_the_caller() -> None:
    def tool() -> None:
        caution()

    with pytest.warns(DprctWarning, match="is itself a disclosure") as seen:
        tool()
    assert seen[0].filename == __file__
