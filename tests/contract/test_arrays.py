"""What is no number in an array is refused without being shown, whatever takes arrays."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct import published
from dprct.errors import DprctError
from papers import baselines

SECRET = "zebra-918273645"
X, T, Y = np.ones((4, 3)), np.tile([0.0, 1.0], 2), np.arange(4.0)
PATH = np.ones(3)
BOUNDED: dict[str, Any] = {"bounds": (0, 1), "x_bounds": (0, 1)}

TAKERS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "IPW": (dprct.IPW.from_arrays, (X, T, Y), BOUNDED),
    "published.IPW": (published.IPW.from_arrays, (X, T, Y), {}),
    "baselines.IPW": (baselines.IPW.from_arrays, (X, T, Y), {}),
    "SyntheticControl": (dprct.SyntheticControl.from_arrays, (X, PATH, 2), {"bound": (0, 1)}),
    "published.SyntheticControl": (
        published.SyntheticControl.from_arrays, (X, PATH, 2), {"bound": (0, 1)},
    ),
    "baselines.SyntheticControl": (baselines.SyntheticControl.from_arrays, (X, PATH, 2), {}),
}  # fmt: skip


def spoilt(values: Any, kind: str) -> Any:
    """Return values of which one is a person's text."""
    found = values.astype(object)
    found.flat[-1] = {"text": SECRET, "bytes": SECRET.encode(), "object": {"name": SECRET}}[kind]
    return found.tolist() if found.ndim == 1 else pd.DataFrame(found)


@pytest.mark.parametrize("kind", ["text", "bytes", "object"])
@pytest.mark.parametrize("name", TAKERS)
def test_no_refusal_of_an_array_shows_a_value(name: str, kind: str) -> None:
    taker, arrays, options = TAKERS[name]
    for place, values in enumerate(arrays):
        if not isinstance(values, np.ndarray):
            continue
        given = [*arrays[:place], spoilt(values, kind), *arrays[place + 1 :]]
        with pytest.raises(DprctError) as caught:
            taker(*given, **options)
        lines = traceback.TracebackException.from_exception(caught.value).format(chain=True)
        assert SECRET not in "".join(lines)


def test_whatever_takes_arrays_is_here() -> None:
    homes = {"": dprct, "published.": published, "baselines.": baselines}
    found = {
        words + name
        for words, home in homes.items()
        for name in getattr(home, "__all__", dir(home))
        if hasattr(getattr(home, name), "from_arrays")
    }
    assert found == {*TAKERS}
