"""``dprct demo``: a real experiment, protected before your eyes."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from dprct.cli.show import say, working
from dprct.errors import FileError
from dprct.io.atomic import atomic_write, file_error
from dprct.io.compare import compare
from dprct.replicate.package import bound_model, protected
from dprct.replicate.study import load_study
from dprct.results.ols import ols

FORMULA = "got ~ any"
_FILES = ("thornton_hiv.dta", "thornton.toml")


def demo(
    folder: Annotated[
        Path, typer.Argument(help="Where the files go; made if it is not there.")
    ] = Path("dprct-demo"),
) -> None:
    """Protect Thornton's HIV-results experiment (n = 4,820) and show what came out."""
    for name in _FILES:
        _copy(name, folder)
    study = load_study(folder / "thornton.toml")
    if study.output.exists():
        raise FileError(
            f"the demo has run in {str(folder)!r} and spent its budget there; "
            "remove the folder, or name another: dprct demo FOLDER"
        )
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
    _regressions(folder / _FILES[0], study.output)
    _head("4. What differs between the two files (dprct compare)")
    say(str(compare(study.data, study.output)))
    _head("Where the files are")
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            say(f"  {path}")


def _regressions(original: Path, protected_file: Path) -> None:
    from dprct.io.stata import read_dta

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
