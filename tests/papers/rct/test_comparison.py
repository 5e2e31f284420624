from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from papers.rct import liberia
from papers.rct.comparison import (
    adjusted_p,
    averages,
    compared_averages,
    compared_distributions,
    compared_regressions,
    distribution,
    measures,
)
from papers.rct.printed import Asked

if TYPE_CHECKING:
    from pathlib import Path

OWN = pd.DataFrame({"outcome": ["y"], "arm": ["t1"], "estimate": [5.2], "se": [0.1], "df": [1e9]})


def draws(estimates: list[float]) -> pd.DataFrame:
    several = pd.concat([OWN] * len(estimates), ignore_index=True)
    return several.assign(draw=range(len(estimates)), estimate=estimates)


def test_what_is_measured_of_a_release() -> None:
    found = measures(draws([5.2, 5.396, 9.0]), OWN, 5.0)
    np.testing.assert_allclose(found["overlap"], [1.0, 0.5, 0.0], atol=1e-4)
    np.testing.assert_allclose(found["difference"], [0.2, 0.396, 4.0])
    assert measures(draws([5.5]), OWN, None)["difference"].item() == pytest.approx(0.3)


def test_p_values_are_one_sided_and_bonferroni() -> None:
    t = pd.Series([2.0, -2.0, 0.1])
    found = adjusted_p(t, pd.Series(["fam_asb_lt", "arrested_ltav", "arrested_ltav"]))
    np.testing.assert_allclose(found, [3 * 0.0227501, 21 * 0.0227501, 1.0], rtol=1e-5)


def test_averages_are_of_runs_of_twenty() -> None:
    estimates = [5.0] * 19 + [7.0] + [6.0] * 20 + [100.0] * 5
    found = averages(measures(draws(estimates), OWN, 5.0))
    assert found.loc["tau", ["ours", "low", "high"]].tolist() == pytest.approx([5.55, 5.1, 6.0])
    # a median, which one outlier does not move; the last five are no whole run
    assert found.loc["difference", ["low", "high"]].tolist() == [0.0, 1.0]


def test_the_share_counts_ties_of_rounding_half() -> None:
    values = np.array([0.1, 0.2, 0.204, 0.3, np.nan])
    middle, _, _, share = distribution(values, 0.2, 2)
    assert middle == pytest.approx(0.202)
    assert share == 0.5
    assert np.isnan(distribution(np.empty(0), 0.2, 2)).all()


def test_methods_that_were_not_drawn_are_empty() -> None:
    key = Asked("sim1", "Table 1", "Hybrid", "1")
    page = compared_averages(1, {key: draws([5.2, 5.4])}, {"Table 1": OWN})
    there = page[page["ours"].notna()]
    assert len(there) == 3
    assert there["ours"].round(6).tolist()[0] == 5.3


def test_distributions_find_their_effect() -> None:
    arms = pd.MultiIndex.from_product([liberia.OUTCOMES, liberia.ARMS], names=["outcome", "arm"])
    own = pd.DataFrame({"estimate": 0.1, "se": 0.1, "df": 800.0}, index=arms).reset_index()
    own["estimate"] = np.arange(24) / 10
    several = pd.concat([own.assign(draw=k, estimate=own["estimate"] + k) for k in range(5)])
    key = Asked("liberia", "Subset", "Hybrid", "1")
    sets = dict.fromkeys(("Reduced Subset", "Subset", "Full Baseline"), own)
    page = compared_distributions(14, {key: several}, sets)
    there = page[page["ours"].notna()]
    assert set(there["panel"]) == {"Subset"}
    itt = there[there["measure"] == "itt"].set_index(["row", "arm"])["ours"]
    np.testing.assert_allclose(itt.reindex(arms), own["estimate"] + 2)


def test_tables_11_and_12_are_the_papers(shared: Path) -> None:
    path = liberia.find(shared / "data" / "liberia")
    assert path is not None
    data = liberia.read(path)
    assert compared_regressions(11, data)["same"].tolist() == [True] * 80
    assert compared_regressions(12, liberia.slipped(data))["same"].tolist() == [True] * 216
    removed = compared_regressions(12, data[liberia.slipped(data)[liberia.PARTNERS].eq(1)])
    assert (~removed["same"]).sum() == 53  # without the record that appendix B.3 says is removed
    mended = compared_regressions(12, liberia.corrected(data))
    assert (~mended["same"]).groupby(mended["panel"]).sum().to_dict() == {
        "Reduced Subset": 0,
        "Subset": 0,
        "Full Baseline": 25,
    }
