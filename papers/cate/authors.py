"""Errors in the authors' file, which are not in print: section 5 has figures alone.

``dp_cate_simulation_final.csv`` at commit 6b6b41f6 of FengshiNiu/DP-CATE, the repository that the
paper names: mean squared errors of DP-EBM, means of 25 fits (5 on each of 5 samples).
"""

from __future__ import annotations

SETTINGS = ((4000, 1.0), (16_000, 1.0), (16_000, 4.0), (16_000, 16.0))
"""Samples and epsilons of the numbers below."""

_DR = {
    "A": (3.34, 0.407, 0.0607, 0.0368),
    "B": (5.60, 0.563, 0.125, 0.0747),
    "C": (6.81, 1.12, 0.373, 0.288),
    "D": (8.45, 1.41, 0.549, 0.468),
    "E": (22.7, 5.25, 2.34, 1.87),
    "voting": (0.239, 0.0231, 0.00462, 0.0031),
}
DR = {
    (design, *setting): error
    for design, errors in _DR.items()
    for setting, error in zip(SETTINGS, errors, strict=True)
}
"""Of the DR-learner, by design, people and epsilon."""

VOTING = {"dr": (0.0231, 0.00824), "r": (0.0239, 0.00888), "s": (0.0162, 0.0161)}
"""Of each learner on the voting data at epsilon 1: of 16,000 and of 32,000 people."""

VARIANCE = {"A": 43, "B": 31, "C": 34, "D": 35, "E": 29, "voting": 13}
"""By what the variance of the DR-learner grows from epsilon 16 to 1, at 16,000 people."""
