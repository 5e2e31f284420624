"""The R package as its users and CRAN see it: its own tests, and the check of the whole package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import dprct
from dprct import custodian, published
from dprct.rbridge import api as api  # registers what R calls
from dprct.rbridge.dialect import FUNCTIONS
from dprct.rbridge.registry import _exports
from dprct.study.methods import BY_NAME, r_name

if TYPE_CHECKING:
    from pathlib import Path

TESTS = """
found <- as.data.frame(testthat::test_dir(
  TESTS, package = "dprct", reporter = "summary", stop_on_failure = FALSE, load_package = "none"))
cat("bad:", sum(found$failed) + sum(found$error), "passed:", sum(found$passed), "\\n")
"""


def test_the_tests_of_the_r_package_pass(host: Any, checkout: Path) -> None:
    folder = checkout / "r-wrapper" / "tests" / "testthat"
    run = host.run(TESTS.replace("TESTS", f'"{folder}"'), NOT_CRAN="true", DPRCT_REQUIRE_R="1")
    assert run.returncode == 0, run.stderr
    bad, passed = re.findall(r"bad: (\d+) passed: (\d+)", run.stdout)[0]
    assert bad == "0", run.stdout
    assert int(passed) > 200


def test_the_lines_of_the_readme_run(host: Any, checkout: Path, tmp_path: Path) -> None:
    readme = (checkout / "README.md").read_text("utf-8")
    (lines,) = re.findall(r"^```r\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)
    run = host.run(f'setwd("{tmp_path.as_posix()}")\n{lines}')
    assert run.returncode == 0, run.stderr
    assert "treat" in run.stdout
    assert (tmp_path / "nsw_protected.certificate.json").exists()


def test_the_first_lines_of_the_packages_own_readme_run(host: Any, checkout: Path) -> None:
    readme = (checkout / "r-wrapper" / "README.md").read_text("utf-8")
    lines = re.findall(r"^```r\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)[0]
    # it is installed: only that it is called after library() is left to see
    stand_in = "install_dprct <- function() stopifnot('package:dprct' %in% search())\n"
    run = host.run(f"detach('package:dprct')\n{stand_in}{lines}")
    assert run.returncode == 0, run.stderr
    assert "TRUE" in run.stdout


def test_the_worked_example_of_the_packages_readme_runs(host: Any, checkout: Path) -> None:
    readme = (checkout / "r-wrapper" / "README.md").read_text("utf-8")
    lines = re.findall(r"^```r\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)[1]
    (python,) = re.findall(r"^```python\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)
    compile(python, "README.md", "exec")
    run = host.run(
        f"local({{\n{lines}\nprint(coef(ols(mpg ~ wt, mtcars)))\n}}, "
        "envir = new.env(parent = asNamespace('dprct')))"
    )
    assert run.returncode == 0, run.stderr
    assert "37.28" in run.stdout


def _code(text: str, fence: str) -> list[str]:
    """Return the lines of R in a vignette, without their output and what it does not show."""
    chunks = re.findall(rf"^```{fence}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    lines = [line for chunk in chunks for line in chunk.splitlines()]
    return [line for line in lines if line.strip() and not line.startswith(("#>", "knitr::opts"))]


@pytest.mark.parametrize(
    ("name", "outputs"), [("dprct", 40), ("from_r", 40), ("coming_from_DPrct", 30)]
)
def test_the_vignettes_are_their_sources_with_output(
    checkout: Path, name: str, outputs: int
) -> None:
    page = checkout / "r-wrapper" / "vignettes" / f"{name}.Rmd"
    source, shown = page.with_suffix(".Rmd.orig").read_text(), page.read_text()
    visible = re.sub(r"^```\{r[^\n]*include = FALSE\}\n.*?^```$", "", source, flags=re.S | re.M)
    assert _code(visible, r"\{r[^\n]*\}") == _code(shown, "r")
    assert shown.count("\n#>") > outputs
    assert "```{r" not in shown


def test_without_python_users_learn_what_to_run(host: Any) -> None:
    run = host.run(
        "tryCatch(ols(y ~ x, data.frame(y = 1:3, x = 1:3)),"
        "  dprct_python_unavailable_error = function(e) cat(conditionMessage(e)))",
        DPRCT_PYTHON="/nowhere/python",
    )
    assert "does not exist" in run.stdout
    assert "install_dprct()" in run.stdout
    assert "Traceback" not in run.stdout + run.stderr


def test_every_export_is_documented_and_tested(checkout: Path) -> None:
    package = checkout / "r-wrapper"
    exports = re.findall(r"^export\((.+)\)$", (package / "NAMESPACE").read_text(), re.MULTILINE)
    pages = "".join(page.read_text() for page in (package / "man").glob("*.Rd"))
    tests = "".join(test.read_text() for test in (package / "tests").rglob("*.R"))
    reference = (package / "_pkgdown.yml").read_text()
    assert len(exports) > 40
    assert [name for name in exports if f"\\alias{{{name}}}" not in pages] == []
    called = [name for name in exports if not re.search(rf"\b{re.escape(name)}\b", tests)]
    assert set(called) <= {"dprct_config", "install_dprct"}
    assert "designs" in reference


ONLY_FOR_TESTS = {"identity", "describe_value"}
IN_R_BY_ITSELF = {
    "logit": "glm()", "probit": "glm()", "poisson": "glm()", "etable": "modelsummary()",
    "balance_table": "datasummary_balance()",
}  # fmt: skip
OTHERWISE = {
    "Budget": "epsilon", "Column": "declare", "Guarantee": "guarantee", "Moments": "read_moments",
    "Regression": "regression", "Release": "protected", "Table": "itt_table", "Unit": "declare",
    "compare": "compare_data", "published.DPRange": "published_range",
    "published.DPVariance": "published_variance", "published.Gaussian": "published_gaussian",
    "published.Laplace": "published_laplace",
    "published.RandomizedResponse": "published_randomized_response",
    "custodian.RiskReport": "risk", "custodian.UtilityReport": "utility",
}  # fmt: skip
"""Classes of Python's, and what makes or takes them in R."""
ONLY_THEORY = {"Allocation", "ControlError", "SignRisk", "parallel_delta", "parallel_tradeoff"}
"""Of :mod:`dprct.published`: how the papers divide budgets and state risks, for `papers/`."""


def test_r_calls_every_function_that_python_offers_it_and_no_other(checkout: Path) -> None:
    code = "".join(p.read_text("utf-8") for p in (checkout / "r-wrapper" / "R").glob("*.R"))
    called = {*re.findall(r'\b(?:dprct_call|study_call)\(\s*"(\w+)"', code), "ci_overlap"}
    offered = {name for name, function in _exports.items() if "test" not in function.__module__}
    assert called == offered - ONLY_FOR_TESTS


def test_every_public_name_has_its_function_in_r(checkout: Path) -> None:
    package = checkout / "r-wrapper"
    exports = set(re.findall(r"^export\((.+)\)$", (package / "NAMESPACE").read_text(), re.M))
    names = [
        *(name for name in dprct.__all__ if not name.startswith("__")),
        *(f"published.{name}" for name in published.__all__ if name not in ONLY_THEORY),
        *(f"custodian.{name}" for name in custodian.__all__),
    ]
    plain = {n: FUNCTIONS.get(n, n.rpartition(".")[2]) for n in names} | OTHERWISE
    found = {n: r_name(BY_NAME[n]) if n in BY_NAME else plain[n] for n in names}
    there = exports | {"epsilon"}
    assert {n for n, function in found.items() if function not in there} == set(IN_R_BY_ITSELF)
    readme = (package / "README.md").read_text("utf-8")
    assert [said for said in IN_R_BY_ITSELF.values() if said not in readme] == []


def test_every_function_of_r_is_called_in_an_example(checkout: Path) -> None:
    package = checkout / "r-wrapper"
    exports = re.findall(r"^export\((.+)\)$", (package / "NAMESPACE").read_text(), re.MULTILINE)
    shown = "".join(
        "".join(re.findall(r"^\\examples\{\n(.*?)^\}$", page.read_text(), re.DOTALL | re.MULTILINE))
        for page in (package / "man").glob("*.Rd")
    )
    assert [name for name in exports if not re.search(rf"\b{re.escape(name)}\(", shown)] == []


@pytest.mark.audit
def test_a_table_of_a_paper_is_made_anew_from_r(host: Any, checkout: Path, tmp_path: Path) -> None:
    run = host.run(
        f'found <- replication("rct", "{tmp_path}/a b", 1, 1, checkout = "{checkout}")\n'
        "cat(found$tables$table_01$printed[1L], grepl('printed and ours', found$text))"
    )
    assert run.stdout == "5.21 TRUE", run.stderr


def test_the_examples_of_the_manual_are_those_of_the_code(checkout: Path) -> None:
    package = checkout / "r-wrapper"
    code = "".join(path.read_text("utf-8") for path in sorted((package / "R").glob("*.R")))
    comments = re.sub(r"^#' ?", "", code, flags=re.MULTILINE)
    pages = {page.name: page.read_text("utf-8") for page in (package / "man").glob("*.Rd")}
    shown = {
        name: re.sub(r"\\([%\\])", r"\1", found[1]).strip()
        for name, page in pages.items()
        if (found := re.search(r"^\\examples\{\n(.*?)^\}$", page, re.DOTALL | re.MULTILINE))
    }
    assert len(shown) > 20
    assert [name for name, lines in shown.items() if lines not in comments] == []


@pytest.mark.audit
def test_the_package_passes_its_check(rscript: str, checkout: Path, tmp_path: Path) -> None:
    command = [rscript.removesuffix("script"), "CMD"]
    env = {
        **os.environ,
        "DPRCT_PYTHON": sys.executable,
        "NOT_CRAN": "true",
        "TZ": "UTC",
        "_R_CHECK_SYSTEM_CLOCK_": "0",
        "_R_CHECK_FORCE_SUGGESTS_": "false",
        "_R_CHECK_CRAN_INCOMING_": "false",
        "_R_CHECK_EXAMPLE_TIMING_THRESHOLD_": "60",  # a busy machine is no defect
        "R_QPDF": shutil.which("qpdf") or "true",  # makes PDFs smaller, and the package has none
    }

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [*command, *arguments],
            cwd=tmp_path,
            env=env,
            check=False,
            capture_output=True,
            text=True,
        )
        return done.stdout + done.stderr

    run("build", str(checkout / "r-wrapper"))
    (built,) = tmp_path.glob("dprct_*.tar.gz")
    said = run("check", "--as-cran", "--no-manual", built.name)
    assert re.search(r"^Status: OK$", said, re.MULTILINE), said[-6000:]
