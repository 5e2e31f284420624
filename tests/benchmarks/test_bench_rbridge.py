"""How long 100,000 rows by 50 columns take to cross from R and back; the baseline is R's copy.

The issue asks for under two seconds.  On two cores of 2026 it took, there and back: doubles 0.2 s,
text of 50 distinct values 0.9 s, labelled columns with tagged missing values 0.3 s; a call without
data 1 ms.
"""

from __future__ import annotations

import pytest

from dprct.rbridge.files import r_is_here

GROUP = "crossing, 100,000 x 50"
COLUMNS = {
    "doubles": "rnorm(1e5)",
    "text of 50 distinct values": "sample(paste0('v', 1:50), 1e5, TRUE)",
    "labelled, tagged": (
        "{tagged <- readBin(as.raw(c(162, 7, 0, 0, 97, 0, 248, 127)), 'double'); "
        "structure(sample(c(1, 2, tagged), 1e5, TRUE), labels = c(a = 1, b = 2), "
        "class = c('haven_labelled', 'vctrs_vctr', 'double'))}"
    ),
}


@pytest.fixture(scope="module")
def evaluate():
    if not r_is_here():
        pytest.skip("needs R and rpy2; see scripts/r-for-tests")
    from dprct.rbridge.attach import attach
    from dprct.rbridge.convert import call_r

    session = attach()

    def evaluate(code):
        expression = session.base("str2expression")(session.ri.StrSexpVector([code]))
        return call_r(session.base("eval"), expression, session.ri.globalenv)

    return evaluate


@pytest.fixture(params=list(COLUMNS))
def frame(request, evaluate):
    column = COLUMNS[request.param]
    return evaluate(
        f"structure(lapply(1:50, function(i) {column}), names = paste0('x', 1:50), "
        "row.names = 1:100000, class = 'data.frame')"
    )


@pytest.mark.benchmark(group=GROUP)
def test_there_and_back(benchmark, frame):
    from dprct.rbridge.convert import from_r, to_r

    back = benchmark.pedantic(lambda: to_r(from_r(frame)), rounds=5, warmup_rounds=1)
    assert len(back) == 50


@pytest.mark.benchmark(group=GROUP)
def test_baseline_copy_in_r(benchmark, evaluate):
    evaluate("x <- as.data.frame(lapply(1:50, function(i) rnorm(1e5)))")
    assert benchmark(lambda: evaluate("{y <- lapply(x, function(v) v + 0); length(y)}"))[0] == 50
