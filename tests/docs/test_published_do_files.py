"""Two published do-files, as they stand in the archive, from draft to package on made-up data.

The data have the published shape and nothing else of them.  What an author writes is counted: the
lines of the study file that the draft does not have.  docs/paper_to_package.md has the numbers.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from dprct.cli import main
from dprct.io.stata import write_dta
from dprct.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

pytestmark = pytest.mark.long
PUBLIC = ('fate = "public"',)
YES_NO = ("levels = [0, 1]",)
PUBLIC_YES_NO = (*PUBLIC, *YES_NO)


class Paper(NamedTuple):
    """A do-file of a published experiment, and what its author writes.

    Parameters
    ----------
    do, data, treatment : str
        The do-file in the project's shared folder, the file that it uses, and a column.
    instead : mapping of str to str
        Lines of the draft that are changed.
    columns : mapping of str to sequence of str
        Facts about columns.
    sections : sequence of str
        Lines that the draft has not.
    unserved : str
        What the drafted regressions have that no step serves: their marks stay.
    """

    do: str
    data: str
    treatment: str
    made: Callable[[np.random.Generator], pd.DataFrame]
    instead: Mapping[str, str]
    columns: Mapping[str, Sequence[str]]
    sections: Sequence[str]
    unserved: str = "none of them"


def hamlets(rng: np.random.Generator) -> pd.DataFrame:
    """Households of 100 hamlets, half of each with an asset transfer."""
    hamlet, n = np.repeat(np.arange(100), 10), 1000
    treated = np.concatenate([rng.permutation([0.0] * 5 + [1.0] * 5) for _ in range(100)])
    data = pd.DataFrame({"vil_ham": hamlet + 1.0, "treatment": treated, "el1": 1.0})
    shared = 0.4 * rng.normal(size=100)[hamlet]
    for name in INDICES:
        data[name] = (0.3 * treated + shared + rng.normal(size=n)).clip(-4, 4)
    return data


INDICES = ("asset_ind_tot_el1", "index_ctotal_el1", "index_foodsecurity_el1",
           "ind_increv_updated_el1", "ind_fin_el1")  # fmt: skip
RANGES = {
    "heads_child_cnt": (0, 1), "age_cnt": (6, 11), "duration_village_cnt": (0, 60),
    "farsi_cnt": (0, 1), "tajik_cnt": (0, 1), "farmer_cnt": (0, 1), "age_head_cnt": (20, 80),
    "yrs_ed_head_cnt": (0, 12), "num_ppl_hh_cnt": (2, 25), "jeribs_cnt": (0, 12),
    "num_sheep_cnt": (0, 60), "nearest_scl": (0, 10),
}  # fmt: skip
SCORES = ("f07_both_norma_total", "s08_both_norma_total")


def children(rng: np.random.Generator) -> pd.DataFrame:
    """Children of 60 clusters of villages, half of which got a school."""
    cluster, n = np.repeat(np.arange(60), 30), 1800
    treated = (rng.permutation(60) < 30)[cluster] * 1.0
    data = pd.DataFrame({"clustercode": cluster + 1.0, "treatment": treated})
    data["chagcharan"] = (cluster < 30) * 1.0
    girl = rng.integers(0, 2, n) * 1.0
    for wave, word in (("f07", "girl_cnt"), ("s08", "girls_cnt")):
        data[f"{wave}_observed"] = data[f"{wave}_test_observed"] = 1.0
        data[f"{wave}_{word}"] = girl
        for name, (low, high) in RANGES.items():
            data[f"{wave}_{name}"] = rng.integers(low, high + 1, n) * 1.0
    data["f07_formal_school"] = (rng.random(n) < 0.3 + 0.4 * treated) * 1.0
    for name in SCORES:
        noise = 0.2 * rng.normal(size=60)[cluster] + rng.normal(size=n)
        data[name] = (0.5 * treated + noise).clip(-4, 4)
    return data


def _domain(low: int, high: int) -> str:
    return "levels = [0, 1]" if (low, high) == (0, 1) else f"bounds = [{low}, {high}]"


RELEASE = {"method": '"moments"', "epsilon": "4.0", "delta": "1e-6", "formula": "",
           "confirm": "true"}  # fmt: skip
MOMENTS = (
    '[columns."*"]',
    'missing = "never"',
    "[package]",
    'folder = "rep"',
    "[moments]",
    'neighbors = "replace-one-design-public"',
)
PAPERS = {
    "hamlets": Paper(
        "microcredit/Regression.do", "Data.dta", "treatment", hamlets,
        {**RELEASE, "dataset_id": '"hamlets"', "name": '"household"'},
        {"vil_ham": PUBLIC, "treatment": YES_NO, "el1": ('fate = "public"', "levels = [1]"),
         **dict.fromkeys(INDICES, ("bounds = [-4, 4]", "sd = 1.0"))},
        (*MOMENTS, "[design]", 'kind = "block"', 'arms = ["treatment"]', 'block = "vil_ham"'),
    ),
    "children": Paper(
        "experiments/ReplicationBL.do", "afghanistan_anonymized_data.dta", "treatment", children,
        {**RELEASE, "dataset_id": '"schools"'},
        {
            "clustercode": PUBLIC, "treatment": YES_NO, "chagcharan": PUBLIC_YES_NO,
            **{f"{wave}_{name}": PUBLIC_YES_NO for wave in ("f07", "s08")
               for name in ("observed", "test_observed", "girl_cnt", "girls_cnt")
               if (wave, name) not in (("f07", "girls_cnt"), ("s08", "girl_cnt"))},
            **{f"{wave}_{name}": (*(('fate = "modelled"',) if name == "age_cnt" else ()),
                                  _domain(low, high))
               for wave in ("f07", "s08") for name, (low, high) in RANGES.items()},
            "f07_formal_school": YES_NO, "nonoutlier": ('fate = "modelled"',),
            **dict.fromkeys(SCORES, ("bounds = [-4, 4]", "sd = 1.0")),
        },
        (*MOMENTS, 'cov_type = "CR1"', "[design]", 'kind = "cluster"', 'arms = ["treatment"]',
         'cluster = "clustercode"', "largest = 30"), "_age_cnt_2:treatment",
    ),
}  # fmt: skip
SERVED = {"hamlets": 5, "children": 18}
WRITTEN = {"hamlets": 26, "children": 60}
_DECLARED = re.compile(r"# (\[\[regression\]\]|(?:formula|where|weights|cluster|cov_type) = )")


def completed(draft: str, paper: Paper) -> str:
    """Return a draft with the answers of an author, and its regressions without their marks."""
    head, _, tail = draft.partition("\n# [moments]\n")
    declared = tail.partition("\n# The tables of the paper")[0].split("\n#\n")
    regressions = [
        line[2:] if paper.unserved not in one and _DECLARED.match(line) else line
        for one in declared
        for line in one.split("\n")
    ]
    for key, value in paper.instead.items():
        line = f"{key} = {value}" if value else ""
        head, found = re.subn(rf"^{key} = .*$", line, head, count=1, flags=re.MULTILINE)
        assert found, key
    parts = re.split(r"(?m)^(?=\[columns\.)", head)
    for place, part in enumerate(parts):
        facts = paper.columns.get(part[len("[columns.") : part.find("]")], ())
        for line in facts:
            part = re.sub(rf"(?m)^{line.partition(' =')[0]} = .*\n", "", part)
        first, _, rest = part.partition("\n")
        parts[place] = "\n".join([first, *facts, rest])
    text = "".join(parts)
    return "\n".join([text, *paper.sections, *regressions])


def by_hand(draft: str, text: str) -> int:
    """Lines of a study file that its draft does not have; marks that were taken away are none."""
    lines = [line.strip() for line in text.split("\n") if line.strip() and line[0] != "#"]
    known = Counter(line.removeprefix("# ").strip() for line in draft.split("\n"))
    return sum((Counter(lines) - known).values())


@pytest.mark.parametrize("name", PAPERS)
def test_a_published_do_file_reaches_a_package_unchanged(
    name: str, tmp_path: Path, shared: Path, command_line: Callable[..., Any]
) -> None:
    paper = PAPERS[name]
    do = shared / "data" / "do_files" / paper.do
    if not do.is_file():
        pytest.skip("needs the do-files of the project's shared/ folder")
    run = command_line(main)
    (tmp_path / "rep").mkdir()
    copy = tmp_path / "rep" / do.name
    shutil.copyfile(do, copy)
    data = paper.made(np.random.default_rng(7))
    write_dta(data, Schema.from_frame(data), tmp_path / "rep" / paper.data)
    drafted = run("describe", tmp_path / "rep" / paper.data, "--do", tmp_path / "rep",
                  "--treatment", paper.treatment, "--draft", tmp_path / "draft.toml")  # fmt: skip
    assert drafted.code == 0, drafted.err
    draft = (tmp_path / "draft.toml").read_text("utf-8")
    text = completed(draft, paper)
    (tmp_path / "study.toml").write_text(text, "utf-8")
    made = run("package", tmp_path / "study.toml", "--yes")
    assert made.code == 0, made.err
    (package,) = tmp_path.glob("*_package")
    assert (package / do.name).read_bytes() == do.read_bytes()
    (moments,) = package.glob("*.moments.json")
    again = run("verify", moments, "--do", package, "--expect", package / "expected.csv", "--json")
    assert again.code == 0, again.err
    assert "differ" not in again.err
    counted = Counter(re.findall(r'"verdict": "([^"]+)"', again.out))
    assert counted["valid"] >= SERVED[name]
    assert by_hand(draft, text) <= WRITTEN[name]
