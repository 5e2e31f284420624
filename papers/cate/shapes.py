"""Figure 1: the effect along age, by epsilon, as each form learns it from one sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from dprct import plots
from dprct.estimate.cate.model import CATE
from dprct.published.cate import CATE as Published
from papers.cate.designs import stream
from papers.cate.forms import DELTA, framed, schema_of
from papers.runner import Settings, save_figure

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from papers.cate.designs import Design

    Array = NDArray[np.float64]

AGE = "age"
EPSILONS = (1.0, 2.0, 4.0, 8.0, 16.0, 128.0)
MOST_STRICT = 16.0
"""From here on to the paper's 128 no exact sampler reaches the noise of the one-step learner."""

OTHERS = {"female": 1.0, "voted before": 1.0, "household": 2.0}
"""Where the other features are held."""

FORMS = {
    "ebm dr, printed": "DP-EBM DR, as printed",
    "ebm dr": "DP-EBM DR, corrected",
    "one-step, split": "one-step DR, estimated e",
    "one-step": "one-step DR, known e",
}
PRIVATE = ("one-step", "one-step, split")


@dataclass(frozen=True, slots=True)
class Shapes(Settings):
    """Everything that the curves depend on.

    Parameters
    ----------
    design : str
    n : int
    seed : int
    data : str
        Hash of the data.
    """

    # 2: the true curve is the effect's additive part, and no longer that of those who voted before
    FORMAT: ClassVar[int] = 2

    design: str
    n: int
    seed: int
    data: str

    @property
    def label(self) -> str:
        """What the cell is, for people."""
        return f"{self.design} shapes {self.n}"

    def compute(self, design: Design) -> pd.DataFrame:
        """Return ``form, epsilon, age, effect``: the effect along age, less its mean."""
        frame = framed(design, design.train(self.n, stream(self.seed, 1, self.n)))
        schema = schema_of(design)
        options: dict[str, Any] = {"outcome": "y", "treatment": "t"}
        low, high = next(f[1:] for f in design.features if f[0] == AGE)
        ages = np.linspace(low, high, 200)
        rows = pd.DataFrame({AGE: ages, **OTHERS})[list(design.names)]
        found = []
        for form in FORMS:
            for k, epsilon in enumerate(EPSILONS):
                if form in PRIVATE and epsilon > MOST_STRICT:
                    continue
                model: Any
                if form in PRIVATE:
                    e = design.propensity if form == "one-step" else None
                    model = CATE(frame, schema, features=design.names, clip=design.clip,
                                 propensity=e, **options)  # fmt: skip
                else:
                    model = Published(frame, schema, features=design.names,
                                      accept_uncertified=True,
                                      as_printed=form.endswith("printed"), **options)  # fmt: skip
                effect = model.fit(epsilon, DELTA, rng=self.seed + k).effect(rows)
                effect = np.asarray(effect, np.float64)
                found.append(
                    pd.DataFrame(
                        {"form": form, "epsilon": epsilon, "age": ages,
                         "effect": effect - effect.mean()}
                    )
                )  # fmt: skip
        everybody = design.everybody()
        true = additive_part(everybody.X, everybody.tau, design.names.index(AGE), ages)
        found.append(
            pd.DataFrame({"form": "true", "epsilon": 0.0, "age": ages,
                          "effect": true - true.mean()})
        )  # fmt: skip
        return pd.concat(found, ignore_index=True)


def additive_part(X: Array, effect: Array, feature: int, at: Array) -> Array:
    """One feature's part (m,) of the sum of such functions that is nearest to an effect.

    An additive learner estimates this, where an effect is none: among the people (n, p) the sum
    with the smallest mean squared distance from their effects (n,), less a constant.

    Parameters
    ----------
    X : (n, p) array
        Features of few values each.
    effect : (n,) array
    feature : int
    at : (m,) array
        Values of the feature; between those that people have, interpolated.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> f = additive_part(X, X[:, 0] * X[:, 1], 0, np.array([0.0, 1.0]))
    >>> round(float(f[1] - f[0]), 6)  # half of the people have the other
    0.5
    """
    cells, where, counts = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    mean = np.bincount(where.ravel(), effect) / counts
    dummies, own = [], np.zeros(0)
    for k, column in enumerate(cells.T):
        levels, codes = np.unique(column, return_inverse=True)
        dummies.append(np.eye(len(levels))[codes])
        own = levels if k == feature else own
    weights = np.sqrt(counts)[:, None]
    found = np.linalg.lstsq(np.hstack(dummies) * weights, mean * weights[:, 0], rcond=None)[0]
    start = sum(part.shape[1] for part in dummies[:feature])
    return np.asarray(np.interp(at, own, found[start : start + len(own)]))


def write_figure(folder: Path, shapes: pd.DataFrame) -> Path:
    """Draw ``figure_1.png``: one panel a form, one curve an epsilon, and the true additive part.

    Raises
    ------
    MissingDependencyError
        Without matplotlib.
    FileError
        If it cannot be written.
    """
    axes = plots.panels(len(FORMS), size=(5.0, 4.0))
    true = shapes[shapes["form"].eq("true")]
    for ax, (form, title) in zip(axes, FORMS.items(), strict=True):
        for epsilon, part in shapes[shapes["form"].eq(form)].groupby("epsilon"):
            ax.plot(part["age"], part["effect"], lw=1, label=f"epsilon {epsilon:g}")
        ax.plot(
            true["age"], true["effect"], color="black", ls="--", lw=1, label="true, additive part"
        )
        ax.set(xlabel="age", ylabel="effect, less its mean", title=title)
        reach = 2.5 * float(np.abs(true["effect"]).max())
        ax.set_ylim(-reach, reach)
    axes[0].legend(fontsize=6)
    return save_figure(folder / "figure_1.png", axes)
