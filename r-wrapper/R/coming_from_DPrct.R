#' Coming from the package DPrct
#'
#' The package \pkg{DPrct} of the paper "Assessing Utility of Differential Privacy for RCTs" has
#' another author and other functions. This page says what stands for each of them here.
#'
#' | in \pkg{DPrct} | as published, here | with a guarantee |
#' |:---|:---|:---|
#' | `multivariate_histogram()`, `dp_perturbed_hist()`, `synthdata_perturb_mvhist()` | [published_mv_histogram()] | [mv_histogram()], [marginals()] |
#' | `hybrid_synth()` | [published_hybrid()] | [calibrated()] |
#' | `dp_synthdata()` | [published_gen_model()] | [calibrated()] |
#' | `dp_model_summary()`, `dp_coef_stats()` | `fit()` of [published_gen_model()], its `estimates` | `tidy(fit)` of [private_ate()]; [ols()] of [private_moments()] |
#' | `dp_confidence_interval()` | [published_range()] and [published_variance()] are its two steps | `confint(fit)` of [private_ate()] |
#' | `dp_pvalue()` | | `tidy(fit)$p.value` of [private_ate()] |
#' | `dp_range()`, `dp_estimate_sd()` | [published_range()], [published_variance()] | `bounds` and `sd` that are declared ([declare()]) |
#' | `laplace_mechanism()`, `gaussian_mechanism()`, `randomized_response()` | [published_laplace()], [published_gaussian()], [published_randomized_response()] | |
#' | `treatment_assign()` | [assign_arms()] of [designs] | the same |
#' | `continuous_bins()` | | `bins` in [declare()] |
#' | `ITTtable()` | [itt_table()] | the same |
#' | `compare_ITTdata()` | [utility()], its `summary()` | the same |
#' | `CI_overlap()` | [ci_overlap()] | the same |
#' | `perturb = FALSE`, which writes rows without noise | no option: what has no noise has no guarantee | |
#'
#' What differs: budgets are `epsilon` and `delta` of one [fit()], charged to an [accountant()], instead
#' of vectors that are returned as an attribute; bounds and levels are declared before the data are read;
#' an interval of [private_ate()] contains sampling error and noise, and is not of resampled fits.
#' Nothing of \pkg{DPrct}'s code is in this package.
#'
#' @name coming_from_DPrct
NULL
