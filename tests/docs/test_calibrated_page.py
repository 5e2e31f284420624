"""The numbers on the page about calibrated files are those that the package plans."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dprct import Calibrated, Column, PrivateATE, Schema, read_dta
from dprct.cli.demo import demo_file

PAGE = Path(__file__).resolve().parents[2] / "docs" / "calibrated.md"
TEXT = " ".join(PAGE.read_text("utf-8").split())
LIBERIA = {"control": 204, "tpassonly": 264, "cashassonly": 240, "tpcashass": 239}


def liberia(outcomes: int) -> PrivateATE:
    """Return a fit with the public facts of the therapy experiment."""
    arms = list(LIBERIA)[1:]
    arm = np.repeat(np.arange(4), list(LIBERIA.values()))
    names = [f"y{k}" for k in range(outcomes)]
    data = pd.DataFrame({name: np.zeros(len(arm)) for name in names})
    for k, name in enumerate(arms, 1):
        data[name] = (arm == k) * 1.0
    columns = [Column(name, bounds=(-2, 6), sd=1.0, missing=()) for name in names]
    columns += [Column(name, levels=(0.0, 1.0), missing=()) for name in arms]
    return PrivateATE(data, Schema(tuple(columns)), outcome=names, treatment=arms)


def nsw(levels: tuple[float, ...]) -> PrivateATE:
    facts: dict[str, Any] = {
        "re78": {"bounds": (0, 40_000), "sd": 6500, "missing": "never"},
        "treat": {"levels": [0, 1], "missing": "never"},
    }
    schema = Schema.from_dta(demo_file("nsw_mixtape.dta")).declare(confirm_header=True, **facts)
    data, schema = read_dta(demo_file("nsw_mixtape.dta"), schema)
    data["re78"] = data["re78"].clip(0, 40_000)
    return PrivateATE.from_formula("re78 ~ treat", data, schema, alphas=levels)


def test_the_price_of_several_outcomes() -> None:
    one, eight = liberia(1).power(1), liberia(8).power(0.5)
    assert one["noise"].to_numpy() == pytest.approx(0.10, abs=0.005)
    assert eight["noise"].round(1).isin([0.8]).all()
    assert one["sampling"].to_numpy() == pytest.approx(0.09, abs=0.006)
    assert "| one primary outcome, nothing on covariates | .10 |" in TEXT
    assert "| eight outcomes, half of epsilon on covariates | .80 |" in TEXT


def test_the_price_of_levels() -> None:
    for epsilon, numbers in ((1, (830, 869, 903)), (4, (664, 681, 697))):
        found = [
            nsw(levels).power(epsilon)["std_err"].iloc[0]
            for levels in ((0.05,), (0.05, 0.01), (0.05, 0.05 / 21))
        ]
        assert [round(error) for error in found] == pytest.approx(numbers, abs=1)
    assert "from 830 to 869 at epsilon = 1, and from 664 to 681 at epsilon = 4" in TEXT
    assert "to 903 and 697" in TEXT


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", PAGE.read_text("utf-8"))
    assert links
    assert [link for link in links if not (PAGE.parent / link).exists()] == []


def test_options_of_the_page_are_options() -> None:
    for option in re.findall(r"`(gamma|legal|covariates)=\"(\w+)\"`", TEXT):
        name, value = option
        assert f'"{value}"' in str(Calibrated.__doc__), name
