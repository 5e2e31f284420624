"""Loads modules by their path, because tests are no package; starts engines; looks for leaks."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from dprct.privacy.noise import Secure
from tests.sampling import sampled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dprct.schema.tables import Frame

OLDEST_JAVA = 17

CLUSTER = "DPRCT_SPARK_CLUSTER"
"""Set, Spark has two executors, each its own process (``make spark-cluster``); else it is one."""

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
# start-up and compilation cost more than hundreds of rows: few threads, no code made for a query
SPARK = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    JAVA_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData",
    "spark.default.parallelism": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


DRAWS = ("discrete_laplace", "discrete_gaussian", "geometric", "binomial")


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all draws on which a guarantee rests, as they are made."""
    made: list[str] = []
    for name in DRAWS:
        original = getattr(Secure, name)

        def watched(self: Any, *args: Any, _name: str = name, _draw: Any = original) -> Any:
            made.append(_name)
            return _draw(self, *args)

        monkeypatch.setattr(Secure, name, watched)
    return made


def beside(stem: str) -> ModuleType:
    """Return a module of this folder that is no test, loaded once."""
    name = f"dprct_contract_{stem}"
    if name not in sys.modules:
        place = Path(__file__).with_name(f"{stem}.py")
        spec = importlib.util.spec_from_file_location(name, place)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def registry() -> ModuleType:
    """Return the registry of classes that the contract holds for."""
    return beside("registry")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test on Spark whose name does not say so: it would start another Java."""
    for item in items:
        given = item.callspec.params if hasattr(item, "callspec") else {}
        on_spark = given.get("engine") in beside("engines").ON_SPARK
        if on_spark or "spark" in getattr(item, "fixturenames", ()):
            assert "spark" in item.nodeid.lower(), item.nodeid


@pytest.fixture
def subjects() -> dict[str, Any]:
    """Every class of the registry, by its name there."""
    found: dict[str, Any] = registry().SUBJECTS
    return found


@pytest.fixture
def registered_strict() -> set[str]:
    """The names of the strict classes that the registry knows, without their options."""
    subjects = registry().SUBJECTS.values()
    return {s.name.split(",")[0] for s in subjects if not s.published}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Spark session of this worker; without Java skipped, or failed where it was promised."""
    pytest.importorskip("pyspark", reason="needs the extra dprct[spark]")
    lacking = _lacking_java()
    if lacking and os.environ.get("DPRCT_REQUIRE_SPARK"):
        pytest.fail(f"DPRCT_REQUIRE_SPARK is set and Spark {lacking}")
    if lacking:
        pytest.skip(f"Spark {lacking}; see scripts/java-for-tests")
    place = tmp_path_factory.mktemp("spark")
    folders = {
        "spark.local.dir": place,
        "spark.sql.warehouse.dir": place / "warehouse",
        JAVA_OPTIONS: f"{SPARK[JAVA_OPTIONS]} -Djava.io.tmpdir={place}",
    }
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")  # of what Spark imports
        import pyspark
        from pyspark.sql import SparkSession

        master = "local[2]"
        if os.environ.get(CLUSTER):
            # Spark starts its executors from its own folder, and they talk within this machine
            master = "local-cluster[2,1,1024]"
            patch.setenv("SPARK_HOME", str(Path(pyspark.__file__).parent))
            patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
            # the folder of the executors' logs, which Spark would put into its own
            patch.setenv("SPARK_WORKER_DIR", str(place))
        builder = SparkSession.builder.master(master)
        for name, value in {**SPARK, **folders}.items():
            builder = builder.config(name, str(value))
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")  # failures are provoked
    yield session
    _stop(session)
    shutil.rmtree(place)


def _stop(session: Any) -> None:
    """Stop Spark and its Java, and close the pipe to it, which Spark leaves to the end."""
    from pyspark import SparkContext

    gateway = session.sparkContext._gateway
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=60)
    SparkContext._gateway = SparkContext._jvm = None


def _lacking_java() -> str:
    """Return what keeps Spark from starting, in words; nothing if nothing does."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    if java is None:
        return "needs Java"
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < OLDEST_JAVA:
        return f"needs Java {OLDEST_JAVA} or later"
    return ""


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    """A function that brings a Polars frame into the engine that the test is for."""
    to_engine: Callable[..., Any] = beside("engines").ENGINES[request.param]
    if request.param not in beside("engines").ON_SPARK:
        return to_engine
    session = request.getfixturevalue("spark")
    return lambda frame: to_engine(frame, session)


@pytest.fixture(scope="session")
def brought() -> dict[str, Any]:
    """What was brought into an engine, by its name."""
    return {}


@pytest.fixture
def people(
    request: pytest.FixtureRequest, engine: Callable[[Any], Any], brought: dict[str, Any]
) -> Any:
    """The people of ``engines.rows``, in the engine that the test is for, brought there once."""
    name = request.node.callspec.params["engine"]
    if name not in brought:
        data = engine(beside("engines").rows())
        brought[name] = data.cache() if name in beside("engines").ON_SPARK else data
    return brought[name]


@pytest.fixture
def engines() -> ModuleType:
    """Engines, the table that all are asked about, and the questions."""
    return beside("engines")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a check on every class of the registry, case, engine and query, as it asks."""
    every = registry().SUBJECTS.values()
    for name in ("strict", "subject"):
        if name in metafunc.fixturenames:
            chosen = [s for s in every if name == "subject" or not s.published]
            method = lambda subject: subject.name.split(",")[0]  # noqa: E731
            metafunc.parametrize(name, sampled(chosen, method, lambda s: s.name, each=len(chosen)))
    given = [str(mark.args[0]) for mark in metafunc.definition.iter_markers("parametrize")]
    if "case" in metafunc.fixturenames and not any("case" in names for names in given):
        cases = beside("refusals").CASES
        method, words = (lambda case: case.method), (lambda case: case.words)
        metafunc.parametrize("case", sampled(cases, method, words, each=6))
    in_engines = "engine" in metafunc.fixturenames and not any("engine" in each for each in given)
    asked = "query" in metafunc.fixturenames
    engines = beside("engines")
    if in_engines and asked:
        metafunc.parametrize(("engine", "query"), engines.matrix(), indirect=["engine"])
    elif in_engines:
        metafunc.parametrize("engine", engines.ENGINES, indirect=True)
    elif asked:
        metafunc.parametrize("query", engines.QUERIES)


@pytest.fixture
def cases() -> list[Any]:
    """Every method with options, on tables of neighbours."""
    found: list[Any] = beside("refusals").CASES
    return found


@pytest.fixture
def markers() -> tuple[Any, ...]:
    """The planted number and text."""
    return registry().NUMBER, registry().TEXT


@pytest.fixture
def patterns() -> tuple[bytes, ...]:
    """The planted values, as bytes of every kind in which they could leave."""
    number, text = registry().NUMBER, registry().TEXT
    return (
        text.encode(),
        text.encode("utf-16-le"),
        repr(number).encode(),
        f"{number:,}".encode(),
        np.array(number, "<f8").tobytes(),
        np.array(number, ">f8").tobytes(),
        float.hex(number).encode(),
    )


@pytest.fixture
def leaks(patterns: tuple[bytes, ...]) -> Callable[[object], list[str]]:
    """Return where in a text, in bytes, or in anything reachable from an object a marker is."""

    def found(root: object) -> list[str]:
        return [
            f"{path}: {pattern!r}"
            for path, content in contents(root)
            for pattern in patterns
            if pattern in content
        ]

    return found


@pytest.fixture
def reachable() -> Callable[[object], Iterator[tuple[str, object]]]:
    """Return everything that can be reached from an object."""
    return walk


@pytest.fixture
def planted() -> Callable[[Any, dict[str, Any]], int]:
    """Replace columns in every frame that a model holds, behind its door; return how many."""

    def plant(model: Any, columns: dict[str, Any]) -> int:
        replaced = 0
        for _, owner in list(walk(model)):
            for name, frame in list(getattr(owner, "__dict__", {}).items()):
                if isinstance(frame, nw.DataFrame):
                    object.__setattr__(owner, name, _with_columns(frame, columns))
                    replaced += 1
        return replaced

    return plant


def _with_columns(frame: Frame, columns: dict[str, Any]) -> Frame:
    native = frame.to_pandas()
    known = {name: values for name, values in columns.items() if name in native}
    return nw.from_native(native.assign(**known), eager_only=True)


def walk(root: object) -> Iterator[tuple[str, object]]:
    """Yield everything reachable from an object, with a path to it; modules and types are not."""
    seen: dict[int, object] = {}
    waiting: list[tuple[str, object]] = [("", root)]
    while waiting:
        path, item = waiting.pop()
        if id(item) in seen or isinstance(item, (ModuleType, type, BuiltinFunctionType)):
            continue
        seen[id(item)] = item  # kept, so that no id is used twice
        yield path, item
        waiting += [(f"{path}{step}", inner) for step, inner in parts(item)]


def parts(item: object) -> Iterator[tuple[str, object]]:
    """Yield what an object holds."""
    if isinstance(item, dict):
        yield from ((f"[key {i}]", key) for i, key in enumerate(item))
        yield from ((f"[{key!s:.30}]", value) for key, value in item.items())
    elif isinstance(item, (list, tuple, set, frozenset)):
        yield from ((f"[{i}]", value) for i, value in enumerate(item))
    elif isinstance(item, pd.DataFrame):
        yield from ((f"[{name}]", item[name].array) for name in item.columns)
        yield from ((".index", np.asarray(item.index)), (".columns", np.asarray(item.columns)))
        yield ".attrs", item.attrs
    elif isinstance(item, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        yield ".values", np.asarray(item)
    elif isinstance(item, nw.DataFrame):
        yield ".native", item.to_native()
    elif isinstance(item, np.ndarray):
        yield ".base", item.base
        if item.dtype == object:
            yield ".items", item.tolist()
    elif isinstance(item, FunctionType):
        cells = item.__closure__ or ()
        yield from ((f".closure[{i}]", cell.cell_contents) for i, cell in enumerate(cells))
        yield ".defaults", (item.__defaults__, item.__kwdefaults__)
    else:
        yield from attributes(item)


def attributes(item: object) -> Iterator[tuple[str, object]]:
    """Yield attributes, in dictionaries and in slots, and what a bound method is bound to."""
    yield from ((f".{name}", value) for name, value in getattr(item, "__dict__", {}).items())
    for kind in type(item).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(item, name):
                yield f".{name}", getattr(item, name)
    for name in ("__self__", "__func__", "func", "args", "keywords"):
        if hasattr(item, name):
            yield f".{name}", getattr(item, name)


def contents(root: object) -> Iterable[tuple[str, bytes]]:
    """Yield the bytes of every text, number and array reachable from an object."""
    for path, item in walk(root):
        if isinstance(item, str):
            yield path, item.encode("utf-8", "surrogatepass")
        elif isinstance(item, (bytes, bytearray)):
            yield path, bytes(item)
        elif isinstance(item, (float, np.floating)):
            yield path, np.array(float(item), "<f8").tobytes()
        elif isinstance(item, np.ndarray) and item.dtype != object:
            yield path, np.ascontiguousarray(item).tobytes()
