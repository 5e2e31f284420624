"""What R users get is what Python users get: the same calls, files and seeds, number by number."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dprct

if TYPE_CHECKING:
    from collections.abc import Callable

BEFORE = """
facts <- declare(schema(FILE),
  re78 = list(bounds = c(0, 70000), sd = 6500, missing = "never", fate = "modelled"),
  treat = list(levels = 0:1, missing = "never", fate = "public"),
  black = list(levels = 0:1, missing = "never"), age = list(bounds = c(16, 60), missing = "never"),
  confirm_header = TRUE)
data <- read_dta(FILE, facts)
coded <- declare(data, treat = list(fate = "modelled"), black = list(fate = "modelled"),
  re78 = list(fate = "drop"))
half <- design_complete("treat", shares = 185 / 445)
rest <- function(d) declare(d, rest = "drop")
"""

CALLS_IN_R = {
    "ols": "coef(ols(re78 ~ treat * age + factor(educ), data))",
    "ols, clusters": "ols(re78 ~ treat, data, cluster = 'educ')$std.error",
    "itt_table": "tidy(itt_table(data, c('re78', 're75'), 'treat', covariates = 'age'))$p.value",
    "itt_table, resampled": """tidy(itt_table(data, c('re78', 're75'), 'treat',
        adjust = 'romano-wolf', draws = 100, rng = 4))$p.adjusted""",
    "private_ate": "coef(fit(private_ate(re78 ~ treat, data, assignment = half), 1, rng = 7))",
    "private_ate, interval": """as.vector(confint(
        fit(private_ate(re78 ~ treat, data, assignment = half), 0.5, rng = 8), level = 0.9))""",
    "mv_histogram": """sapply(protected(fit(mv_histogram(~ treat + black, rest(coded)), 1, rng = 9,
        confirm = TRUE)), sum)""",
    "marginals": """sapply(protected(fit(marginals(~ treat + black, rest(coded)), 1, rng = 9,
        confirm = TRUE)), sum)""",
    "calibrated": """sapply(protected(fit(calibrated(re78 ~ treat, rest(data), treatment = 'treat',
        assignment = half, covariate_release = 'filler'),
        1, rng = 10)), sum)""",
    "assign_arms": "which(assign_arms(half, data, rng = 11)$treat == 1)",
    "plan": "plan(private_ate(re78 ~ treat, data, assignment = half), 1)$epsilon",
}

FACTS: dict[str, Any] = {
    "re78": {"bounds": (0, 70000), "sd": 6500, "missing": "never", "fate": "modelled"},
    "treat": {"levels": [0, 1], "missing": "never", "fate": "public"},
    "black": {"levels": [0, 1], "missing": "never"},
    "age": {"bounds": (16, 60), "missing": "never"},
}


class InPython:
    """The same calls."""

    def __init__(self, path: Path) -> None:
        self.schema = dprct.Schema.from_dta(path).declare(confirm_header=True, **FACTS)
        self.data, self.schema = dprct.read_dta(path, self.schema)
        fates = {
            "treat": {"fate": "modelled"},
            "black": {"fate": "modelled"},
            "re78": {"fate": "drop"},
        }
        self.coded = self.schema.declare(**fates).declare_rest("drop")
        self.rest = self.schema.declare_rest("drop")
        self.half = dprct.Complete("treat", shares=185 / 445)

    def ate(self) -> dprct.PrivateATE:
        return dprct.PrivateATE.from_formula(
            "re78 ~ treat", self.data, self.schema, assignment=self.half
        )

    def sums(self, method: Any) -> Any:
        model = method.from_formula("~ treat + black", self.data, self.coded)
        return model.fit(1, rng=9, confirm=True).protected.sum()

    def calibrated(self) -> Any:
        model = dprct.Calibrated.from_formula(
            "re78 ~ treat", self.data, self.rest, treatment="treat", assignment=self.half,
            covariate_release="filler",
        )  # fmt: skip
        return model.fit(1, rng=10).protected.sum()

    def table(self, **options: Any) -> Any:
        return dprct.itt_table(
            self.data, self.schema, outcomes=["re78", "re75"], arms=["treat"], **options
        ).tidy()

    def calls(self) -> dict[str, Callable[[], Any]]:
        data, schema = self.data, self.schema
        return {
            "ols": lambda: dprct.ols("re78 ~ treat * age + C(educ)", data, schema).params,
            "ols, clusters": lambda: dprct.ols("re78 ~ treat", data, schema, cluster="educ").bse,
            "itt_table": lambda: self.table(covariates=["age"])["p.value"],
            "itt_table, resampled": lambda: self.table(adjust="romano-wolf", draws=100, rng=4)[
                "p.adjusted"
            ],
            "private_ate": lambda: self.ate().fit(1, rng=7).params,
            "private_ate, interval": lambda: (
                self.ate().fit(0.5, rng=8).conf_int(1 - 0.9).to_numpy().ravel("F")
            ),
            "mv_histogram": lambda: self.sums(dprct.MVHistogram),
            "marginals": lambda: self.sums(dprct.Marginals),
            "calibrated": self.calibrated,
            "assign_arms": lambda: np.flatnonzero(self.half.assign(data, 11)["treat"] == 1) + 1,
            "plan": lambda: [float(self.ate().plan(1).budget.epsilon)],
        }


@pytest.fixture(scope="module")
def nsw(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, since what is opened is remembered next to the file."""
    return Path(shutil.copy(checkout / "data" / "nsw_mixtape.dta", tmp_path_factory.mktemp("nsw")))


@pytest.fixture(scope="module")
def in_r(host: Any, nsw: Path) -> dict[str, list[float]]:
    """Results of all calls in R, exactly: as the hexadecimal text of doubles."""
    calls = "\n".join(
        f'cat("{name}", sprintf("%a", as.double(unname({code}))), sep = "|"); cat("\\n")'
        for name, code in CALLS_IN_R.items()
    )
    file = json.dumps(str(nsw))
    run = host.run(BEFORE.replace("FILE", file) + calls)
    assert run.returncode == 0, run.stderr
    lines = [line.split("|") for line in run.stdout.splitlines() if "|" in line]
    return {name: [float.fromhex(number) for number in numbers] for name, *numbers in lines}


@pytest.mark.parametrize("name", CALLS_IN_R)
def test_the_same_call_gives_the_same_numbers(
    name: str, in_r: dict[str, list[float]], nsw: Path
) -> None:
    here = InPython(nsw).calls()[name]()
    numbers = [float(number) for number in np.asarray(here).ravel()]
    assert numbers
    assert in_r[name] == numbers
