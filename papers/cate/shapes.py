"""Figure 1: the effect along age, by epsilon, as each form learns it from one sample."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from dprct import plots
from dprct.disk import atomic_write
from dprct.estimate.cate import CATE
from dprct.published.cate import CATE as Published
from papers.cate.designs import stream
from papers.cate.forms import DELTA, framed, schema_of
from papers.runner import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from papers.cate.designs import Design

AGE = "age"
EPSILONS = (1.0, 2.0, 4.0, 8.0, 16.0, 128.0)
MOST_STRICT = 16.0
"""From here on to the paper's 128 no exact sampler reaches the noise of the one-step learner."""

OTHERS = {"female": 1.0, "voted before": 1.0, "household": 2.0}
"""Where the other features are held."""

FORMS = {
    "ebm dr, printed": "DP-EBM DR, as printed",
    "ebm dr": "DP-EBM DR, mended",
    "one-step": "one-step DR, known e",
}


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

    FORMAT: ClassVar[int] = 1

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
                if form == "one-step" and epsilon > MOST_STRICT:
                    continue
                model: Any
                if form == "one-step":
                    model = CATE(frame, schema, features=design.names, clip=design.clip,
                                 propensity=design.propensity, **options)  # fmt: skip
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
        # the truth, of those who voted before
        true = -1 / (2 + 100 / ages)
        found.append(
            pd.DataFrame({"form": "true", "epsilon": 0.0, "age": ages,
                          "effect": true - true.mean()})
        )  # fmt: skip
        return pd.concat(found, ignore_index=True)


def write_figure(folder: Path, shapes: pd.DataFrame) -> Path:
    """Draw ``figure_1.png``: one panel a form, one curve an epsilon, and the truth.

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
        ax.plot(true["age"], true["effect"], color="black", ls="--", lw=1, label="true")
        ax.set(xlabel="age", ylabel="effect, less its mean", title=title)
        reach = 2.5 * float(np.abs(true["effect"]).max())
        ax.set_ylim(-reach, reach)
    axes[0].legend(fontsize=6)
    figure: Any = axes[0].figure
    path = folder / "figure_1.png"
    try:
        with atomic_write(path, "wb") as file:
            figure.savefig(file, format="png", dpi=100)
    finally:
        import_module("matplotlib.pyplot").close(figure)
    return path
