# What R's defaults would answer with NULL, numeric(0) or NaN is refused: results hold no rows.

by_row <- function(what) {
  sprintf("%s are not kept, for a result holds no rows; use predict(result, newdata) on your own", what)
}

#' @export
residuals.dprct_estimate <- function(object, ...) {
  only_known(...)
  refuse("parameter", by_row("residuals"))
}

#' @export
fitted.dprct_estimate <- function(object, ...) {
  only_known(...)
  refuse("parameter", by_row("fitted values"))
}

#' @export
weights.dprct_estimate <- function(object, ...) {
  only_known(...)
  refuse("parameter", by_row("weights"))
}

#' @export
deviance.dprct_estimate <- function(object, ...) {
  only_known(...)
  refuse("parameter", "the deviance is not kept; see sigma() and glance()")
}

#' @export
residuals.dprct_result <- function(object, ...) {
  only_known(...)
  refuse("parameter", by_row("residuals"))
}

#' @export
fitted.dprct_result <- function(object, ...) {
  only_known(...)
  refuse("parameter", by_row("fitted values"))
}

#' @export
weights.dprct_result <- function(object, ...) {
  only_known(...)
  refuse("parameter", by_row("weights"))
}

#' @export
deviance.dprct_result <- function(object, ...) {
  only_known(...)
  refuse("parameter", "the deviance is not kept; see sigma() and glance()")
}

#' @export
sigma.dprct_result <- function(object, ...) {
  only_known(...)
  refuse("parameter", "only a fit by ols() has a residual standard error")
}

#' @export
df.residual.dprct_result <- function(object, ...) {
  only_known(...)
  refuse("parameter", "only estimates with a covariance have degrees of freedom")
}

#' @export
residuals.dprct_release <- function(object, ...) {
  only_known(...)
  refuse("parameter", by_row("residuals"))
}

#' @export
fitted.dprct_release <- function(object, ...) {
  only_known(...)
  refuse("parameter", by_row("fitted values"))
}

#' @export
weights.dprct_release <- function(object, ...) {
  only_known(...)
  refuse("parameter", by_row("weights"))
}

#' @export
deviance.dprct_release <- function(object, ...) {
  only_known(...)
  refuse("parameter", "the deviance is not kept; see sigma() and glance()")
}

#' @export
sigma.dprct_release <- function(object, ...) {
  only_known(...)
  refuse("parameter", "only a fit by ols() has a residual standard error")
}

#' @export
df.residual.dprct_release <- function(object, ...) {
  only_known(...)
  df.residual(estimates_of(object))
}

#' @export
residuals.dprct_table <- function(object, ...) {
  only_known(...)
  refuse("parameter", by_row("residuals"))
}

#' @export
fitted.dprct_table <- function(object, ...) {
  only_known(...)
  refuse("parameter", by_row("fitted values"))
}

#' @export
weights.dprct_table <- function(object, ...) {
  only_known(...)
  refuse("parameter", by_row("weights"))
}

#' @export
deviance.dprct_table <- function(object, ...) {
  only_known(...)
  refuse("parameter", "the deviance is not kept; see sigma() and glance()")
}

#' @export
sigma.dprct_table <- function(object, ...) {
  only_known(...)
  refuse("parameter", "only a fit by ols() has a residual standard error")
}

#' @export
df.residual.dprct_table <- function(object, ...) {
  only_known(...)
  refuse("parameter", "only estimates with a covariance have degrees of freedom")
}

#' @export
sigma.dprct_estimate <- function(object, ...) {
  only_known(...)
  if (is.null(object$glance$sigma)) {
    refuse("parameter", "only a fit by ols() has a residual standard error")
  }
  object$glance$sigma
}

#' @export
coef.dprct_table <- function(object, ...) {
  only_known(..., .also = "complete")
  refuse("parameter", "a table has many fits; use tidy(), one row per outcome and arm")
}
