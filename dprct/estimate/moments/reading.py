"""Effects of arms, read off the released moments of groups: everybody's, and those of subgroups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dprct.arguments import Checked, given, listed_names
from dprct.errors import ColumnError, ParameterError
from dprct.estimate.contrasts import Contrast, arm_contrasts
from dprct.estimate.moments.effects import (
    CellMeans,
    Combinations,
    Unit,
    arm_means,
    arm_shares,
    effects_of,
    means_of,
    spread_within,
    stacked,
)
from dprct.estimate.moments.groups import blocks_of, public_rows, spelled
from dprct.estimate.moments.release import moments_of
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.estimate.moments.declared import Declared, Family, Instrumented
    from dprct.estimate.moments.effects import EffectResults
    from dprct.estimate.moments.groups import Group, Labels, Value
    from dprct.estimate.moments.index_models import IndexModel
    from dprct.estimate.moments.layout import Layout
    from dprct.estimate.moments.noisy import NoisyMoments
    from dprct.estimate.moments.release import DrawnMoments
    from dprct.privacy.budget import Guarantee
    from dprct.schema import Schema

    Array = NDArray[np.floating]

COUNTED = "Observations are counted from released, noisy numbers of people in groups."


class Read(NamedTuple):
    """The means of arms among some people, and of how many the control group's ``sd`` is."""

    means: Combinations
    sd: list[float]
    members: list[list[int]]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PublicGroups(Checked, ABC):
    """Groups of a release, and which of them are meant: the public facts of ``dprct.Moments``."""

    layout: Layout
    groups: tuple[Group, ...]
    arms: tuple[str, ...]
    treatment: tuple[str, ...]
    subgroups: tuple[str, ...]
    outcomes: tuple[str, ...]
    n: int

    def __repr__(self) -> str:
        size = f"{len(self.columns)} columns, {len(self.groups)} groups, {self.n:,} rows"
        return f"{type(self).__name__}({size})"

    @property
    def columns(self) -> tuple[str, ...]:
        """Released columns, including products; treatment and subgroups define groups instead."""
        return self.layout.names

    @property
    def group_columns(self) -> tuple[str, ...]:
        """Treatment and subgroups, which are the same for all rows of a group."""
        return tuple(dict.fromkeys([*self.treatment, *self.subgroups]))

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """Which effects are reported."""
        return arm_contrasts(self.arms)

    @property
    @abstractmethod
    def blocks(self) -> tuple[str, ...]:
        """What tells public blocks apart, each of which weighs as much as it has rows."""

    @abstractmethod
    def _labels(self, name: str) -> Labels:
        """Public labels of a column that makes groups."""

    @abstractmethod
    def _means(self, groups: list[int]) -> CellMeans:
        """Means of groups together."""

    @abstractmethod
    def _rows(self, groups: list[int], outcomes: Sequence[str]) -> Sequence[float]:
        """Rows of groups by which their block weighs, of every outcome."""

    def _inflated(self, cell: CellMeans, groups: list[int]) -> CellMeans:
        """Means with the sampling error that the design gives them."""
        return cell

    def _read(self, outcomes: Sequence[str], where: Mapping[str, Value] | None) -> Read:
        """Means of all arms, outcomes first, among the people of a condition."""
        members = dict(self._members(self.blocks, outcomes, where, missing=True, arms=True))
        if len({label[1:] for label in members}) == 1:  # an arm of nobody is not estimated
            (_, *block), *_ = members
            members |= {(a, *block): [] for a in self.arms if (a, *block) not in members}
        groups = list(members.values())
        cells = [self._means(one) if one else CellMeans.none(len(self.columns)) for one in groups]
        places = [self.layout.places[self.columns.index(name)] for name in outcomes]
        units = [
            Unit(self.columns.index(place.name), place.centre, place.scale, place.weight)
            for place in places
        ]
        rows = [self._rows(one, outcomes) if one else [1.0] * len(outcomes) for one in groups]
        labels = [(str(arm), tuple(block)) for arm, *block in members]
        shares = arm_shares(labels, np.array(rows).T, self.arms)
        sd = [spread_within(cells, one, shares[j, 0]) for j, one in enumerate(units)]
        inflated = [self._inflated(cell, one) for cell, one in zip(cells, groups, strict=True)]
        return Read(arm_means(inflated, units, shares), sd, groups)

    def _place(self, name: str) -> str:
        """Name of a released column, checked."""
        if name not in self.columns:
            raise ColumnError(f"column {name!r} was not released; {self._there()}")
        return name

    def _there(self) -> str:
        """Names of what the release has, for refusals."""
        groups = f"; groups: {', '.join(self.group_columns)}" if self.group_columns else ""
        return f"released: {', '.join(self.columns)}{groups}"

    def _members(
        self,
        by: Sequence[str],
        columns: Sequence[str],
        where: Mapping[str, Value] | None,
        *,
        missing: bool = False,
        arms: bool = False,
    ) -> list[tuple[tuple[Value, ...], list[int]]]:
        """Return the groups of each label; without those of a missing one unless ``missing``.

        A label has the values of the group columns ``by``, after the arm if ``arms``.
        """
        wanted = self._checked(where)
        used = [
            g
            for g, group in enumerate(self.groups)
            if all(group.value(name) == value for name, value in wanted.items())
            and not (set(group.absent) & self._columns_of(columns))
        ]
        members: dict[tuple[Value, ...], list[int]] = {}
        for g in used:
            group = self.groups[g]
            label = (*([group.arm] if arms else []), *(group.value(name) for name in by))
            members.setdefault(label, []).append(g)
        if not members:
            raise ParameterError(
                "no group of the release has values of all these columns; leave one out"
            )
        return [(label, gs) for label, gs in members.items() if missing or None not in label]

    def _columns_of(self, names: Sequence[str]) -> set[str]:
        return {
            column
            for place in self.layout.places
            if place.variable.name in names
            for column in place.variable.columns
        }

    def _levels(self, name: str) -> list[Value]:
        """Levels of a column that makes groups; of blocks in the order of their names."""
        if name not in self.group_columns:
            raise ColumnError(
                f"``where=`` names ``{given(name)}``, which makes no groups of this release; "
                f"groups: {', '.join(self.group_columns) or 'none'}"
            )
        found = list(dict.fromkeys(group.value(name) for group in self.groups))
        return sorted(found, key=spelled) if name in self.blocks else found

    def _conditions(self, where: str | Mapping[str, Value] | None) -> list[Mapping[str, Value]]:
        """People of every part that is asked for: one, or one for each level of a subgroup."""
        if not isinstance(where, str):
            return [self._checked(where)]
        return [{where: level} for level in self._levels(where) if level is not None]

    def _checked(self, where: Mapping[str, Value] | None) -> dict[str, Value]:
        """Condition on groups, checked."""
        if where is None:
            return {}
        if not isinstance(where, Mapping):
            raise ParameterError(
                f"``where={given(where)}``; give a ``mapping``, such as ``{{'female': 1}}``"
            )
        found: dict[str, Value] = {}
        for name, value in where.items():
            known, labels = self._levels(name), self._labels(name)
            codes = {said: code for code, said in labels.items()}
            found[name] = codes.get(value, value) if isinstance(value, str) else value
            if found[name] not in known:
                there = (
                    "." if x is None else x if isinstance(x, str)
                    else f"{x:.15g}" + f" ({labels.get(x)})" * (x in labels) for x in known
                )  # fmt: skip
                raise ParameterError(
                    f"``where=`` asks for ``{name}={given(value)}``; levels are {', '.join(there)}"
                )
        return found

    def _where_note(self, where: str | Mapping[str, Value] | None) -> tuple[str, ...]:
        """Whose effects they are, as a sentence; none of everybody."""
        if not where:
            return ()
        if isinstance(where, str):
            return (f"Within every level of {where}.",)
        each = self._checked(where).items()
        said = (f"{name}={spelled(value, self._labels(name))}" for name, value in each)
        return (f"Among those with {', '.join(said)}.",)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ReleasedGroups(PublicGroups):
    """Moments of groups as released, off which effects of arms are read."""

    totals: tuple[int, ...]
    drawn: DrawnMoments
    guarantee: Guarantee
    ledger: str
    alphas: tuple[float, ...] = (0.05,)

    @cached_property
    def cells(self) -> tuple[NoisyMoments, ...]:
        """The released moments of every group, in units of z."""
        return tuple(
            moments_of(self.layout, sums, self.drawn.sigma, group.rows)
            for sums, group in zip(self.drawn.sums, self.groups, strict=True)
        )

    @property
    def blocks(self) -> tuple[str, ...]:
        """Subgroups whose cells are public; each is weighted by its number of rows."""
        return blocks_of(self.groups, self.totals, self.subgroups)

    @property
    def _title(self) -> str:
        """First line of effects."""
        return f"Effects against {self.arms[0]}, from released moments"

    def effects(
        self,
        outcomes: str | Sequence[str] | None = None,
        *,
        where: str | Mapping[str, Value] | None = None,
    ) -> EffectResults:
        """Return the effect of every arm on every outcome, with their joint covariance.

        Parameters
        ----------
        outcomes : str or sequence of str, optional
            By default those of the formulas of the release, else all its columns.
        where : str, or mapping from subgroup to level, optional
            ``{"female": 1}``: among these people alone.  ``"female"``: within every level of this
            subgroup, side by side; outcomes are then named ``"y if female=1"``, and the covariance
            is joint over the levels, whose people differ, so that ``lincom`` and ``wald_test``
            compare subgroups.

        Returns
        -------
        EffectResults
            Differences in means: of each arm and the control group.  Blocks of the design that
            make groups weigh as much as they have rows.

        Raises
        ------
        ParameterError
            If the release has no arms.
        ColumnError
            If an outcome was not released, or a column makes no groups.
        """
        asked = self.outcomes if outcomes is None else listed_names(outcomes, "outcomes")
        for name in asked:
            self._place(name)
        conditions = self._conditions(where)
        read = [self._read(asked, one) for one in conditions]
        means = stacked([one.means for one in read])
        names, title = list(asked), self._title
        if isinstance(where, str):
            labels = self._labels(where)
            names = [within(y, where, one[where], labels) for one in conditions for y in asked]
            title = f"{title}: by {where}"
        used = [g for one in read for groups in one.members for g in groups]
        everybody = len(used) == len(self.groups)
        nobs = self.n if everybody else round(sum(self.cells[g].n for g in used))
        noisy = not everybody and any(self.groups[g].rows is None for g in used)
        counted = (COUNTED,) if noisy else ()
        unit = np.array([place.scale / place.weight for place in self.layout.places])
        return effects_of(
            means, names, self.contrasts, self.arms, [sd for one in read for sd in one.sd],
            guarantee=self.guarantee, ledger=self.ledger, alphas=self.alphas, source=self,
            outcome=", ".join(asked), nobs=nobs,
            formula=f"{' + '.join(asked)} ~ {' + '.join(self.arms[1:])}",
            df_resid=float(nobs - len(means.cells)), title=title,
            units=np.tile(unit, (len(means.cells), 1)), columns=self.layout.names,
            notes=(*self._notes(asked), *self._where_note(where), *counted),
        )  # fmt: skip

    def _means(self, groups: list[int]) -> CellMeans:
        return means_of(self._added(groups))

    def _rows(self, groups: list[int], outcomes: Sequence[str]) -> Sequence[float]:
        # a noisy weight of a block would add an error that no variance has
        return [float(public_rows(self.groups, self.totals, groups))] * len(outcomes)

    def _notes(self, outcomes: Sequence[str]) -> tuple[str, ...]:
        """Sentences below effects."""
        return ()

    def _pooled(
        self,
        by: Sequence[str],
        columns: Sequence[str],
        where: Mapping[str, Value] | None,
        *,
        arms: bool = False,
    ) -> list[tuple[tuple[Value, ...], NoisyMoments]]:
        """Return the moments of rows that have all ``columns``, added up by group columns."""
        members = self._members(by, columns, where, missing=True, arms=arms)
        return [(label, self._added(groups)) for label, groups in members]

    def _added(self, groups: Sequence[int]) -> NoisyMoments:
        """Return groups together; of all cells of a public group, its public number of rows."""
        first, *others = [self.cells[g] for g in groups]
        inner = len(self.groups) // len(self.totals)
        whole: dict[int, int] = {}
        for g in groups:
            whole[g // inner] = whole.get(g // inner, 0) + 1
        complete = (
            self.layout.grid.weight is None
            and inner > 1
            and all(count == inner for count in whole.values())
        )
        rows = sum(self.totals[one] for one in whole) if complete else None
        return first.pooled(*others, rows=rows) if others or rows is not None else first


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ReleasedMoments(ReleasedGroups):
    """Contents of a release of moments, for a document to hold; see ``dprct.Moments``."""

    schema: Schema
    method: str
    facts_sha256: str
    sealed: str
    declared: tuple[Declared, ...] = ()
    withheld: str = ""
    instrumented: tuple[Instrumented, ...] = ()
    families: tuple[Family, ...] = ()
    models: tuple[IndexModel, ...] = ()

    def _labels(self, name: str) -> Labels:
        return self.schema.public_labels(name)


def within(outcome: str, subgroup: str, level: Value, labels: Labels) -> str:
    """Name of an outcome within a level."""
    return f"{outcome} if {subgroup}={spelled(level, labels)}"
