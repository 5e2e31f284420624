"""What every test may use, and what no test may do."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import numpy as np
import pandas as pd
import pytest

from dprct.io.stata import write_dta
from dprct.missing import tagged
from dprct.privacy import noise
from dprct.privacy.openings import Openings
from dprct.schema import Column, FileFacts, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling


CHECKOUT = Path(__file__).resolve().parents[1]
SHARED = CHECKOUT.parent / "shared"
STUDY = """\
version = 1
data = "survey.dta"
dataset_id = "survey-1"

[unit]
name = "person"
id = "unit"

[release]
method = "mv_histogram"
epsilon = 1.0
keep = ["note1"]

[budget]
epsilon = 1.5

[header]
confirm = true

[columns.unit]
fate = "key"

[columns.got]
levels = [0, 1]
missing = [".", ".a"]
fate = "modelled"

[columns.age]
bounds = [15, 80]
bins = [30, 50]
missing = "never"
fate = "modelled"

[columns.name]
fate = "drop"
"""


ONE_WORKER = ("tests/statistical/test_demo_effect.py", "tests/rbridge/")
"""Tests that share what takes long to make: draws of a fixture, or a process of R."""


LONG = ("docs", "papers", "rbridge", "statistical", "torture")
"""Folders of what a change seldom breaks and much time goes into; ``make test`` leaves them out."""

NEEDS = {"browser", "compiled", "rscript", "spark"}
"""Fixtures that start another program; what asks for one of them is long, too."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what ``make test`` leaves to ``make test-full`` for its folder or its fixtures.

    Searches and simulations have the marker where they stand, and so have all but some of the cases
    of a contract or replay (``tests/sampling.py``).
    """
    folders = [CHECKOUT / "tests" / name for name in LONG]
    for item in items:
        far = any(item.path.is_relative_to(folder) for folder in folders)
        asks = NEEDS & {*getattr(item, "fixturenames", ())}
        if far or asks or "spark" in item.nodeid.lower():
            item.add_marker("long")


def pytest_collection_finish() -> None:
    """Leave what was collected to itself: searching it for garbage takes a twentieth of a run."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Send tests that share something to one worker; those on Spark then start one Java.

    ``--dist=loadgroup`` is for this, but of pytest-xdist 3.8 does nothing with pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if "spark" in nodeid.lower():
                return "Spark"
            return next((one for one in ONE_WORKER if nodeid.startswith(one)), nodeid)

        def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
            # what is done is forgotten: counting it again after each test is quadratic
            for scope in [scope for scope, tests in workload.items() if all(tests.values())]:
                del workload[scope]
            return super()._pending_of(workload)

    return Together(config, log)


SYSTEM_NOISE = ("tests/statistical/", "tests/privacy/")
"""Folders whose tests are of the samplers and of laws, with a false-alarm rate of their own."""

DRAWS = {"laplace": noise._laplace, "gaussian": noise._gaussian}


class RepeatableNoise:
    """In the place of the system's random bytes and OpenDP's samplers: draws by a name.

    A test that fails, fails again; one that passes here passes elsewhere.  What a mechanism asks
    for, its scale and its size stay as they are, and OpenDP still certifies what they cost.
    """

    def __init__(self, name: str) -> None:
        self._simulated = noise.Simulated(np.random.default_rng([*name.encode()]))

    def randbelow(self, bound: int) -> int:
        """Draw for ``secrets.randbelow``."""
        return self._simulated.uniform_below(bound)

    def randbits(self, bits: int) -> int:
        """Draw for ``secrets.randbits``."""
        return self._simulated.uniform_below(1 << bits)

    def token_bytes(self, size: int) -> bytes:
        """Draw for ``secrets.token_bytes``."""
        return self._simulated.uniform_bytes(size).tobytes()

    def sampler(self, law: str, scale: float) -> Callable[..., Any]:
        """Draw for the measurement of ``law`` that OpenDP would make; its map is OpenDP's own."""

        def draw(zeros: list[int]) -> Any:
            return getattr(self._simulated, f"discrete_{law}")(scale, len(zeros))

        draw.map = DRAWS[law](scale).map  # type: ignore[attr-defined]
        return draw


@contextmanager
def repeatable_noise(name: str) -> Iterator[None]:
    """Draw noise by ``name`` and what ``--noise`` adds to it."""
    repeatable = RepeatableNoise(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise, "secrets", repeatable)
        patch.setattr(noise, "_laplace", lambda scale: repeatable.sampler("laplace", scale))
        patch.setattr(noise, "_gaussian", lambda scale: repeatable.sampler("gaussian", scale))
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let ``--noise=2`` draw other repeatable noise, and ``--noise=system`` the real one."""
    parser.addoption("--noise", default="1", help="a word for repeatable noise, or system")


def pytest_configure(config: pytest.Config) -> None:
    """Let hypothesis search where it searched before, unless noise is drawn anew."""
    hypothesis.settings.register_profile(
        "dprct",
        deadline=None,  # it is a test of time, and CI machines are busy
        derandomize=config.getoption("--noise") != "system",
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    hypothesis.settings.load_profile("dprct")


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Iterator[None]:
    """Draw what several tests share by its own name, whichever of them comes first."""
    word = request.config.getoption("--noise")
    real = word == "system" or fixturedef.baseid.startswith(SYSTEM_NOISE)
    if real or fixturedef.scope == "function":
        return (yield)
    name = [fixturedef.baseid, fixturedef.argname, str(getattr(request, "param_index", 0)), word]
    with repeatable_noise(" ".join(name)):
        return (yield)


@pytest.fixture(autouse=True)
def _repeatable_noise(request: pytest.FixtureRequest) -> Iterator[None]:
    """Draw noise by the name of the test, but where the samplers themselves are tested."""
    word = request.config.getoption("--noise")
    if word == "system" or request.node.nodeid.startswith(SYSTEM_NOISE):
        yield
        return
    with repeatable_noise(f"{request.node.nodeid} {word}"):
        yield


@pytest.fixture(autouse=True)
def _openings_of_this_test_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget, with the test, refusals that a schema of several tests remembers in memory."""
    noted, note = [], Openings.note

    def noting(self: Openings, *args: Any, **options: Any) -> None:
        noted.append(self)
        note(self, *args, **options)

    monkeypatch.setattr(Openings, "note", noting)
    yield
    for one in noted:
        one._here.clear()


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The folder of the project, with its documents, data and scripts."""
    return CHECKOUT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real data and reference material beside the checkout; absent in a user's clone."""
    if not SHARED.is_dir():
        pytest.skip("needs the project's shared/ folder beside the checkout")
    return SHARED


@pytest.fixture(scope="session")
def do_files(shared: Path) -> Path:
    """Do-files of published experiments, with the key to their regressions."""
    found = shared / "data" / "do_files"
    if not found.is_dir():
        pytest.skip("needs the do-files of the project's shared/ folder")
    return found


@pytest.fixture(scope="session")
def rscript() -> str:
    """Path of Rscript; without it the test is skipped, or fails where R was promised."""
    found = shutil.which("Rscript")
    if found is None:
        if os.environ.get("DPRCT_REQUIRE_R"):
            pytest.fail("DPRCT_REQUIRE_R is set and Rscript is not on the path")
        pytest.skip("needs R; see scripts/r-for-tests")
    return found


@pytest.fixture(scope="session")
def browser() -> str:
    """Path of Chromium; without it the test is skipped, or fails where a browser was promised."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found is not None:
            return found
    if os.environ.get("DPRCT_REQUIRE_BROWSER"):
        pytest.fail("DPRCT_REQUIRE_BROWSER is set and no Chromium is on the path")
    pytest.skip("needs Chromium; see scripts/browser-for-tests")


@pytest.fixture
def figures() -> Iterator[Any]:
    """The pyplot module on a backend without a screen; every figure is closed afterwards."""
    plt = pytest.importorskip("matplotlib.pyplot")
    before = plt.get_backend()
    plt.switch_backend("Agg")
    plt.close("all")  # what other tests left open is theirs
    yield plt
    plt.close("all")
    plt.switch_backend(before)


@pytest.fixture
def compiled(tmp_path: Path) -> Callable[..., str]:
    """Compile tables and return the log; skipped without LaTeX, or failed where promised."""
    place = shutil.which("pdflatex")
    packages = ("booktabs", "siunitx", "threeparttable")
    found = place and all(
        subprocess.run(["kpsewhich", f"{name}.sty"], capture_output=True, check=False).stdout
        for name in packages
    )
    if not found:
        if os.environ.get("DPRCT_REQUIRE_LATEX"):
            pytest.fail("DPRCT_REQUIRE_LATEX is set and pdflatex or one of its packages is missing")
        pytest.skip("needs pdflatex; see scripts/latex-for-tests")

    def run(*tables: str) -> str:
        packs = ",".join(packages)
        lines = [rf"\documentclass{{article}}\usepackage[T1]{{fontenc}}\usepackage{{{packs}}}"]
        lines += [r"\begin{document}", *(f"{table}\n\n" for table in tables), r"\end{document}"]
        (tmp_path / "t.tex").write_text("\n".join(lines), encoding="utf-8")
        command = [str(place), "-halt-on-error", "-interaction=batchmode", "t.tex"]
        code = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode
        log = (tmp_path / "t.log").read_text("utf-8", "replace")
        assert code == 0, log[-2000:]
        return log

    return run


@dataclass(frozen=True)
class Ran:
    """What a command ended with."""

    code: int
    out: str
    err: str


@pytest.fixture
def command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[Callable[[list[str]], None]], Callable[..., Ran]]:
    """Run a command line in this process; return its exit code and what it wrote."""

    def runner(main: Callable[[list[str]], None]) -> Callable[..., Ran]:
        def run(*arguments: object) -> Ran:
            capsys.readouterr()
            with pytest.raises(SystemExit) as ended:
                main([str(argument) for argument in arguments])
            wrote = capsys.readouterr()
            return Ran(int(ended.value.code or 0), wrote.out, wrote.err)

        return run

    monkeypatch.setattr("rich.console.Console.is_terminal", False)
    return runner


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose name has spaces and letters beyond ASCII, with data and study file."""
    place = tmp_path / "étude une"
    place.mkdir()
    rng = np.random.default_rng(1)
    n = 500
    data = pd.DataFrame(
        {
            "unit": rng.permutation(n) + 1000.0,
            "got": np.where(rng.random(n) < 0.1, tagged(1), rng.integers(0, 2, n)),
            "age": rng.integers(15, 80, n).astype(float),
            "name": np.array(["Aurelia-Quint"] * n, dtype=object),
        }
    )
    columns = (
        Column("unit", "long", "%12.0g", "person"),
        Column("got", "byte", "%8.0g", "got the résultat", "yesno"),
        Column("age", "int", "%8.0g", "age"),
        Column("name", "str20", "%20s", "name"),
    )
    file = FileFacts(
        label="a survey",
        sorted_by=("unit",),
        value_labels={"yesno": {0: "no", 1: "yes", ".a": "refused"}, "free": {1: "one"}},
        characteristics=(("_dta", "note0", "1"), ("_dta", "note1", "by hand")),
    )
    ordered = data.sort_values("unit", ignore_index=True)
    write_dta(ordered, Schema(columns, file), place / "survey.dta")
    (place / "study.toml").write_text(STUDY, encoding="utf-8")
    return place


@pytest.fixture(autouse=True)
def _global_numpy_state_is_untouched() -> Iterator[None]:
    """Fail a test that draws from, or seeds, NumPy's global generator."""
    before = _global_numpy_state()
    yield
    if _global_numpy_state() != before:
        pytest.fail("touched NumPy's global random state; take an rng from numpy.random.Generator")


def _global_numpy_state() -> tuple[bytes, int, int, float]:
    _, key, position, has_gauss, cached = np.random.get_state()  # noqa: NPY002  # watched, not used
    return np.asarray(key).tobytes(), int(position), int(has_gauss), float(cached)
