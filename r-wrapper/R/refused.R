# What R's defaults would answer with NULL, numeric(0) or NaN is refused: results hold no rows.

by_row <- function(what) {
  sprintf("%s are not kept, for a result holds no rows; use predict(result, newdata) on your own", what)
}

#' @export
residuals.dprct_estimate <- function(object, ...) {
  tolerate(...)
  refuse("parameter", by_row("residuals"))
}

#' @export
fitted.dprct_estimate <- function(object, ...) {
  tolerate(...)
  refuse("parameter", by_row("fitted values"))
}

#' @export
weights.dprct_estimate <- function(object, ...) {
  tolerate(...)
  refuse("parameter", by_row("weights"))
}

#' @export
deviance.dprct_estimate <- function(object, ...) {
  tolerate(...)
  refuse("parameter", "the deviance is not kept; see sigma() and glance()")
}

#' @export
residuals.dprct_result <- function(object, ...) {
  tolerate(...)
  refuse("parameter", by_row("residuals"))
}

#' @export
fitted.dprct_result <- function(object, ...) {
  tolerate(...)
  refuse("parameter", by_row("fitted values"))
}

#' @export
weights.dprct_result <- function(object, ...) {
  tolerate(...)
  refuse("parameter", by_row("weights"))
}

#' @export
deviance.dprct_result <- function(object, ...) {
  tolerate(...)
  refuse("parameter", "the deviance is not kept; see sigma() and glance()")
}

#' @export
sigma.dprct_result <- function(object, ...) {
  tolerate(...)
  refuse("parameter", "only a fit by ols() has a residual standard error")
}

#' @export
df.residual.dprct_result <- function(object, ...) {
  tolerate(...)
  refuse("parameter", "only estimates with a covariance have degrees of freedom")
}

#' @export
residuals.dprct_release <- function(object, ...) {
  tolerate(...)
  refuse("parameter", by_row("residuals"))
}

#' @export
fitted.dprct_release <- function(object, ...) {
  tolerate(...)
  refuse("parameter", by_row("fitted values"))
}

#' @export
weights.dprct_release <- function(object, ...) {
  tolerate(...)
  refuse("parameter", by_row("weights"))
}

#' @export
deviance.dprct_release <- function(object, ...) {
  tolerate(...)
  refuse("parameter", "the deviance is not kept; see sigma() and glance()")
}

#' @export
sigma.dprct_release <- function(object, ...) {
  tolerate(...)
  refuse("parameter", "only a fit by ols() has a residual standard error")
}

#' @export
df.residual.dprct_release <- function(object, ...) {
  tolerate(...)
  df.residual(estimates_of(object))
}

#' @export
residuals.dprct_table <- function(object, ...) {
  tolerate(...)
  refuse("parameter", by_row("residuals"))
}

#' @export
fitted.dprct_table <- function(object, ...) {
  tolerate(...)
  refuse("parameter", by_row("fitted values"))
}

#' @export
weights.dprct_table <- function(object, ...) {
  tolerate(...)
  refuse("parameter", by_row("weights"))
}

#' @export
deviance.dprct_table <- function(object, ...) {
  tolerate(...)
  refuse("parameter", "the deviance is not kept; see sigma() and glance()")
}

#' @export
sigma.dprct_table <- function(object, ...) {
  tolerate(...)
  refuse("parameter", "only a fit by ols() has a residual standard error")
}

#' @export
df.residual.dprct_table <- function(object, ...) {
  tolerate(...)
  refuse("parameter", "only estimates with a covariance have degrees of freedom")
}

#' @export
sigma.dprct_estimate <- function(object, ...) {
  tolerate(...)
  if (is.null(object$glance$sigma)) {
    refuse("parameter", "only a fit by ols() has a residual standard error")
  }
  object$glance$sigma
}

#' @export
coef.dprct_table <- function(object, ...) {
  tolerate(...)
  refuse("parameter", "a table has many fits; use tidy(), one row per outcome and arm")
}

# By these R's functions of a linear model would ask for its rows, or answer NULL.

#' @importFrom stats case.names model.frame model.matrix variable.names
NULL

#' @export
variable.names.dprct_estimate <- function(object, ...) {
  tolerate(...)
  names(coef(object))
}

#' @export
case.names.dprct_estimate <- function(object, ...) {
  tolerate(...)
  refuse("parameter", by_row("cases"))
}

#' @export
labels.dprct_estimate <- function(object, ...) {
  tolerate(...)
  attr(stats::terms(stats::formula(object)), "term.labels")
}

#' @importFrom stats terms
#' @export
terms.dprct_estimate <- function(x, ...) {
  tolerate(...)
  stats::terms(stats::formula(x))
}

#' @export
model.frame.dprct_estimate <- function(formula, ...) {
  tolerate(...)
  refuse("parameter", by_row("rows"))
}

#' @export
model.matrix.dprct_estimate <- function(object, ...) {
  tolerate(...)
  refuse("parameter", by_row("rows"))
}

# sandwich's own default would take a robust covariance for that of equal variances
#' @exportS3Method sandwich::bread
bread.dprct_estimate <- function(x, ...) {
  tolerate(...)
  refuse("parameter", "scores are not kept, for a result holds no rows; give ols() cov_type or cluster")
}

#' @exportS3Method sandwich::estfun
estfun.dprct_estimate <- function(x, ...) {
  tolerate(...)
  refuse("parameter", "scores are not kept, for a result holds no rows; give ols() cov_type or cluster")
}

# A model has nothing to show before its fit, where R's defaults would answer NULL.
unfitted <- function(what) {
  refuse("parameter", sprintf("a model has no %s before it is fitted; give what fit() returns", what))
}

#' @export
coef.dprct_model <- function(object, ...) {
  tolerate(...)
  unfitted("coefficients")
}

#' @export
fitted.dprct_model <- function(object, ...) {
  tolerate(...)
  unfitted("fitted values")
}

#' @export
residuals.dprct_model <- function(object, ...) {
  tolerate(...)
  unfitted("residuals")
}

#' @export
weights.dprct_model <- function(object, ...) {
  tolerate(...)
  unfitted("weights")
}

#' @export
deviance.dprct_model <- function(object, ...) {
  tolerate(...)
  unfitted("deviance")
}

#' @export
df.residual.dprct_model <- function(object, ...) {
  tolerate(...)
  unfitted("degrees of freedom")
}

#' @export
sigma.dprct_model <- function(object, ...) {
  tolerate(...)
  unfitted("standard error")
}
