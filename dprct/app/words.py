"""What the page says of each key of a study file: its label, what it is for, and what to type.

The page of the documentation on the study file is written from the same words.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from dprct.annotations import STUDY_FILE
from dprct.study.wording import in_toml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.annotations import Kinds

FACTS: Mapping[str, str] = {
    "fate": "What the protected file shows of it ([what each means](first_file.md)). An estimate "
    "shows no column, and needs none.",
    "levels": "Every possible value. Text is modelled with its levels alone.",
    "bounds": "Smallest and largest possible number.",
    "bins": "Number of equal bins within the bounds, or the inner edges of the bins.",
    "missing": 'The missing codes that may occur, such as `[".", ".a"]`.',
    "missing_policy": "What estimates do where it is missing: public (who has a value is public), "
    "private (who that is stays private), or the number that stands for it.",
    "role": "What the column is in the study; mostly the formula and `[design]` say it.",
    "built_from": "Whether a value depends on its own row alone (own) or also on other people, as "
    "an index that is standardised by the sample does (cohort).",
    "constants_public": "Whether the constants of such an index are published numbers.",
    "sd": "About its standard deviation, from public knowledge: it scales noise and plans errors.",
    "sd_within": "The same of deviations from the mean of a unit that has several rows.",
    "centre": "About its mean, from public knowledge.",
    "clip": "Whether values beyond the bounds count as the nearest bound; else they are refused.",
    "integer": "Whether all its values are whole numbers.",
    "coordinates": "Whether it is a latitude or a longitude, which is withheld, a key or dropped.",
    "confirmed": "Whether type, format and label of this column may be published.",
    "decimals": "How many digits after the point its values have.",
    "made_of": "Other columns of which it is made, where no expression says how. What is made of "
    "an arm is no covariate and no subgroup.",
    "exclusive": "A name that columns share of which at most one is 1 in a row, such as arms.",
    "derived": "An expression of other columns, from which the protected file computes it.",
    "label": "Its label in the protected file, if not that of the header.",
    "format": "Its format in the protected file, such as %9.2f.",
}
"""What the facts of a column mean."""

_LABELS: Mapping[str, str] = {
    "kind": "How treatment was assigned",
    "arms": "Arms",
    "arm": "The one column that holds the group",
    "shares": "Probability of each arm",
    "control_share": "Probability of no arm",
    "block": "Blocks (strata)",
    "cluster": "Clusters",
    "largest": "Most rows of a cluster",
    "icc": "Correlation within clusters, at most",
    "formula": "Regression",
    "formulas": "Regressions to serve best",
    "rest": "All other columns",
    "sample": "Only these rows",
    "zeta": "Bins by sample size",
    "accept_large_delta": "Accept a delta above 1/n",
    "max_rows": "Most rows of one unit",
    "id": "Column that identifies the unit",
    "name": "Name",
    "by": "Who declares the public facts",
    "confirm": "Go on although the plan refuses",
    "output": "Name of the file that is made",
    "do": "Do-files",
    "sd": "Standard deviation",
    "bounds": "Smallest, largest",
    "levels": "Possible values",
    "missing": "Missing codes",
    "fate": "What readers get",
    "trim": "Trim propensities at",
    "lam": "Ridge penalty",
    "clip": "Count values beyond the bounds as the bound",
}
"""Labels of keys whose own name is not yet one."""

_TAKES: Mapping[str, str] = {
    "text in quotes": "text",
    "a list of texts": "names with commas between them",
    "a list of numbers": "numbers with commas between them",
    "a list of texts or numbers": "values with commas between them",
    "two numbers in brackets": "two numbers, such as 0, 40",
    "a table of numbers": "by name, such as {income = 0.6, works = 0.4}",
    "a table": "by name, such as {income = 0.05}",
    "a table of lists": "by name, such as {income = [0, 40]}",
    "a table of texts": 'by name, such as {income = "0.8 * before"}',
    "a table of tables": 'by name, such as {cash = {kind = "complete"}}',
    "a list of lists": 'pairs, such as [["age", "female"]]',
    "true or false": "yes or no",
}
"""What a person types, where TOML would be written otherwise."""

_PARAMETERS = "Parameters\n----------\n"


def label(key: str) -> str:
    """Label of a field.

    Examples
    --------
    >>> label("kind"), label("treatment_time")
    ('How treatment was assigned', 'Treatment time')
    """
    return _LABELS.get(key, key.replace("_", " ").capitalize())


def takes(kinds: Kinds) -> str:
    """What a person types into a field, in words.

    Examples
    --------
    >>> from dprct.annotations import kinds_of
    >>> takes(kinds_of("float | tuple[str, ...]"))
    'a number, or names with commas between them'
    """
    return ", or ".join(
        dict.fromkeys(_TAKES.get(said, said) for said in STUDY_FILE.words(kinds).split(", or "))
    )


def meanings(kind: Any) -> dict[str, str]:
    """What the numpydoc section ``Parameters`` says of each name, in one line.

    Examples
    --------
    >>> from dprct.study.sections import TotalBudget
    >>> meanings(TotalBudget)["epsilon"]
    'The most that the ledger may ever charge.'
    """
    text = inspect.getdoc(kind) or ""
    _, _, part = text.partition(_PARAMETERS)
    part = re.split(r"\n\n[A-Z]\w+\n-+\n", part)[0]
    found: dict[str, str] = {}
    names: list[str] = []
    for line in part.splitlines():
        if line.startswith("    "):
            for name in names:
                found[name] = f"{found.get(name, '')} {line.strip()}".strip()
        elif line.strip():
            listed, _, kinds = line.partition(" : ")
            names = [name.strip() for name in listed.split(",")]
            if kinds.startswith("{"):
                found |= dict.fromkeys(names, f"{_choices(kinds)}:")
    return found


def plain(words: str) -> str:
    """Sentence of a docstring, or of a page, without its marks.

    Examples
    --------
    >>> plain("One of :data:`~dprct.study.methods.METHODS`, as ``x=True`` ([why](a.md)).")
    'One of METHODS, as x = true (why).'
    """
    words = re.sub(r":\w+:`~?(?:\w+\.)*(\w+)`", r"\1", words)
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words)
    words = in_toml(re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", words))
    return re.sub(r'^(?:"[^"]*"(?:, | or )?)+: ', "", " ".join(words.split()))


def _choices(kinds: str) -> str:
    """Admissible words of a docstring, without what Python alone has to know."""
    return kinds.strip("{}").replace("}", "").removesuffix(", optional")
