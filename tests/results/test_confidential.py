from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass

import pandas as pd
import pytest

from dprct.errors import DisclosureError, DprctWarning
from dprct.results.confidential import WATERMARK, Confidential, caution, is_confidential, marked


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
