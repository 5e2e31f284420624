"""Whether a file of all combinations can be released, and with how many bins it could be."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dprct.app.points import button
from dprct.app.words import IN_A_SURVEY, METHOD_NAMES
from dprct.errors import DprctError
from dprct.records import dataclass
from dprct.study.header_plan import combinations
from dprct.study.study import study_from

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from dprct.app.points import Point
    from dprct.schema.schema import Schema

JOINT = "mv_histogram"
_BINS = (8, 6, 5, 4, 3)
_OTHERS = ("marginals", "moments")
_GO_ON = "Release it although unrelated answers would look related"


@dataclass(frozen=True)
class Crowded:
    """A file of all combinations that is refused: there are too many for the rows."""

    # cells, threshold, rows: combinations, the rows that each needs, and the rows that there are.
    cells: int
    threshold: int
    rows: int
    bins: int  # with so many bins it could be released; 0 if with none
    columns: tuple[str, ...]  # the columns of which that is the number of bins

    @property
    def words(self) -> str:
        """What is too much, in words that need no formula."""
        return (
            f"There are {self.cells:,} combinations of answers for {self.rows:,} rows, and each is "
            f"released with about {self.threshold:,} rows or more. On the few that remain, answers "
            "that have nothing to do with each other would look related. Take fewer bins or fewer "
            "columns, a larger epsilon, or another method."
        )

    def remedies(self) -> Iterator[Mapping[str, Any]]:
        """Buttons: fewer bins where that is enough, then other methods, then to go on anyway."""
        if self.bins:
            of = ", ".join(self.columns)
            yield button(
                f"Take {self.bins} bins for {of}",
                [(("columns", name, "bins"), str(self.bins)) for name in self.columns],
            )
        for method in _OTHERS:
            name = IN_A_SURVEY.get(method, METHOD_NAMES[method])[0]
            yield button(f"Take “{name}”", [(("release", "method"), method)])
        yield button(_GO_ON, [(("release", "confirm"), "true")])


def crowded(document: Mapping[str, Any], path: Path, header: Schema, rows: int) -> Crowded | None:
    """Why a file of all combinations would be refused; None if it would not, or is not whole.

    The method of the study may be another one: it is asked as if it were this.
    """
    asked = {**document, "release": {**document.get("release", {}), "method": JOINT}}
    try:
        found = combinations(study_from(asked, path), header, rows)
        if found is None or not _is_refused(asked, path, header, rows):
            return None
        binned = tuple(name for name in found.columns if _has_bins(document, name))
        enough = (b for b in _BINS if not _is_refused(_with(asked, binned, b), path, header, rows))
        bins = next(enough, 0) if binned else 0
    except DprctError:  # something else is open, and is reported
        return None
    return Crowded(found.cells, found.threshold, found.rows, bins, binned)


def _is_refused(asked: Mapping[str, Any], path: Path, header: Schema, rows: int) -> bool:
    """Whether only the plan refuses it; other open points are asked for first."""
    found = study_from({**asked}, path).problems(header, rows, confirm=False)
    return any(point.startswith("[release]") for point in found)


def _has_bins(document: Mapping[str, Any], name: str) -> bool:
    facts = document.get("columns", {}).get(name, {})
    return "bounds" in facts and not isinstance(facts.get("bins"), list)


def _with(asked: Mapping[str, Any], names: tuple[str, ...], bins: int) -> dict[str, Any]:
    made: dict[str, Any] = copy.deepcopy({**asked})
    for name in names:
        made["columns"][name]["bins"] = bins
    return made


def narrowed(point: Point, found: Crowded | None) -> Point:
    """Replace an open point about the plan by what is too much, where the method is chosen."""
    if found is None or point.at != ("release", "confirm"):
        return point
    at = ("release", "method")
    return replace(point, at=at, words=found.words, remedies=tuple(found.remedies()))
