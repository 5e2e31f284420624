"""The house in numbers: lengths of files and functions, importers, and files on four common paths.

    python scripts/house.py [--files]

A report to read and not a rule: no number of it is asserted anywhere.  ``sys.setprofile`` sees
every call of a Python function.  A file counts if a function of it was called, so that what only an
import runs, such as the body of a class, does not count.  All modules are imported first.
``--files`` lists the files of each path, with the number of their calls.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import pkgutil
import shutil
import statistics
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
SHARES = (0.5, 0.9, 0.99)
SHOWN = 8
"""Of each ranking, how many are printed."""


def trees() -> dict[str, tuple[int, ast.Module]]:
    """Return the lines and the syntax tree of every file of the package."""
    found = {}
    for file in sorted(HOUSE.rglob("*.py")):
        text = file.read_text("utf-8")
        found[file.relative_to(HOUSE).as_posix()] = len(text.splitlines()), ast.parse(text)
    return found


def lengths_of_functions(tree: ast.Module) -> dict[str, int]:
    """Return the lines of every function without its docstring, by its name."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            first = node.body[0]
            if ast.get_docstring(node) is not None:
                lines -= (first.end_lineno or first.lineno) - first.lineno + 1
            found[f"{node.name}:{node.lineno}"] = lines
    return found


def importers(files: dict[str, tuple[int, ast.Module]]) -> Counter[str]:
    """Return how many modules of the package import each; ``from a import b`` may be a.b."""
    names = {file.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for file in files}
    names = {f"dprct.{name}" for name in names}
    counted: Counter[str] = Counter()
    for _, tree in files.values():
        asked = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                asked |= {one.name for one in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                whole = {f"{node.module}.{one.name}" for one in node.names}
                asked |= (whole & names) or {node.module}
        counted.update(asked & names)
    return counted


def distribution(words: str, lengths: dict[str, int]) -> str:
    """Return number, quantiles and the longest of some lengths."""
    values = sorted(lengths.values())
    at = [f"{share:.0%} {values[int(share * (len(values) - 1))]}" for share in SHARES]
    longest = sorted(lengths.items(), key=lambda one: -one[1])[:SHOWN]
    return (
        f"{words}: {len(values):,}, {sum(values):,} lines, mean {statistics.mean(values):.0f}, "
        f"{', '.join(at)}\n  longest: {', '.join(f'{name} {n}' for name, n in longest)}"
    )


def structure() -> None:
    """Print lengths of files and functions, and who is imported most."""
    files = trees()
    print(distribution("files", {file: lines for file, (lines, _) in files.items()}))
    functions = {
        f"{file} {name}": lines
        for file, (_, tree) in files.items()
        for name, lines in lengths_of_functions(tree).items()
    }
    print(distribution("functions without docstrings", functions))
    by_room: Counter[str] = Counter()
    for file, (lines, _) in files.items():
        by_room[Path(file).parts[0].removesuffix(".py")] += lines
    print(f"lines by room: {', '.join(f'{room} {n:,}' for room, n in by_room.most_common())}")
    counted = importers(files)
    alone = sum(1 for n in counted.values() if n == 1)
    most = ", ".join(f"{name} {n}" for name, n in counted.most_common(SHOWN))
    print(f"importers: {most}; {alone} modules have one\n")


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


def nsw() -> tuple[Any, Any]:
    """Read the NSW experiment from a copy, since what is opened is remembered next to the file."""
    with tempfile.TemporaryDirectory() as name:
        return dprct.read_dta(shutil.copy(DATA / "nsw_mixtape.dta", name))


def calibrated() -> Any:
    """Bind the NSW experiment to a calibrated release, with facts declared here."""
    data, schema = nsw()
    schema = schema.declare(
        dataset_id="house",
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

    data, schema = nsw()
    connection = duckdb.connect()
    connection.register("people", data[["treat", "re78", *PEOPLE]])
    table = connection.sql("select * from people")
    schema = schema.select(["treat", "re78", *PEOPLE]).declare(
        dataset_id="house",
        treat={"levels": [0, 1], "missing": "never"},
        re78={"bounds": (0, 70_000), "missing": "never"},
        age={"bounds": (16, 60), "missing": "never"},
        educ={"bounds": (0, 20), "missing": "never"},
        re75={"bounds": (0, 60_000), "missing": "never"},
    )
    return table, schema


def main() -> None:
    """Print the report."""
    structure()
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
            options = {"outcome": "re78", "treatment": "treat", "covariates": list(PEOPLE),
                       "estimator": "ipw"}  # fmt: skip
            method(table, schema, **options).fit(epsilon=2, delta=1e-5).summary()

        paths: dict[str, Callable[[], Any]] = {
            ".dta to Calibrated to .dta": lambda: released(folder),
            "fit of Calibrated": lambda: model.fit(epsilon=2, confirm=True),
            "dprct protect": lambda: protect(folder),
            "IPW on DuckDB": weigh,
        }
        for words, path in paths.items():
            calls = files_of(path)
            by_room = Counter(Path(file).parts[0].removesuffix(".py") for file in calls)
            most = ", ".join(f"{room} {count}" for room, count in by_room.most_common())
            print(f"{words:28}{len(calls):4} files{sum(calls.values()):9,} calls  ({most})")
            if "--files" in sys.argv[1:]:
                print("".join(f"    {count:8}  {file}\n" for file, count in sorted(calls.items())))


if __name__ == "__main__":
    main()
