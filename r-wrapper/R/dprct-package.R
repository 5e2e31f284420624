#' Publish an experiment without publishing its participants
#'
#' Declare public facts with [schema()] and [declare()], describe a release such as [calibrated()]
#' or an estimate such as [private_ate()], look at its [plan()], and [fit()] it once. See
#' `vignette("dprct")`.
#'
#' @keywords internal
"_PACKAGE"
