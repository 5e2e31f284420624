"""``dprct demo``: two real experiments, protected before your eyes."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dprct.cli.show import say, working
from dprct.disk import atomic_write, file_error
from dprct.errors import FileError

if TYPE_CHECKING:
    from dprct.study.study import Study

FORMULA = "got ~ any"
EARNINGS = "re78 ~ treat"
COVARIATES = "age + educ + black + hisp + marr + nodegree + re74 + re75"
_FILES = ("thornton_hiv.dta", "thornton.toml", "nsw_mixtape.dta", "nsw.toml")


def demo(
    name_of_folder: Annotated[
        str,
        typer.Argument(
            metavar="FOLDER", help="Folder for the files; created if it does not exist."
        ),
    ] = "dprct-demo",
) -> None:
    """Protect two experiments, by a histogram and by a calibrated file, and show the results."""
    from dprct.study.study import load_study

    if not name_of_folder.strip():  # as a path it would be this folder, whatever is in it
        raise FileError("the name of the folder is empty; name one, or none for dprct-demo")
    folder = Path(name_of_folder)
    for name in _FILES:
        _copy(name, folder)
    studies = [load_study(folder / name) for name in _FILES if name.endswith(".toml")]
    if any(study.output.exists() for study in studies):
        raise FileError(
            f"the demo has run in {str(folder)!r} and spent its budget there; "
            "remove the folder, or name another: dprct demo FOLDER"
        )
    _histogram(studies[0])
    _calibrated(studies[1])
    _head("Where the files are")
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            say(f"  {path}")


def _histogram(study: Study) -> None:
    """Protect Thornton's experiment: a table of four columns, modelled jointly."""
    from dprct.io.compare import compare
    from dprct.study.protect import protected
    from dprct.study.ready import bound_model

    _head("The experiment")
    say("Thornton (2008): 4,820 people in rural Malawi were tested for HIV; some drew a voucher")
    say("('any') for coming to learn the result ('got'). Treat the file as confidential.")
    with working("reading"):
        model = bound_model(study)
    _head("1. The plan: what it costs and how good it can be, before anything is spent")
    say(str(model.plan(study.release.epsilon)))
    with working("protecting"):
        release = protected(study, model)
        release.write_dta(study.output)
    _head("2. The release")
    say(release.summary())
    _head(f"3. The same regression on both files: {FORMULA}, HC1")
    _regressions(study.data, study.output)
    _head("4. What differs between the two files (dprct compare)")
    say(str(compare(study.data, study.output)))


def _calibrated(study: Study) -> None:
    """Protect the NSW experiment: a file on which the paper's regression stays valid."""
    from dprct.study.protect import protected
    from dprct.study.ready import bound_model

    _head("5. A file whose standard errors contain the privacy noise: Calibrated")
    say("The National Supported Work experiment (LaLonde 1986, Dehejia and Wahba 1999): 185 of")
    say("445 people were trained; the outcome is what they earned in 1978 ('re78'), which is")
    say("declared to lie between 0 and 40,000 dollars.")
    with working("reading"):
        model = bound_model(study)
    say(str(model.plan(study.release.epsilon)))
    with working("protecting"):
        release = protected(study, model)
        certificate = release.write_dta(study.output)
    _head(f"6. The paper's regression on both files: {EARNINGS}, HC1")
    _calibrated_regressions(study.data, study.output)
    if certificate.reading is not None:
        _head("7. Errors that commands find on the protected file, over the released one")
        for line in certificate.reading.lines():
            say(line)


def _calibrated_regressions(original: Path, protected_file: Path) -> None:
    from dprct.io.stata import read_dta
    from dprct.results.ols import ols

    say(f"{'':36}{'treat':>8}{'std err':>10}{'[0.025':>10}{'0.975]':>10}{'n':>6}")
    for words, path, formula in (
        ("original (custodian's view)", original, EARNINGS),
        ("protected (one run)", protected_file, EARNINGS),
        ("protected, with eight covariates", protected_file, f"{EARNINGS} + {COVARIATES}"),
    ):
        data, schema = read_dta(path)
        result = ols(formula, data, schema)
        low, high = result.conf_int().loc["treat"]
        row = f"{words:36}{result.params['treat']:8,.0f}{result.bse['treat']:10,.0f}"
        say(f"{row}{low:10,.0f}{high:10,.0f}{result.nobs:6,.0f}")
    say("Intervals of the file contain sampling and privacy noise: honest, and wide at this")
    say("n. The paper's effect, 1,794 dollars, is smaller than what the plan finds with 80% power.")
    say("A regression that was not declared says what it is, here re75 ~ treat:")
    for note in ols("re75 ~ treat", data, schema).notes:
        say(f"  {note}")


def _regressions(original: Path, protected_file: Path) -> None:
    from dprct.io.stata import read_dta
    from dprct.results.ols import ols

    say(f"{'':34}{'any':>10}{'std err':>10}{'n':>8}")
    for words, path in (
        ("original (custodian's view)", original),
        ("protected (one run)", protected_file),
    ):
        data, schema = read_dta(path)
        result = ols(FORMULA, data, schema)
        row = f"{words:34}{result.params['any']:10.4f}{result.bse['any']:10.4f}"
        say(f"{row}{result.nobs:8,.0f}")
    say("The first row is a confidential estimate: it is shown here because the data are public.")
    say("The standard error of the second does not contain the privacy noise.")


def _head(text: str) -> None:
    say()
    say(text)
    say("-" * len(text))


def _copy(name: str, folder: Path) -> None:
    if (folder / name).exists():
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise file_error(error, folder, "written") from None
    with atomic_write(folder / name, mode="wb") as file:
        file.write(demo_file(name).read_bytes())


def demo_file(name: str) -> Path:
    """Return a file of the demo: from the installed package, or from the checkout's ``data/``."""
    installed = Path(str(resources.files("dprct"))) / "demo_data" / name
    return installed if installed.exists() else Path(__file__).parents[2] / "data" / name
