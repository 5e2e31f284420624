"""How many rooms a number passes: files of the package that run on four common paths.

    python scripts/rooms.py [--files]

``sys.setprofile`` sees every call of a Python function.  A file counts if a function of it was
called, so that what only an import runs, such as the body of a class, does not count.  All modules
are imported first.  ``--files`` lists the files of each path, with the number of their calls.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import pkgutil
import shutil
import sys
import tempfile
import threading
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dprct

if TYPE_CHECKING:
    from collections.abc import Callable

HOUSE = Path(dprct.__file__).parent
DATA = HOUSE.parent / "data"
OPTIMIZED = 1  # the code flag of functions, which the bodies of modules and classes lack
PEOPLE = ("age", "educ", "re75")


def files_of(path: Callable[[], Any]) -> Counter[str]:
    """Return the calls of functions on a path, by the file of the package they stand in."""
    calls: Counter[str] = Counter()

    def note(frame: Any, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & OPTIMIZED and str(HOUSE) in code.co_filename:
            calls[Path(code.co_filename).relative_to(HOUSE).as_posix()] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        path()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return calls


def calibrated() -> Any:
    """Bind the NSW experiment to a calibrated release, with facts declared here."""
    data, schema = dprct.read_dta(DATA / "nsw_mixtape.dta")
    schema = schema.declare(
        dataset_id="rooms",
        treat={"levels": [0, 1], "missing": "never", "fate": "public"},
        re78={"bounds": (0, 70_000), "missing": "never", "fate": "modelled"},
        age={"bounds": (16, 60), "bins": 4, "missing": "never", "fate": "modelled"},
        confirm_header=True,
    ).declare_rest("withheld")
    return dprct.Calibrated.from_formula("re78 ~ treat + age", data, schema, treatment="treat")


def released(folder: Path) -> None:
    """From a .dta file to a calibrated release to a .dta file."""
    calibrated().fit(epsilon=2, confirm=True).write_dta(folder / "protected.dta")


def protect(folder: Path) -> None:
    """``dprct protect`` on the study file of the NSW experiment."""
    from dprct.cli.main import main

    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main(["protect", str(folder / "nsw.toml"), "--yes"])


def weighted() -> Any:
    """Inverse probability weighting of a table in DuckDB."""
    import duckdb

    data, schema = dprct.read_dta(DATA / "nsw_mixtape.dta")
    connection = duckdb.connect()
    connection.register("people", data[["treat", "re78", *PEOPLE]])
    table = connection.sql("select * from people")
    schema = schema.select(["treat", "re78", *PEOPLE]).declare(
        dataset_id="rooms",
        treat={"levels": [0, 1], "missing": "never"},
        re78={"bounds": (0, 70_000), "missing": "never"},
        age={"bounds": (16, 60), "missing": "never"},
        educ={"bounds": (0, 20), "missing": "never"},
        re75={"bounds": (0, 60_000), "missing": "never"},
    )
    return table, schema


def main() -> None:
    """Print the number of files of each path."""
    warnings.simplefilter("ignore")
    for module in pkgutil.walk_packages([str(HOUSE)], "dprct."):
        with contextlib.suppress(ImportError):  # an extra that is not installed
            importlib.import_module(module.name)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("nsw.toml", "nsw_mixtape.dta"):
            shutil.copy(DATA / file, folder / file)
        model = calibrated()
        table, schema = weighted()
        method = dprct.IPW  # a lazy name: its look-up is a part of importing

        def weigh() -> None:
            options = {"outcome": "re78", "treatment": "treat", "covariates": list(PEOPLE)}
            method(table, schema, **options).fit(epsilon=2, delta=1e-5).summary()

        paths: dict[str, Callable[[], Any]] = {
            ".dta to Calibrated to .dta": lambda: released(folder),
            "fit of Calibrated": lambda: model.fit(epsilon=2, confirm=True),
            "dprct protect": lambda: protect(folder),
            "IPW on DuckDB": weigh,
        }
        for words, path in paths.items():
            calls = files_of(path)
            rooms = Counter(Path(file).parts[0].removesuffix(".py") for file in calls)
            most = ", ".join(f"{room} {count}" for room, count in rooms.most_common())
            print(f"{words:28}{len(calls):4} files  ({most})")
            if "--files" in sys.argv[1:]:
                print("".join(f"    {count:8}  {file}\n" for file, count in sorted(calls.items())))


if __name__ == "__main__":
    main()
