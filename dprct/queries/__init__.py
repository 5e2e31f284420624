"""The only way of strict methods to confidential rows.

Every function here computes an aggregate in exact integer arithmetic and returns it sealed, with
its sensitivity; only the mechanisms of ``dprct.privacy`` can turn it into a release.  Nothing here
raises, warns or loops because of what the rows hold: values were checked in the constructor, and
encoding is total.

The rows stay where they are: every step is an expression of the data frame's own engine, and
because the sums are sums of integers, they do not depend on the order of the rows.
"""

from dprct.queries.additive import (
    HALF_STEPS,
    AdditiveLayout,
    Block,
    CodedRows,
    CompactRows,
    EngineCodes,
    EngineRows,
    additive_sums,
    feature_codes,
    residual_ratio,
)
from dprct.queries.counts import cell_counts, one_way_counts
from dprct.queries.covariates import Feature, covariates, features_of, with_residual
from dprct.queries.donors import Donors, ridge_weights, weighted_mean, weighted_series
from dprct.queries.group_moments import MomentCells, MomentsGrid, Part, Scaled, moment_sums
from dprct.queries.horvitz_thompson import (
    PrivateArms,
    horvitz_thompson_difference,
    horvitz_thompson_sums,
)
from dprct.queries.index_scores import IndexMap, IndexRows, Link
from dprct.queries.missing_outcomes import observed_squares, observed_sums, square_reach
from dprct.queries.offsets import bin_offsets
from dprct.queries.propensity import (
    LARGEST_PENALTY,
    Covariates,
    PropensityGrid,
    Treated,
    covariates_of,
    propensity_weights,
)
from dprct.queries.ridge_moments import MomentsLayout, moments
from dprct.queries.scores import ScoreMap, score_sums
from dprct.queries.sums import (
    GRID,
    Asked,
    Clipped,
    DifferenceAggregates,
    Sums,
    arm_aggregates,
    check_extent,
    clipped_sums,
    cross_products,
    difference_aggregates,
    observed,
    observed_counts,
    observed_number,
    observed_together,
)
from dprct.queries.together import summed
from dprct.queries.weighting import Centre, CompactTable, Records, Scheme, Weighted, read_once

__all__ = [
    "GRID",
    "HALF_STEPS",
    "LARGEST_PENALTY",
    "AdditiveLayout",
    "Asked",
    "Block",
    "Centre",
    "Clipped",
    "CodedRows",
    "CompactRows",
    "CompactTable",
    "Covariates",
    "DifferenceAggregates",
    "Donors",
    "EngineCodes",
    "EngineRows",
    "Feature",
    "IndexMap",
    "IndexRows",
    "Link",
    "MomentCells",
    "MomentsGrid",
    "MomentsLayout",
    "Part",
    "PrivateArms",
    "PropensityGrid",
    "Records",
    "Scaled",
    "Scheme",
    "ScoreMap",
    "Sums",
    "Treated",
    "Weighted",
    "additive_sums",
    "arm_aggregates",
    "bin_offsets",
    "cell_counts",
    "check_extent",
    "clipped_sums",
    "covariates",
    "covariates_of",
    "cross_products",
    "difference_aggregates",
    "feature_codes",
    "features_of",
    "horvitz_thompson_difference",
    "horvitz_thompson_sums",
    "moment_sums",
    "moments",
    "observed",
    "observed_counts",
    "observed_number",
    "observed_squares",
    "observed_sums",
    "observed_together",
    "one_way_counts",
    "propensity_weights",
    "read_once",
    "residual_ratio",
    "ridge_weights",
    "score_sums",
    "square_reach",
    "summed",
    "weighted_mean",
    "weighted_series",
    "with_residual",
]
