"""The strict multivariate histogram (ALGORITHMS.md, section 1; after dp_rct.txt, Algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dprct.defaults import FEWEST_SURVIVORS, bins_by_zeta
from dprct.encode import Encoding
from dprct.errors import ParameterError
from dprct.privacy.budget import Budget, Real
from dprct.privacy.cells import cell_count
from dprct.privacy.histogram import HistogramRelease, SparseHistogram, StabilityHistogram, draw_rows
from dprct.privacy.noise import NoiseSource
from dprct.queries import cell_counts
from dprct.release.model import ReleaseModel
from dprct.release.plan import Plan
from dprct.schema.schema import Schema
from dprct.schema.table import eager
