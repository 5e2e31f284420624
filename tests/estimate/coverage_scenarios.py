"""Simulated experiments for the coverage of private effects; tests and the docs page use them.

Outcomes are drawn alike in all arms, so that every effect on the clipped outcome is zero.  What is
simulated is the released path, many runs at once; its noise comes from a seeded generator.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from dprct.estimate.ate.release import Outcome
from dprct.estimate.noise_law import correction, quantile
from dprct.privacy.mechanisms import DiscreteLaplace
from dprct.privacy.noise import NoiseSource, source
from dprct.queries.covariates import with_residual
from dprct.queries.sums import GRID, Arms, _arm_statistics, arm_aggregates, rounded
from dprct.schema import Column
from dprct.schema.tables import eager

Array = np.ndarray[Any, np.dtype[np.float64]]
Draw = Callable[[np.random.Generator, int], Array]

LEVELS = (0.05, 0.01)
ROWS = 400_000
"""Rows that are simulated at once."""


@dataclass(frozen=True)
class Scenario:
    """An experiment that is run many times.

    Parameters
    ----------
    law : str
        Name of the law of the outcomes, with its bounds.
    sizes : tuple of int
        Rows of each arm, control first.
    weights : tuple of Fraction, optional
        Contrast of the arm means; the first arm against control if not given.
    cluster, blocks : int
        Rows per cluster, number of equal blocks.
    unit : str
        What one record is.
    index : bool
        Whether a public index takes off what a covariate explains.
    floor : float
        Least coverage that a 95% interval is known to reach, where the difference in means is far
        from normal.
    """

    law: str
    sizes: tuple[int, ...]
    epsilon: float
    weights: tuple[Fraction, ...] = ()
    cluster: int = 1
    blocks: int = 1
    unit: str = "person"
    index: bool = False
    floor: float = 0.95
    design: str = field(default="two arms")

    @property
    def contrast(self) -> tuple[Fraction, ...]:
        """The weights of the arm means."""
        rest = (Fraction(0),) * (len(self.sizes) - 2)
        return self.weights or (Fraction(-1), Fraction(1), *rest)


@dataclass(frozen=True)
class Simulated:
    """What runs of a scenario gave, by level: shares that cover and mean widths."""

    runs: int
    covered: dict[float, int]
    width: dict[float, float]
    plain_covered: dict[float, int]
    plain_width: dict[float, float]
    rmse: float
    plain_rmse: float


def zero_inflated(rng: np.random.Generator, n: int) -> Array:
    return np.where(rng.random(n) < 0.6, 0, rng.poisson(3, n)).astype(float)


def binary(p: float) -> Draw:
    return lambda rng, n: (rng.random(n) < p).astype(float)


LAWS: dict[str, tuple[Draw, tuple[float, float]]] = {
    "normal(0, 3.5)": (lambda rng, n: rng.normal(0, 3.5, n), (-15, 30)),
    "normal(0, 3.5), close": (lambda rng, n: rng.normal(0, 3.5, n), (-14, 14)),
    "lognormal(0, 1)": (lambda rng, n: np.exp(rng.normal(0, 1, n)), (0, 30)),
    "zero-inflated counts": (zero_inflated, (0, 15)),
    "Poisson(0.5)": (lambda rng, n: rng.poisson(0.5, n).astype(float), (0, 20)),
    "binary 50%": (binary(0.5), (0, 1)),
    "binary 2%": (binary(0.02), (0, 1)),
    "all at a bound": (lambda rng, n: np.zeros(n), (0, 1)),
    "12 + age/2 + normal(0, 2)": (lambda rng, n: rng.normal(0, 2, n), (-10, 15)),
}

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
MAIN = (-HALF, HALF, -HALF, HALF)
INTERACTION = (Fraction(1), Fraction(-1), Fraction(-1), Fraction(1))
MAIN_OF_THREE = (-QUARTER, QUARTER) * 4
A_B = (Fraction(0), Fraction(1), Fraction(-1), Fraction(0))

FAST = {
    "normal": Scenario("normal(0, 3.5)", (500, 500), 1),
    "zero-inflated": Scenario("zero-inflated counts", (500, 500), 1),
    "binary 2%": Scenario("binary 2%", (500, 500), 1),
    "three arms": Scenario("zero-inflated counts", (300,) * 3, 1, design="three arms"),
    "main effect": Scenario(
        "zero-inflated counts", (250,) * 4, 1, MAIN, design="2 x 2, main effect"
    ),
    "blocks": Scenario("normal(0, 3.5)", (400, 200), 2, blocks=4, design="four blocks"),
    "blocked clusters": Scenario(
        "normal(0, 3.5)", (400, 400), 2, cluster=8, blocks=2, design="clusters of 8 in two blocks"
    ),
    "index": Scenario(
        "12 + age/2 + normal(0, 2)", (500, 500), 1, index=True, design="two arms, index"
    ),
}


def grid() -> dict[str, Scenario]:
    """Return the scenarios of the full run by name."""
    found = dict(FAST)
    for n, epsilon in (
        *((100, e) for e in (1, 4, 16)),
        *((1_000, e) for e in (0.25, 4, 16)),
        *((4_000, e) for e in (0.25, 1)),
        *((20_000, e) for e in (0.25, 1)),
    ):
        found[f"normal, n={n}, eps={epsilon}"] = Scenario("normal(0, 3.5)", (n // 2,) * 2, epsilon)
    for law, n, epsilon in (
        ("binary 50%", 1_000, 1),
        ("binary 50%", 100, 4),
        ("binary 2%", 1_000, 4),
        ("binary 2%", 20_000, 1),
        ("lognormal(0, 1)", 1_000, 1),
        ("lognormal(0, 1)", 4_000, 1),
        ("lognormal(0, 1)", 4_000, 4),
        ("zero-inflated counts", 1_000, 4),
        ("zero-inflated counts", 1_000, 16),
        ("Poisson(0.5)", 1_000, 1),
        ("Poisson(0.5)", 4_000, 4),
        ("all at a bound", 1_000, 1),
        ("all at a bound", 1_000, 16),
    ):
        found[f"{law}, n={n}, eps={epsilon}"] = Scenario(law, (n // 2,) * 2, epsilon)
    unequal = "10 of 1,000 treated"
    for epsilon in (1, 4, 16):
        found[f"{unequal}, eps={epsilon}"] = Scenario(
            "normal(0, 3.5), close", (990, 10), epsilon, design=unequal
        )
    found["100 of 1,000 treated"] = Scenario(
        "normal(0, 3.5), close", (900, 100), 1, design="100 of 1,000 treated"
    )
    # the difference in means is not normal here: without much noise, no interval that takes it so
    # can cover
    for epsilon, floor in ((16, 0.95), (1_000, 0.7)):
        found[f"lognormal, 10 treated, eps={epsilon}"] = Scenario(
            "lognormal(0, 1)", (990, 10), epsilon, design=unequal, floor=floor
        )
    found["binary 2%, n=100"] = Scenario("binary 2%", (50, 50), 16)
    for epsilon in (1, 4):
        four = ("zero-inflated counts", (700, 300, 300, 300), epsilon)
        found[f"four arms, eps={epsilon}"] = Scenario(*four, design="four arms, against control")
        found[f"arm - arm, eps={epsilon}"] = Scenario(
            *four, A_B, design="four arms, arm against arm"
        )
    for epsilon in (0.25, 4, 16):
        found[f"main effect, eps={epsilon}"] = Scenario(
            "zero-inflated counts", (250,) * 4, epsilon, MAIN, design="2 x 2, main effect"
        )
    found["interaction"] = Scenario(
        "normal(0, 3.5)", (500,) * 4, 4, INTERACTION, design="2 x 2, interaction"
    )
    found["main effect of three"] = Scenario(
        "normal(0, 3.5)", (250,) * 8, 2, MAIN_OF_THREE, design="2 x 2 x 2, main effect"
    )
    clusters = {"cluster": 8, "design": "clusters of 8"}
    for unit, epsilon in (("person", 1), ("person", 8), ("cluster", 2), ("cluster", 8)):
        found[f"clusters, {unit}, eps={epsilon}"] = Scenario(
            "normal(0, 3.5)", (400, 400), epsilon, unit=unit, **clusters
        )
    found["blocked clusters, cluster"] = Scenario(
        "normal(0, 3.5)", (400, 400), 4, cluster=8, blocks=2, unit="cluster",
        design="clusters of 8 in two blocks",
    )  # fmt: skip
    found["blocks, eps=0.25"] = Scenario(
        "normal(0, 3.5)", (400, 200), 0.25, blocks=4, design="four blocks"
    )
    return found


FULL = grid()


def arms_of(scenario: Scenario, runs: int = 1) -> Arms:
    """Return the arms of several runs beside each other: arm a of run r has the place r A + a."""
    count, blocks = len(scenario.sizes), scenario.blocks
    each = [size // blocks for size in scenario.sizes]
    block = np.repeat(np.arange(blocks), sum(each))
    arm = np.tile(np.repeat(np.arange(count), each), blocks)
    n = len(arm)
    run = np.repeat(np.arange(runs), n)
    codes = np.tile(block * count * runs + arm, runs) + run * count
    clusters = np.arange(n * runs) // scenario.cluster if scenario.cluster > 1 else None
    return Arms(
        codes.astype(np.int64), (tuple(each) * runs,) * blocks, (Fraction(1, blocks),) * blocks,
        clusters, scenario.cluster, scenario.unit,  # type: ignore[arg-type]
    )  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """Released effects (r,) of r runs, the scales of their noise, and their variances.

    ``variances`` is (r, parts), ``raises`` the scale b_V of each part, ``rho`` theirs.
    """

    values: Array
    scales: tuple[float, ...]
    variances: Array
    raises: Array
    rho: float

    def variance(self, alpha: float) -> Array:
        """Return V~ at a level; (r,)."""
        return np.maximum(0, self.variances + correction(self.rho, alpha) * self.raises).sum(axis=1)


def drawn(scenario: Scenario, frame: Any, runs: int, noise: NoiseSource) -> Drawn:
    """Draw the releases of several runs at once; a test holds one against the released path."""
    column = Column("y", bounds=LAWS[scenario.law][1])
    one = Outcome(column, arms_of(scenario), Fraction(1))
    epsilon, many = Fraction(scenario.epsilon), arms_of(scenario, runs)
    of_effect, of_variance = one.split(epsilon)[:2]
    inflation, rho = one.arms.inflation, one.rho(epsilon)
    if one.two_arms:
        (reach,) = one.reaches()
        stats = _arm_statistics(frame, column, many, None)
        far, unit = reach / one.width, reach**2 * inflation / GRID
        pairs = list(zip(stats[::2], stats[1::2], strict=True))
        sealed = (
            rounded([(m1 - m0) / far for (m0, _), (m1, _) in pairs], reach / GRID),
            rounded([(v0 + v1) / (far**2 * GRID * inflation) for (_, v0), (_, v1) in pairs], unit),
        )
        tau, v = (
            np.asarray(DiscreteLaplace(share, l1=GRID).release(part, noise).values, float)
            for part, share in zip(sealed, (of_effect, of_variance), strict=True)
        )
        raises = np.array([float(reach**2 * inflation / of_variance)])
        return Drawn(tau, (float(reach / of_effect),), v[:, None], raises, rho)
    weights = np.array([float(w) for w in scenario.contrast])
    used = weights != 0
    reaches = np.array([float(reach) for reach in one.reaches()])
    means, spreads = (
        np.array([int(unit) for unit in DiscreteLaplace(share, l1=GRID).release(part, noise).units])
        .reshape(runs, -1).astype(float) / GRID
        for part, share in zip(
            arm_aggregates(frame, column, many), (of_effect, of_variance), strict=True
        )
    )  # fmt: skip
    most = reaches**2 * inflation * weights**2
    return Drawn(
        (means * reaches) @ weights,
        tuple((np.abs(weights) * reaches)[used] / float(of_effect)),
        (spreads * most)[:, used],
        most[used] / float(of_variance),
        rho,
    )


def plain_effects(scenario: Scenario, y: Array) -> tuple[Array, Array]:
    """Return the contrasts of means of (r, n) outcomes without privacy, and the usual variances."""
    codes = arms_of(scenario).codes
    value, variance = np.zeros(len(y)), np.zeros(len(y))
    for cell in range(len(scenario.sizes) * scenario.blocks):
        weight = float(scenario.contrast[cell % len(scenario.sizes)]) / scenario.blocks
        if weight == 0:
            continue
        inside = y[:, codes == cell]
        totals = inside.reshape(len(y), -1, scenario.cluster).sum(axis=2)
        size = inside.shape[1]
        value += weight * inside.mean(axis=1)
        variance += weight**2 * totals.shape[1] * totals.var(axis=1, ddof=1) / size**2
    return value, variance


def outcomes(scenario: Scenario, runs: int, rng: np.random.Generator) -> tuple[Array, Any]:
    """Return (r, n) raw outcomes and the frame of what is clipped, run after run."""
    n = sum(scenario.sizes)
    y = LAWS[scenario.law][0](rng, runs * n)
    if scenario.cluster > 1:
        y = y + np.repeat(rng.normal(0, 2, runs * n // scenario.cluster), scenario.cluster)
    if not scenario.index:
        return y.reshape(runs, n), eager(pl.DataFrame({"y": y}))
    index = 12 + rng.integers(18, 60, runs * n) / 2
    raw = index + y
    return raw.reshape(runs, n), with_residual(eager(pl.DataFrame({"y": raw})), "y", index)


def simulate(name: str, runs: int, levels: tuple[float, ...] = LEVELS) -> Simulated:
    """Run a scenario; the seed is a function of its name."""
    scenario = FULL[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    noise, n = source(rng), sum(scenario.sizes)
    batch = max(1, ROWS // n)
    parts = []
    for start in range(0, runs, batch):
        here = min(batch, runs - start)
        raw, frame = outcomes(scenario, here, rng)
        parts.append((drawn(scenario, frame, here, noise), *plain_effects(scenario, raw)))
    values = np.concatenate([part.values for part, _, _ in parts])
    variance = {a: np.concatenate([part.variance(a) for part, _, _ in parts]) for a in levels}
    half = {a: quantile(a, variance[a], parts[0][0].scales) for a in levels}
    plain = np.concatenate([value for _, value, _ in parts])
    root = np.sqrt(np.concatenate([v for _, _, v in parts]))
    usual = {a: root * quantile(a, 1.0, (1e-12,)) for a in levels}
    return Simulated(
        runs,
        {a: int((np.abs(values) <= half[a]).sum()) for a in levels},
        {a: float(2 * half[a].mean()) for a in levels},
        {a: int((np.abs(plain) <= usual[a]).sum()) for a in levels},
        {a: float(2 * usual[a].mean()) for a in levels},
        float(np.sqrt((values**2).mean())),
        float(np.sqrt((plain**2).mean())),
    )
