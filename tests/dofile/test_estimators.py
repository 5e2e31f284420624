"""What a row says of an estimation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dprct.dofile import KEYS

if TYPE_CHECKING:
    from collections.abc import Callable

    from dprct.dofile import Reading

RIGHT = ("t", "x")


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("reg y t x", {"command": "regress", "regressors": RIGHT, "vce": "classical"}),
        ("regress y t x, r", {"vce": "robust", "cluster": ()}),
        ("reg y t x, rob cl(v)", {"vce": "cluster", "cluster": ("v",)}),
        ("reg y t, vce(cluster v)", {"vce": "cluster", "cluster": ("v",)}),
        ("reg y t, vce(robust)", {"vce": "robust"}),
        ("reg y t, vce(hc3)", {"vce": "hc3"}),
        ("reg y t, vce(bootstrap, reps(50))", {"vce": "bootstrap"}),
        ("reg y t [aw=w]", {"weights": "aweight=w"}),
        ("reg y t [pweight = w*2], r", {"weights": "pweight=w*2"}),
        ("areg y t x, a(v) cluster(v)", {"absorb": ("v",), "cluster": ("v",)}),
        (
            "reghdfe y t x, absorb(a b, save) vce(cluster c d)",
            {"absorb": ("a", "b"), "cluster": ("c", "d")},
        ),
        ("reghdfe y t, a(f=a#b)", {"absorb": ("a#b",)}),
        ("xtreg y t, fe i(id)", {"command": "xtreg", "absorb": ("id",)}),
        ("xtset id year\nxtreg y t, fe", {"absorb": ("id",)}),
        ("xtreg y t, re i(id)", {"absorb": (), "note": "random effects"}),
        (
            "ivregress 2sls y x (d = z1 z2), r",
            {
                "outcome": "y",
                "regressors": ("d", "x"),
                "endogenous": ("d",),
                "instruments": ("z1", "z2"),
            },
        ),
        ("ivreg y (d e = z x) x", {"regressors": ("d", "e", "x"), "instruments": ("z",)}),
        ("ivreg2 y (d=z) x, cluster(v)", {"command": "ivreg2", "cluster": ("v",)}),
        ("ivreghdfe y (d=z), a(v)", {"absorb": ("v",), "instruments": ("z",)}),
        ("dprobit y t x", {"command": "dprobit", "regressors": RIGHT}),
        ("oprob y t x", {"command": "oprobit"}),
        ("tobit y t x, ll(0) vce(cluster v)", {"command": "tobit", "cluster": ("v",)}),
        ("intreg lo hi t x", {"outcome": ["lo", "hi"], "regressors": RIGHT}),
        ("qreg y t x, q(.9)", {"note": "quantile .9"}),
        ("heckman y t x, select(s = z)", {"note": "selection: s = z"}),
        (
            "ttest y, by(t) unequal",
            {"outcome": "y", "regressors": ("t",), "note": "unequal variances"},
        ),
        ("ttest a == b", {"outcome": "a", "note": "compared with b"}),
        ("ranksum y, by(t)", {"regressors": ("t",)}),
        ("ate y t x", {"outcome": "y", "regressors": RIGHT}),
        ("mlogit y t x, b(1)", {"command": "mlogit", "regressors": RIGHT}),
        ("brl y t x, cluster(v)", {"command": "brl", "cluster": ("v",)}),
        ("reg y t x if a==1 & b>2", {"sample": "a==1 & b>2"}),
        ("reg y t in 1/50", {"sample": "in 1/50"}),
        ("bysort g: reg y t", {"note": "once for each value of g"}),
        ("bootstrap, reps(9) cluster(v): reg y t", {"vce": "bootstrap", "cluster": ("v",)}),
        ("svyset v [pw=w]\nsvy: reg y t", {"vce": "svy", "weights": "pweight=w"}),
        ("xi: reg y t i.v*x", {"regressors": ("t", "i.v##c.x")}),
        ("xi: reg y t i.v*i.w", {"regressors": ("t", "i.v##i.w")}),
        ("encode s, gen(v)\nreg y t i.v", {"regressors": ("t", "i.s")}),
        ("encode s, gen(v)\nreg y t v", {"regressors": ("t", "v")}),
        ("encode s, gen(v)\nareg y t, absorb(v) cluster(v)", {"absorb": ("s",), "cluster": ("s",)}),
        ("encode s, gen(v)\nreplace s = q\nreg y t i.v", {"regressors": ("t", "i.v")}),
        ("encode s if a==1, gen(v)\nreg y t i.v", {"regressors": ("t", "i.v")}),
        ("encode s if a==1, gen(v)\nreg y t i.v if a == 1", {"regressors": ("t", "i.s")}),
        ("egen g = group(a b), label\nreg y t i.g", {"regressors": ("t", "i.a##i.b")}),
        ("egen g = group(a b), missing\nreg y t i.g", {"regressors": ("t", "i.g")}),
        (
            "egen g = group(a b) if y < .\ntab g if y<., gen(g)\nreg y t g2-g9",
            {"regressors": ("t", "i.a##i.b")},
        ),
        (
            "tab v if x<. & a==1, gen(d)\nreg y t d2-d9 if a==1",
            {"regressors": ("t", "i.v"), "numbered": ("x",)},
        ),
        ("tab v if y<., gen(d)\nreg y t d2-d9", {"regressors": ("t", "i.v"), "numbered": ()}),
        ("tab v if a==1, gen(d)\nreg y t d2-d9", {"regressors": ("t", "d2-d9"), "numbered": ()}),
        ("tab v, gen(d)\nreplace v = 1\nreg y t d2-d9", {"regressors": ("t", "d2-d9")}),
        ("reg y i.t##c.x z1 - z4", {"regressors": ("i.t##c.x", "z1-z4")}),
        ("stcox t x", {"command": "stcox", "outcome": "", "status": "unread"}),
        ("use a\nreg y t", {"dataset": "a.dta", "status": "read"}),
    ],
)
def test_what_a_row_says(read: Callable[..., Reading], text: str, facts: dict[str, Any]) -> None:
    (row,) = read(text)
    assert {name: getattr(row, name) for name in facts} == facts


def test_showing_the_last_results_again_is_no_estimation(read: Callable[..., Reading]) -> None:
    assert len(read("reg y t\nreg\nreg, level(90)\nprobit, nolog")) == 1


def test_stored_estimates(read: Callable[..., Reading]) -> None:
    text = "reg a t x\nest store m1\nqui reg b t z\nestimates store m2\nsuest m1 m2, cluster(v)"
    row = read(text)[-1]
    assert row.outcome == ["a", "b"]
    assert row.regressors == ("t", "x", "z")
    assert (row.vce, row.cluster, row.status) == ("cluster", ("v",), "read")
    assert read("suest m9")[0].status == "unread"


def test_tables_come_from_comments_and_from_using(read: Callable[..., Reading]) -> None:
    text = (
        "eststo a: reg y t\neststo b: reg z t\nreg w t\n"
        'esttab a b using "out/results.tex", replace\n'
        "reg v t\noutreg2 using other.doc\n* Table 5 - all\nreg u t\n"
    )
    assert [row.table for row in read(text)] == [
        "results.tex", "results.tex", "", "other.doc", "Table 5",
    ]  # fmt: skip
    assert read("* Table 5\nreg u t")[0].note == "Table 5"


def test_treatments_are_followed_through_what_is_made_of_them(
    read: Callable[..., Reading],
) -> None:
    text = "gen tf = treat*female\ngen tf2 = tf + 1\nreg y tf2 c.treat#c.age age tfemale"
    (row,) = read(text, treatment="treat")
    assert row.treatments == ("tf2", "c.treat#c.age")
    assert row.derived == {"tf2": "tf + 1"}


def test_json_has_exactly_the_keys_that_were_agreed(read: Callable[..., Reading]) -> None:
    row = read("reg y t x, cluster(v)")[0].to_dict()
    assert tuple(row) == KEYS
    assert KEYS == (
        "file", "line", "command", "outcome", "regressors", "treatments", "endogenous",
        "instruments", "absorb", "sample", "weights", "vce", "cluster", "dataset", "status", "note",
    )  # fmt: skip
    assert json.loads(json.dumps(row)) == row
    assert row["regressors"] == ["t", "x"]


def test_clusters_effects_and_instruments_may_be_made_too(read: Callable[..., Reading]) -> None:
    text = """
        gen cell = school*form
        gen block = int(school/100)
        gen z = offer*near
        areg y t x, absorb(block) cluster(cell)
        ivregress 2sls y x (t = z)
    """
    first, second = read(text)
    assert first.derived == {"block": "int(school/100)", "cell": "school*form"}
    assert second.derived == {"z": "offer*near"}
