"""What a document of released moments has: its parts, as they are read and as its schema says them.

``scripts/json_schemas.py`` writes ``moments.schema.json`` from these classes.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- read by DOCUMENT
from typing import Annotated, Literal, NotRequired, TypedDict

from dprct.annotations import Count, Sha256  # noqa: TC001 -- read by DOCUMENT
from dprct.estimate.moments.declared import Declared, Family, Instrumented
from dprct.estimate.moments.index_models import IndexModel
from dprct.privacy.budget import GuaranteeContent  # noqa: TC001 -- read by DOCUMENT
from dprct.records import dataclass

Above0 = Annotated[float, {"exclusiveMinimum": 0}]
OrNone = tuple[float | None, ...]


class SealContent(TypedDict):
    """The public facts that the release rests on."""

    sha256: Sha256
    sealed: str


class ColumnContent(TypedDict):
    """Public facts of a column."""

    type: str
    label: str
    bounds: tuple[float, float] | None
    levels: tuple[float | str, ...] | None
    missing: tuple[str, ...] | None
    labels: NotRequired[
        Annotated[
            tuple[tuple[int | str, str], ...],
            "its value labels, where they are public: code, a number or a missing code, and label",
            {"minItems": 1},
        ]
    ]


class VariableContent(TypedDict):
    """One column of the released matrix."""

    name: str
    parts: Annotated[
        tuple[tuple[str, Count | None, float | None], ...],
        "column, code of its level or null, what stands for a missing value or null",
        {"minItems": 1},
    ]
    centre: float
    scale: Above0
    weight: Above0
    exempt: bool
    declared: bool
    within: NotRequired[
        Annotated[
            str,
            "the column of the units whose means x loses before that; of such columns centre is 0",
        ]
    ]


class LayoutContent(TypedDict):
    """Where the noise goes."""

    radius: Above0
    shrunk_radius: Annotated[float, {"minimum": 0}]
    constant: Annotated[int, {"minimum": 1, "maximum": 65536}]
    count: bool
    rows: Annotated[
        int,
        "the most rows of one unit, all of which are in the ball together",
        {"minimum": 1},
    ]
    weights: NotRequired[
        Annotated[
            tuple[str, float | None],
            "the column of weights, and what stands for a missing one",
        ]
    ]
    clipped: NotRequired[
        Annotated[
            int,
            "the factor of the numbers of rows outside the ball of covariates",
            {"minimum": 1},
        ]
    ]


class GroupContent(TypedDict):
    """One group of rows."""

    arm: str
    values: tuple[tuple[str, float | str | None], ...]
    absent: tuple[str, ...]
    rows: Count | None
    told: Count


class ScoresContent(TypedDict):
    """Squares of the scores of one regression."""

    outcome: str
    regressors: Annotated[tuple[str, ...], {"minItems": 1}]
    sigma: Above0
    sums: tuple[int, ...]


class StepContent(TypedDict):
    """What was released of one declared regression."""

    params: OrNone
    sampling: OrNone
    spread: tuple[float, ...]
    noise: OrNone
    basis: NotRequired[
        Annotated[
            OrNone,
            "of products with covariates, and of people whom private columns choose: the "
            "coefficients are these combinations",
        ]
    ]
    covariance: NotRequired[
        Annotated[
            OrNone,
            "of the same: of the noise, its upper triangle",
        ]
    ]
    rows: NotRequired[
        Annotated[
            OrNone,
            "of a condition on private columns: about how many meet it; null where they are too "
            "few",
            {"minItems": 1, "maxItems": 1},
        ]
    ]


@dataclass(frozen=True, kw_only=True)
class RegressionContent(Declared):
    """One declared regression, and what was released of it."""

    drawn: StepContent


class StagesContent(TypedDict):
    """Covariance of the coefficients of two stages."""

    sampling: tuple[float]
    spread: tuple[float]


@dataclass(frozen=True, kw_only=True)
class InstrumentedContent(Instrumented):
    """One regression with an instrument."""

    drawn: StagesContent


class CrossContent(TypedDict):
    """Covariances of a pair of regressions, row by row."""

    alike: bool
    sampling: Annotated[tuple[float, ...], {"minItems": 1}]
    spread: Annotated[tuple[float, ...], {"minItems": 1}]


@dataclass(frozen=True, kw_only=True)
class FamilyContent(Family):
    """Regressions that are tested together."""

    drawn: Annotated[tuple[CrossContent, ...], {"minItems": 1}]


class DeclaredContent(TypedDict):
    """The declared regressions."""

    share: Annotated[
        str,
        "of mu squared, what moments had",
    ]
    withheld: Annotated[
        str,
        "why no errors are read off the moments",
    ]
    regressions: Annotated[tuple[RegressionContent, ...], {"minItems": 1}]
    instrumented: NotRequired[
        Annotated[
            tuple[InstrumentedContent, ...],
            "regressions with an instrument: the places of reduced form and "
            "first stage among the regressions, and the covariance of their coefficients",
            {"minItems": 1},
        ]
    ]
    joint: NotRequired[
        Annotated[
            tuple[FamilyContent, ...],
            "regressions that are tested together: their places among the "
            "regressions, and the covariances of each pair, row by row; alike: entries across "
            "the diagonal are one draw",
            {"minItems": 1},
        ]
    ]


class DrawnIndexContent(TypedDict):
    """What was released of one model of an index."""

    params: OrNone
    sampling: Annotated[OrNone, "the upper triangle"]
    noise: Annotated[OrNone, "covariance of the noise, its upper triangle"]
    eta2: Annotated[float | None, "noise of the information against itself; null where it is more"]
    remainder: Annotated[float | None, "half the mean squared change of the index in the last step"]
    range: Annotated[tuple[float, ...], "of each regressor, by which errors are compared with it"]
    nobs: float
    mean: NotRequired[
        Annotated[tuple[float, ...], "of each regressor, among the rows or weights that count"]
    ]
    spread: NotRequired[Annotated[tuple[float, ...], "their covariance, its upper triangle"]]


@dataclass(frozen=True, kw_only=True)
class IndexModelContent(IndexModel):
    """One declared logit, probit, cloglog or Poisson regression, and what was released of it."""

    drawn: DrawnIndexContent


class ModelsContent(TypedDict):
    """The declared models of an index."""

    share: Annotated[str, "of mu squared, what moments had"]
    of_index: Annotated[tuple[IndexModelContent, ...], {"minItems": 1}]


class MomentsContent(TypedDict):
    """A release of moments as a document."""

    moments: Annotated[Literal[7], "the version"]
    dprct: str
    method: str
    dataset_id: str | None
    n: Count
    guarantee: GuaranteeContent
    ledger: str
    schema: SealContent
    columns: Mapping[str, ColumnContent]
    variables: Annotated[
        tuple[VariableContent, ...],
        "what is released: z = weight (x - centre) / scale, x the product of the parts",
        {"minItems": 1},
    ]
    layout: Annotated[
        LayoutContent,
        "one step of the sums is radius / 65536 in units of z; the constant is in steps",
    ]
    treatment: tuple[str, ...]
    subgroups: tuple[str, ...]
    arms: tuple[str, ...]
    outcomes: tuple[str, ...]
    totals: Annotated[tuple[Count, ...], "rows of each public group", {"minItems": 1}]
    groups: Annotated[tuple[GroupContent, ...], {"minItems": 1}]
    sigma: Annotated[
        float,
        "standard deviation of the noise of one draw, in steps squared",
        {"exclusiveMinimum": 0},
    ]
    sums: Annotated[
        tuple[tuple[int, ...], ...],
        "of each group the upper triangle, row by row, of twice the noisy sum "
        "of r r', r = (constant, steps of z): off the diagonal two draws of the same sum, on "
        "it one draw twice, the corner exact where rows are public",
        {"minItems": 1},
    ]
    scores: Annotated[
        tuple[ScoresContent, ...],
        "of regressions with robust errors, the upper triangle of twice the "
        "noisy sum of g g' over units, g being the score in steps of its ball",
    ]
    clipped: NotRequired[
        Annotated[
            tuple[int, ...],
            "of each group the rows outside the ball, times the factor of the "
            "layout, with the noise of one draw",
        ]
    ]
    digest: Sha256
    declared: NotRequired[
        Annotated[
            DeclaredContent,
            "the declared regressions that one step served",
        ]
    ]
    models: NotRequired[
        Annotated[
            ModelsContent,
            "the declared models of an index: logits and their like",
        ]
    ]
