from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import dprct
from dprct.errors import ParameterError
from dprct.io.paths import path_of
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable

DATA, SCHEMA = (
    pd.DataFrame({"got": [0.0, 1.0] * 50}),
    Schema((Column("got", "byte", levels=(0.0, 1.0), missing=(), fate="modelled"),)),
)


def released() -> Any:
    return dprct.Marginals(DATA, SCHEMA).fit(1)


def test_names_and_paths_are_paths() -> None:
    assert path_of("a.dta") == path_of(Path("a.dta")) == Path("a.dta")


@pytest.mark.parametrize(
    "ask",
    [
        path_of,
        dprct.read,
        dprct.read_dta,
        dprct.verify,
        lambda path: dprct.write_dta(DATA, SCHEMA, path),
        lambda path: dprct.compare(path, path),
        lambda path: released().write_dta(path),
    ],
    ids=["path_of", "read", "read_dta", "verify", "write_dta", "compare", "release"],
)
@pytest.mark.parametrize("wrong", [5, None, DATA])
def test_what_is_no_file_name_is_refused_by_its_type(
    ask: Callable[[Any], Any], wrong: object
) -> None:
    with pytest.raises(ParameterError, match=f"got {type(wrong).__name__}"):
        ask(wrong)
