"""Where the released covariates X~ of Hybrid and GenModel come from, and what they promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from dprct.errors import ParameterError, SchemaError
from dprct.published.charging import UNCHARGED
from dprct.published.histogram import MVHistogram
from dprct.records import dataclass
from dprct.release.histogram import Marginals
from dprct.release.histogram import MVHistogram as StrictHistogram
from dprct.results.receipt import Receipt
from dprct.schema.columns import FileFacts
from dprct.schema.tables import eager, numbers_of, text_of, validate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from dprct.privacy.accountant import Accountant
    from dprct.privacy.budget import Budget
    from dprct.privacy.noise import NoiseSource
    from dprct.release.release import ReleaseModel
    from dprct.results.plan import Plan
    from dprct.schema.schema import Schema
    from dprct.schema.tables import Frame

XMethod = Literal["strict", "marginals", "published"]
Columns = Mapping[str, "NDArray[Any]"]


@dataclass(frozen=True, eq=False)
class Covariates:
    """A source of released covariates."""

    names: tuple[str, ...]  # the columns that it gives
    # Bound to the confidential columns; None where there are none, or where they were given.
    model: ReleaseModel[Any, Any, Any] | None
    given: Columns  # (n,): released columns that the user brings

    @property
    def strict(self) -> bool:
        """Whether the columns, alone, keep a guarantee."""
        return isinstance(self.model, (StrictHistogram, Marginals))

    def plan(self, budget: Budget) -> Plan | None:
        """Return the plan of the covariates alone, where they cost or promise anything."""
        if self.model is None:
            return None
        # whose delta was checked against n with that of the whole release
        return self.model.plan(budget.epsilon, budget.delta, accept_large_delta=True)

    def words(self, budget: Budget) -> str:
        """Promise of the covariates, as a clause after "because"."""
        listed = ", ".join(self.names)
        if not self.names:
            return "there are no covariates"
        if self.model is not None and self.strict:
            return (
                f"the covariates ({listed}) alone, without any outcome, are differentially "
                f"private with {budget} for every {self.model.schema.unit.name} (replace-one)"
            )
        if self.model is not None:
            return f"the covariates ({listed}) come from Algorithm 1, which promises nothing either"
        return (
            f"the covariates ({listed}) were given by the user, and what they promise is not "
            "known here"
        )

    def charged(self, budget: Budget, accountant: Accountant | None, noise: NoiseSource) -> Receipt:
        """Charge what the covariates promise, before anything is drawn."""
        if self.strict:
            assert self.model is not None
            allocation = self.model._allocated(budget)
            receipt = self.model._charge(
                self.model.guarantee(budget), allocation, accountant, noise
            )
            return replace(receipt, words=f"{receipt.words} (for the covariates alone)")
        if accountant is not None:
            raise ParameterError(
                "an accountant was given, but nothing of this release has a guarantee, so it has "
                "no price; leave accountant out, or use ``x_method='strict'``"
            )
        return Receipt(UNCHARGED)

    def draw(self, budget: Budget, noise: NoiseSource) -> tuple[Mapping[str, Any], Columns]:
        """Return the released state, to be saved, and the columns X~, each (n,)."""
        if self.model is None:
            return {}, self.given
        drawn = self.model._draw(self.model._allocated(budget), noise)
        return self.model._state(drawn), self.model._columns(drawn, noise)


def covariates(
    data: Any, schema: Schema, names: Sequence[str], x_method: object, zeta: float | None
) -> Covariates:
    """Return the source of the covariates that ``x_method`` asks for.

    ``x_method`` is "strict", "marginals", "published" or a frame of n released rows; ``zeta`` is as
    in the histograms, and not for "marginals".
    """
    wanted = tuple(names)
    if not isinstance(x_method, str):
        if zeta is not None:
            raise ParameterError("zeta sets the bins of a histogram; leave it out for given rows")
        return Covariates(wanted, None, _given(x_method, schema, wanted, len(eager(data))))
    if x_method not in get_args(XMethod):
        raise ParameterError(
            f"``x_method={x_method!r}``; allowed: {', '.join(get_args(XMethod))}, or a data "
            "frame of released covariates"
        )
    if x_method == "marginals" and zeta is not None:
        raise ParameterError("zeta sets the bins of a histogram; leave it out for marginals")
    if not wanted:
        return Covariates(wanted, None, {})
    part = _part(schema, wanted)
    if x_method == "published":
        zeta = 2 / 3 if zeta is None else zeta
        return Covariates(wanted, MVHistogram(data, part, columns=wanted, zeta=zeta), {})
    if x_method == "strict":
        return Covariates(wanted, StrictHistogram(data, part, columns=wanted, zeta=zeta), {})
    return Covariates(wanted, Marginals(data, part, columns=wanted), {})


def _part(schema: Schema, wanted: tuple[str, ...]) -> Schema:
    """Return the schema of these columns and of the unit's id, everything else of it public."""
    key = schema.unit.id
    names = [name for name in schema.names if name in wanted or name == key]
    part = schema.select(names)
    columns = [
        replace(c, fate="modelled" if c.name in wanted else "drop", derived=None)
        for c in part.columns
    ]
    file = FileFacts(value_labels=schema.file.value_labels, rows=schema.file.rows)
    return replace(part.with_columns(columns), file=file)


def _given(frame: object, schema: Schema, wanted: tuple[str, ...], rows: int) -> Columns:
    found = eager(frame)
    if len(found) != rows:
        raise SchemaError(
            f"x_method is a frame of {len(found)} rows; give released covariates for all {rows}"
        )
    validate(schema, found, wanted)
    return arrays_of(found, schema, wanted)


def arrays_of(frame: Frame, schema: Schema, names: Iterable[str]) -> Columns:
    """Return columns of a frame, (n,), text as it is and numbers with their missing codes."""
    return {
        name: text_of(frame, name)
        if schema.column(name).is_text
        else np.array(numbers_of(frame, name)[0], np.float64)
        for name in names
    }
