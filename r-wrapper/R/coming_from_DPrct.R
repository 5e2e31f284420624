#' Coming from the package DPrct
#'
#' The package \pkg{DPrct} of the paper "Assessing Utility of Differential Privacy for RCTs" has
#' another author and other functions. `vignette("coming_from_DPrct", package = "dprct")` says what
#' stands for each of them here, with worked steps: for `dp_model_summary()`, `dp_confidence_interval()`
#' and `dp_pvalue()` the [tidy()] and [confint()] of [private_ate()] or of [ols()] on
#' [private_moments()], for `perturb = FALSE` nothing, because what has no noise has no guarantee.
#'
#' @seealso [published], [published_parameters], [published_noise], [itt_table()], [utility()],
#'   [ci_overlap()], [replication()]
#' @name coming_from_DPrct
NULL
