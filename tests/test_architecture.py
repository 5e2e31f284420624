"""The house, as the imports have it: who may use whom, and who may touch what.

Everything here reads the source as syntax trees and imports none of it, so that a rule holds for
code that no test happens to run.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

HOUSE = Path(__file__).resolve().parents[1] / "dprct"
PAPERS = HOUSE.parent / "papers"

LAYERS: tuple[frozenset[str], ...] = tuple(
    frozenset(names.split())
    for names in (
        "errors annotations arguments lazy progress records",
        "disk",
        "dofile",
        "privacy",
        "schema missing",
        "io",
        "queries encoding formula",
        "plots",
        "certificate",
        "results",
        "model",
        "assignment defaults",
        "estimate",
        "release",
        "published",
        "custodian",
        "study",
        "cli rbridge app",
        "__main__",
    )
)
"""From the ground up; a module imports from its own floor and from those below."""

DOORS = frozenset({"cli", "rbridge", "app"})

UPWARD: dict[tuple[str, str], str] = {
    ("dprct/schema/schema.py", "dprct.io.stata"): "Schema.from_dta, a constructor for convenience",
    ("dprct/io/r_files.py", "dprct.rbridge.files"): "R reads its own files, where it is there",
    ("dprct/io/formats.py", "dprct.rbridge.files"): "R writes its own files",
}
"""Imports that point up, allowed inside functions only, each with its reason."""

LOOKS: frozenset[str] = frozenset(
    {"unique", "nunique", "n_unique", "value_counts", "drop_duplicates", "mode", "describe"}
    | {"min", "max", "amin", "amax", "nanmin", "nanmax", "ptp", "argmin", "argmax"}
    | {"std", "var", "median", "quantile", "percentile"}
)
"""Reductions of arrays and frames, which read a fact off confidential data, were it theirs.

Python's own ``max`` and ``min`` of scalars are not looked at.
"""

STRICT = ("release", "estimate", "encoding", "queries")

PUBLIC_LOOKS: dict[tuple[str, str, str], str] = {
    ("dprct/estimate/additive/release.py", "_terms_said", "describe"): "encodings say levels",
    ("dprct/estimate/additive/release.py", "planned_noise", "describe"): "a mechanism says its law",
    (
        "dprct/estimate/moments/groups.py",
        "grouping_of",
        "unique",
    ): "public groups that occur: arms, blocks and public missingness",
    ("dprct/estimate/ate/plan.py", "planned_jointly", "describe"): "a mechanism says its law",
    (
        "dprct/release/calibrated/outcomes.py",
        "_sizes_of",
        "unique",
    ): "clusters of the arms in the file itself, which is released",
    ("dprct/estimate/moments/bound_step.py", "BoundStep.longest", "max"): "public weights",
    (
        "dprct/estimate/moments/bound_step.py",
        "BoundStep.most_rows",
        "max",
    ): "rows of persons, public",
    ("dprct/estimate/moments/one_step.py", "_bound", "unique"): "persons that count, public",
    ("dprct/estimate/moments/one_step.py", "_of_clusters", "unique"): "arms of clusters, public",
    ("dprct/estimate/moments/one_step.py", "_same_columns", "max"): "public weights",
    ("dprct/estimate/moments/one_step.py", "together", "max"): "public weights",
    ("dprct/estimate/moments/plan.py", "planned_release", "describe"): "a mechanism says its law",
    ("dprct/estimate/noise_law.py", "_shortfall", "max"): "coverages, of public numbers alone",
    ("dprct/estimate/experiment.py", "_largest", "max"): "sizes of clusters, which are public",
    ("dprct/estimate/ipw/results.py", "steepness_correction.missed", "max"): "misses of a law",
    ("dprct/estimate/moments/effects.py", "CellMeans.rows_of", "min"): "released sizes of cells",
    ("dprct/estimate/moments/effects.py", "_raised", "min"): "variances of the noise, public",
    ("dprct/estimate/moments/instruments.py", "_kappa", "max"): "ratios of variances of the noise",
    ("dprct/estimate/moments/layout.py", "laid_out", "argmin"): "planned errors, of public facts",
    ("dprct/estimate/moments/gaussian_law.py", "worst_miss", "max"): "misses of a law, on a grid",
    (
        "dprct/estimate/moments/robust_errors.py",
        "meat_of",
        "max",
    ): "ratios of variances of the noise",
    ("dprct/estimate/moments/robust_errors.py", "score_map", "max"): "what released moments give",
    (
        "dprct/estimate/synthetic_control/results.py",
        "SyntheticControlResults._scaled",
        "max",
    ): "released paths, to draw them",
    ("dprct/release/calibrated/groups.py", "joined", "max"): "factors of a released file's errors",
    ("dprct/release/calibrated/residuals.py", "largest", "max"): "gaps of a released file",
    ("dprct/estimate/noise_law.py", "_refined", "max"): "coverages, of public numbers alone",
    ("dprct/estimate/noise_law.py", "_refined", "argmax"): "coverages, of public numbers alone",
    (
        "dprct/estimate/synthetic_control/panel.py",
        "_times",
        "unique",
    ): "the periods, which are public",
    (
        "dprct/estimate/synthetic_control/panel.py",
        "_units",
        "unique",
    ): "who the donors are, a public fact",
    ("dprct/queries/counts.py", "_candidates", "max"): "edges of bins, from the schema",
    (
        "dprct/queries/one_step.py",
        "ResidualRows._grouped",
        "unique",
    ): "arms of clusters, which are public, and group rows for sealed sums",
    ("dprct/queries/slopes.py", "Slopes.square_sums", "unique"): "clusters, which are public",
    ("dprct/estimate/moments/planned_trial.py", "trial_of", "max"): "a trial without data",
    ("dprct/estimate/moments/one_step.py", "_weights_of", "min"): "weights that are public",
    ("dprct/estimate/moments/one_step.py", "_bound", "max"): "weights that are public",
    ("dprct/estimate/moments/slopes.py", "slopes_ahead", "max"): "public weights of a plan",
    ("dprct/queries/one_step.py", "Score.total_sums", "max"): "numbers of blocks, public",
    ("dprct/queries/index_scores.py", "IndexRows.squares", "unique"): "clusters, which are public",
    ("dprct/queries/index_scores.py", "ways_of", "unique"): "clusters, which are public",
    ("dprct/queries/index_scores.py", "ways_of", "max"): "codes of clusters, which are public",
    ("dprct/queries/index_scores.py", "Link.residual", "max"): "tables of links, public",
    ("dprct/queries/index_scores.py", "Link.weight", "max"): "tables of links, public",
    ("dprct/estimate/moments/index_models.py", "_coded", "max"): "values of groups, public",
    ("dprct/estimate/moments/index_models.py", "_coded", "min"): "values of groups, public",
    ("dprct/estimate/moments/index_models.py", "_robust", "max"): "numbers that were released",
    ("dprct/estimate/moments/index_plan.py", "Ahead.expected", "max"): "planned from public facts",
    ("dprct/estimate/moments/index_plan.py", "ahead_of", "max"): "planned from public facts",
    ("dprct/estimate/moments/index_plan.py", "_table", "min"): "planned from public facts",
    ("dprct/estimate/moments/index_plan.py", "_table", "argmin"): "planned from public facts",
    ("dprct/estimate/moments/index_plan.py", "divided", "argmax"): "planned from public facts",
    ("dprct/queries/one_step.py", "most_together", "unique"): "kinds that conditions tell apart",
    ("dprct/estimate/moments/members.py", "_spanning", "max"): "public weights",
    ("dprct/estimate/moments/one_step.py", "_squares_clip", "max"): "weights public or released",
    ("dprct/estimate/moments/one_step.py", "_later", "max"): "weights that were released",
    ("dprct/estimate/moments/one_step.py", "_drawn_members", "max"): "weights that were released",
    ("dprct/queries/one_step.py", "Score.totals", "max"): "numbers of blocks, public",
    ("dprct/queries/one_step.py", "Cross.moves", "max"): "public weights and clips",
    ("dprct/estimate/moments/one_step.py", "_patterns", "max"): "cells of public columns",
    ("dprct/estimate/moments/one_step.py", "_patterns", "unique"): "cells of public columns",
    ("dprct/estimate/moments/bound_step.py", "BoundStep.farthest", "max"): "public weights",
    ("dprct/queries/counts.py", "_cover", "argmax"): "terms of a key, from edges of bins",
    ("dprct/release/columns.py", "sorted_rows", "unique"): "rows already released, to sort them",
    (
        "dprct/release/histogram.py",
        "HistogramSpec._contents",
        "describe",
    ): "encodings say their levels",
    (
        "dprct/release/histogram.py",
        "MarginalsSpec._contents",
        "describe",
    ): "encodings say their levels",
}
"""(file, function, call) whose subject is public or already released, with the reason."""

OPENERS = (
    "dprct/privacy/aggregates.py",
    "dprct/privacy/histograms.py",
    "dprct/privacy/mechanisms.py",
)
"""The files that may look into a sealed aggregate: its own, and those that add the noise."""

GENERATOR_TYPES = frozenset({"Generator", "BitGenerator"})
NOISE = "dprct/privacy/noise.py"
NETWORK = frozenset(
    {"socket", "socketserver", "ssl", "urllib", "http", "xmlrpc", "ftplib", "smtplib"}
    | {"requests", "httpx", "aiohttp", "starlette", "uvicorn", "asyncio"}
)
LISTENS = "dprct/app/server.py"
"""The one file that may open a socket: it listens on 127.0.0.1 and connects to nothing."""
FRAMES = frozenset({"pandas", "narwhals", "polars", "duckdb", "pyarrow"})
SLOW_TO_IMPORT = ("statsmodels", "pandas", "scipy", "opendp", "matplotlib", "narwhals", "formulaic")


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module: its dotted name, the line, and where it is asked for."""

    module: str
    line: int
    inside_function: bool
    for_types: bool


@dataclass(frozen=True, slots=True)
class Source:
    """One file of the package."""

    path: str
    tree: ast.Module

    @property
    def part(self) -> str:
        """The room of the house: ``privacy`` for dprct/privacy/noise.py."""
        inner = self.path.removeprefix("dprct/").removesuffix(".py")
        return inner.split("/")[0]

    @property
    def package(self) -> list[str]:
        """The package that relative imports of this file start from."""
        return self.path.split("/")[:-1]


def parsed(path: str, text: str) -> Source:
    return Source(path, ast.parse(text, path))


@cache
def sources(folder: Path = HOUSE) -> tuple[Source, ...]:
    found = sorted(folder.rglob("*.py"))
    return tuple(
        parsed(file.relative_to(HOUSE.parent).as_posix(), file.read_text("utf-8")) for file in found
    )


def with_owner(tree: ast.AST, owner: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Every node with the dotted name of the function or class around it."""
    for node in ast.iter_child_nodes(tree):
        inner = owner
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner = f"{owner}.{node.name}".lstrip(".")
        yield node, owner
        yield from with_owner(node, inner)


def functions(tree: ast.AST) -> set[int]:
    """Identities of all nodes inside a function."""
    return {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
    }


def type_checking(tree: ast.AST) -> set[int]:
    """Identities of all nodes that only a type checker sees."""
    return {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test).endswith("TYPE_CHECKING")
        for statement in block.body
        for node in ast.walk(statement)
    }


@cache
def nodes(source: Source) -> tuple[Any, ...]:
    return tuple(ast.walk(source.tree))


@cache
def imports(source: Source) -> tuple[Import, ...]:
    """Every import of a file; ``from a import b`` counts as a.b where that may be a module."""
    return tuple(_imports(source))


def _imports(source: Source) -> Iterator[Import]:
    inside, typing = functions(source.tree), type_checking(source.tree)
    for node in nodes(source):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield Import(name.name, node.lineno, id(node) in inside, id(node) in typing)
        elif isinstance(node, ast.ImportFrom):
            base = source.package[: len(source.package) + 1 - node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for name in node.names:
                whole = f"{module}.{name.name}" if module == "dprct" else module
                yield Import(whole, node.lineno, id(node) in inside, id(node) in typing)


def floor(part: str) -> int:
    for number, parts in enumerate(LAYERS):
        if part in parts:
            return number
    raise AssertionError(f"{part!r} has no floor in the house; give it one in LAYERS")


def own_imports(source: Source) -> Iterator[tuple[Import, str]]:
    """Imports of this package with the room they lead to; the version is everybody's."""
    for found in imports(source):
        path = found.module.split(".")
        if path[0] == "dprct" and path[1:] != ["__version__"]:
            yield found, path[1] if len(path) > 1 else ""


def upward_imports(source: Source) -> list[str]:
    if source.path == "dprct/__init__.py":
        return [
            f"{source.path}:{found.line} imports {found.module} at once; keep the top level lazy"
            for found, part in own_imports(source)
            if not (found.inside_function or found.for_types or part == "lazy")
        ]
    wrong = []
    for found, part in own_imports(source):
        if source.part in DOORS and part not in DOORS:
            continue
        allowed = found.inside_function and (source.path, found.module) in UPWARD
        if not allowed and (not part or floor(part) > floor(source.part)):
            wrong.append(f"{source.path}:{found.line} imports {found.module}, which is above it")
    return wrong


def looks(source: Source) -> list[tuple[str, str, str, int]]:
    return [
        (source.path, owner, node.func.attr, node.lineno)
        for node, owner in with_owner(source.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in LOOKS
    ]


def openings(source: Source) -> list[str]:
    """Places that import, name or reach around the opening of a sealed aggregate."""
    wrong = []
    for node in nodes(source):
        opens = (
            isinstance(node, ast.Attribute)
            and (
                node.attr == "_sealed"
                or (node.attr == "_open" and ast.unparse(node) == "aggregates._open")
            )
        ) or (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").endswith("aggregates")
            and "_open" in {name.name for name in node.names}
        )
        if opens:
            wrong.append(f"{source.path}:{node.lineno}")
    return wrong


def numpy_randomness(source: Source) -> list[str]:
    """Uses of numpy.random other than the names of its types; the noise module may make one."""
    allowed = GENERATOR_TYPES | ({"default_rng", "SeedSequence"} if source.path == NOISE else set())
    wrong = []
    for node in nodes(source):
        if (
            isinstance(node, ast.Attribute)
            and getattr(node.value, "attr", "") == "random"
            and ast.unparse(node.value) in {"np.random", "numpy.random"}
        ):
            names = [node.attr]
        elif isinstance(node, ast.ImportFrom) and node.module == "numpy.random":
            names = [name.name for name in node.names]
        else:
            continue
        wrong += [f"{source.path}:{node.lineno} {name}" for name in names if name not in allowed]
    return wrong


def prints(source: Source) -> list[str]:
    return [
        f"{source.path}:{node.lineno}"
        for node in nodes(source)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]


def importers(names: frozenset[str], allowed: tuple[str, ...] = ()) -> list[str]:
    return [
        f"{source.path}:{found.line} imports {found.module}"
        for source in (*sources(), *sources(PAPERS))
        if not source.path.startswith(allowed or ("\0",))
        for found in imports(source)
        if found.module.split(".")[0] in names
    ]


def test_every_module_has_a_floor() -> None:
    for source in sources():
        if source.part != "__init__":
            floor(source.part)


def test_imports_point_down() -> None:
    assert [wrong for source in sources() for wrong in upward_imports(source)] == []


def circles() -> list[frozenset[str]]:
    """Modules that import each other, over one or more steps; for types, too.

    What ``Schema`` imports inside its methods for convenience does not count: they call the rooms
    that know a schema.
    """
    graph = module_graph(sources())
    reached = {module: reachable(graph, module) for module in graph}
    every = {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in graph
        if module in reached[module]
    }
    return sorted(every, key=sorted)


def module_graph(files: tuple[Source, ...]) -> dict[str, set[str]]:
    """What every module of the package imports of it; ``from a import b`` is a.b where that is."""
    names = {dotted(source): source for source in files if source.path != "dprct/__init__.py"}
    graph: dict[str, set[str]] = {}
    for name, source in names.items():
        inside = functions(source.tree)
        graph[name] = set()
        for node in nodes(source):
            if name == "dprct.schema.schema" and id(node) in inside:
                continue
            if isinstance(node, ast.Import):
                found = [one.name for one in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                whole = [f"{node.module}.{one.name}" for one in node.names]
                found = [one if one in names else str(node.module) for one in whole]
            else:
                continue
            graph[name] |= {one for one in found if one in names and one != name}
    return graph


def dotted(source: Source) -> str:
    return source.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """Modules that are imported from ``start``, over one or more steps."""
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting += graph[module]
    return found


def test_no_module_imports_itself_by_a_detour() -> None:
    assert circles() == []


def test_a_circle_would_be_noticed() -> None:
    files = (
        parsed("dprct/io/a.py", "if TYPE_CHECKING:\n    from dprct.io.b import x"),
        parsed("dprct/io/b.py", "def f():\n    from dprct.io import c"),
        parsed("dprct/io/c.py", "import dprct.io.a"),
        parsed("dprct/io/d.py", "from dprct.io.a import x"),
    )
    graph = module_graph(files)
    assert graph["dprct.io.b"] == {"dprct.io.c"}
    assert "dprct.io.a" in reachable(graph, "dprct.io.a")
    assert "dprct.io.d" not in reachable(graph, "dprct.io.d")


def test_exceptions_to_the_order_are_still_needed() -> None:
    used = {(source.path, found.module) for source in sources() for found in imports(source)}
    assert set(UPWARD) <= used


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("dprct/privacy/noise.py", "from dprct.schema import Schema"),
        ("dprct/privacy/noise.py", "from dprct import schema"),
        ("dprct/privacy/noise.py", "from ..queries import counts"),
        ("dprct/io/stata.py", "def f():\n    import dprct.results.ols"),
        ("dprct/release/release.py", "import dprct"),
        ("dprct/schema/schema.py", "from dprct.io.stata import read_header"),
        ("dprct/__init__.py", "from dprct.results.ols import ols"),
        ("dprct/privacy/noise.py", "if TYPE_CHECKING:\n    from dprct.schema import Schema"),
    ],
)
def test_the_order_would_notice(path: str, text: str) -> None:
    assert upward_imports(parsed(path, text))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("dprct/certificate/certificate.py", "from dprct import __version__"),
        ("dprct/io/stata/codec.py", "from dprct.io.stata.layout import x"),
        ("dprct/io/stata/codec.py", "from .layout import x"),
        ("dprct/schema/schema.py", "def f():\n    from dprct.io.stata import read_header"),
        ("dprct/cli.py", "import dprct"),
        ("dprct/__init__.py", "if TYPE_CHECKING:\n    from dprct.results.ols import ols"),
    ],
)
def test_the_order_allows(path: str, text: str) -> None:
    assert upward_imports(parsed(path, text)) == []


def test_published_is_used_by_studies_and_doors_only() -> None:
    for source in sources():
        if source.part not in {"published", "study", "__init__", *DOORS}:
            assert "published" not in {part for _, part in own_imports(source)}, source.path


def test_releases_and_estimates_do_not_know_each_other() -> None:
    """But for a calibrated file, which is made of estimates, and moments that are verified."""
    made_of_estimates = {f"dprct/release/calibrated/{name}.py" for name in (
        "model", "spec", "covariates")}  # fmt: skip
    for source in sources():
        for found, part in own_imports(source):
            if (source.part, part) == ("release", "estimate"):
                pair = source.path, found.module
                known = ("dprct/release/verify.py", "dprct.estimate.moments.document")
                assert source.path in made_of_estimates or pair == known
            assert (source.part, part) != ("estimate", "release"), source.path


def test_strict_modules_take_no_fact_from_data() -> None:
    found = {look[:3] for source in sources() if source.part in STRICT for look in looks(source)}
    assert found == set(PUBLIC_LOOKS)


def test_a_look_at_the_data_would_be_noticed() -> None:
    text = "class A:\n    def fit(self):\n        return frame['y'].max()"
    assert looks(parsed("dprct/release/a.py", text)) == [("dprct/release/a.py", "A.fit", "max", 3)]


def test_only_mechanisms_open_aggregates() -> None:
    closed = [source for source in sources() if source.path not in OPENERS]
    assert [place for source in closed for place in openings(source)] == []
    assert any(openings(source) for source in sources())


@pytest.mark.parametrize(
    "text",
    [
        "from dprct.privacy.aggregates import CellCounts, _open",
        "counts._sealed.content",
        "from dprct.privacy import aggregates\naggregates._open(counts)",
    ],
)
def test_an_opening_would_be_noticed(text: str) -> None:
    assert openings(parsed("dprct/release/a.py", text))


def test_privacy_knows_no_data_frame() -> None:
    elsewhere = ("papers/", *(s.path for s in sources() if s.part != "privacy"))
    assert importers(FRAMES, elsewhere) == []


def test_exact_noise_comes_from_privacy_only() -> None:
    assert importers(frozenset({"opendp"}), ("dprct/privacy/",)) == []
    # a temporary file takes its name from the system's randomness too, and a page its address
    others = ("dprct/disk.py", "dprct/app/guard.py")
    assert importers(frozenset({"secrets"}), ("dprct/privacy/", *others)) == []
    assert importers(frozenset({"randomgen"}), (NOISE,)) == []


def test_no_global_randomness() -> None:
    assert importers(frozenset({"random"})) == []
    every = (*sources(), *sources(PAPERS))
    assert [wrong for source in every for wrong in numpy_randomness(source)] == []


@pytest.mark.parametrize(
    "text",
    [
        "np.random.seed(1)",
        "x = numpy.random.normal()",
        "from numpy.random import default_rng",
        "rng = np.random.default_rng(1)",
    ],
)
def test_global_randomness_would_be_noticed(text: str) -> None:
    assert numpy_randomness(parsed("dprct/release/a.py", text))
    assert numpy_randomness(parsed("dprct/a.py", "rng: np.random.Generator")) == []


def test_no_module_opens_a_connection() -> None:
    assert importers(NETWORK, (LISTENS,)) == []


def declared_packages() -> tuple[set[str], set[str]]:
    """Import names of what the project requires, and of what its extras add for users."""
    project = tomllib.loads((HOUSE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {k: v for k, v in project["optional-dependencies"].items() if k != "dev"}

    def names(requirements: list[str]) -> set[str]:
        found = {
            re.split(r"[^\w-]", text, maxsplit=1)[0].replace("-", "_") for text in requirements
        }
        imported = {"interpret_core": "interpret", "python_docx": "docx"}
        imported["scikit_learn"] = "sklearn"
        return found | {imported[name] for name in found & imported.keys()}

    return names(project["dependencies"]), names([text for e in extras.values() for text in e])


def test_what_is_imported_is_required() -> None:
    required, extra = declared_packages()
    known = required | {"dprct", *sys.stdlib_module_names}
    missing = []
    for source in sources():
        for found in imports(source):
            optional = found.inside_function or found.for_types
            name = found.module.split(".")[0]
            if name not in known and not (optional and name in extra):
                missing.append(f"{source.path}:{found.line} imports {name}")
    assert missing == []


def test_only_doors_and_plots_print() -> None:
    speaking = [s for s in sources() if s.part not in {*DOORS, "plots"}] + [*sources(PAPERS)]
    assert [line for source in speaking for line in prints(source)] == []
    assert prints(parsed("dprct/a.py", "print(1)"))


def test_names_say_what_a_module_does() -> None:
    every = (*sources(), *sources(PAPERS))
    words = {word for source in every for word in Path(source.path).with_suffix("").parts}
    assert words.isdisjoint({"utils", "util", "helpers", "helper", "common", "misc"})


def test_the_top_level_is_lazy() -> None:
    code = "import dprct, sys; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=HOUSE.parent
    )
    loaded = {name.split(".")[0] for name in run.stdout.split()}
    assert "dprct" in loaded
    assert loaded.isdisjoint(SLOW_TO_IMPORT)
