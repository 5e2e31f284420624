#' The protected data of a release
#'
#' @param x,object A release, as [fit()] returns for [mv_histogram()], [marginals()],
#'   [calibrated()] and their published forms.
#' @param row.names,optional As for [as.data.frame()]; names are never changed.
#' @param ... Not used.
#' @return A release of [published_gen_model()] has its `estimates`, by outcome. `protected()`: the protected data frame; [write_dta()] of the release itself writes it
#'   with its certificate. `guarantee()`: what is promised, a list with `sentence`, `measure`,
#'   `epsilon`, `delta`, `relation` and `holds`.
#' @inherit releases examples
#' @export
protected <- function(x) UseMethod("protected")

#' @export
protected.dprct_release <- function(x) with_standing(x$protected, x$standing)

# What a fit on the table must know of its release travels with the table's schema.
with_standing <- function(data, standing) {
  if (!is.null(attr(data, "dprct_schema", exact = TRUE))) {
    attr(data, "dprct_schema")$standing <- standing
  }
  data
}

standing_of <- function(data) {
  if (inherits(data, "dprct_release")) data$standing else attr(data, "dprct_schema", exact = TRUE)$standing
}

#' @export
protected.default <- function(x) {
  refuse("parameter", paste0(
    "x is ", class(x)[1L], "; give a release, as fit() returns for calibrated() or mv_histogram()"
  ))
}

#' @rdname protected
#' @export
guarantee <- function(x) {
  if (!is.list(x) || is.null(x$guarantee)) {
    refuse("parameter", "x has no guarantee; give what fit() or ols() returned")
  }
  x$guarantee
}

#' @export
print.dprct_guarantee <- function(x, ...) print_text(x, ...)

#' @rdname protected
#' @export
as.data.frame.dprct_release <- function(x, row.names = NULL, optional = FALSE, ...) {
  only_known(..., .also = "stringsAsFactors")
  as_given(protected(x), row.names)
}

#' @rdname protected
#' @export
print.dprct_release <- function(x, ...) print_text(x, ...)

#' @rdname protected
#' @export
summary.dprct_release <- function(object, ...) {
  only_known(...)
  object
}

# The effects of a release, where it has them, answer as if they were the release.
estimates_of <- function(release) {
  if (is.null(release$estimates)) {
    refuse("parameter",
      "this release has no estimates; run ols() or lm() on protected(release)"
    )
  }
  if (inherits(release$estimates, "dprct_estimate")) return(release$estimates)
  if (length(release$estimates) == 1L) return(release$estimates[[1L]])
  refuse("parameter", sprintf(
    "this release has estimates of several outcomes; name one, such as release$estimates$%s",
    names(release$estimates)[1L]
  ))
}

#' @export
coef.dprct_release <- function(object, ...) {
  tolerate(...)
  coef(estimates_of(object))
}

#' @export
vcov.dprct_release <- function(object, ...) {
  tolerate(...)
  vcov(estimates_of(object))
}

#' @export
confint.dprct_release <- function(object, parm, level = 0.95, ...) {
  tolerate(...)
  confint(estimates_of(object), parm, level)
}

#' @export
nobs.dprct_release <- function(object, ...) {
  tolerate(...)
  nrow(object$protected)
}

#' @rdname tidiers
#' @method tidy dprct_release
#' @export
tidy.dprct_release <- function(x, conf.int = FALSE, conf.level = 0.95, ...) {
  tolerate(...)
  if (inherits(x$estimates, "dprct_estimate") || length(x$estimates) < 2L) {
    return(tidy(estimates_of(x), conf.int, conf.level))
  }
  rows <- Map(function(one, outcome) cbind(outcome = outcome, tidy(one, conf.int, conf.level)),
    x$estimates, names(x$estimates)
  )
  do.call(rbind, unname(rows))
}

#' @rdname tidiers
#' @method glance dprct_release
#' @export
glance.dprct_release <- function(x, ...) {
  tolerate(...)
  glance(estimates_of(x))
}

#' @export
plot.dprct_release <- function(x, level = 0.95, ...) {
  only_known(..., .also = for_plot)
  plot(estimates_of(x), level, ...)
  invisible(x)
}

#' @export
print.dprct_certificate <- function(x, ...) print_text(x, ...)

#' Verify a protected file against its certificate, or a package against its manifest
#'
#' Of the folder of a package, every file is compared with the manifest, every release with its
#' certificate, and the numbers of the valid regressions with the `expected.csv` of the package.
#'
#' @param path Name of the file, or of the folder of a package; a [study()], whose output is verified;
#'   or what [package()] returned.
#' @param certificate Name of its certificate; by default the one next to it.
#' @param ledger Name of the ledger to find the file's entries in; by default the one next to it.
#' @return An object of class `dprct_verification`, whose `verified` is `TRUE` where the file holds
#'   the values that the certificate describes, and no ledger contradicts it, or where all of a
#'   package is as it was written. Of a package also `regressions`, a data frame of the do-files'
#'   regressions with the `verdict` of each.
#' @examples
#' file <- system.file("extdata", "nsw_mixtape.dta", package = "dprct")
#' if (dprct_available()) {
#'   # an ordinary file has no certificate, and is refused with a sentence that says so
#'   tryCatch(verify(file), dprct_error = function(e) conditionMessage(e))
#' }
#' @export
verify <- function(path, certificate = NULL, ledger = NULL) {
  if (inherits(path, "dprct_study")) path <- path$output
  if (inherits(path, "dprct_package")) path <- path$folder
  dprct_call("verify", path = file_name(path), certificate = certificate, ledger = ledger)
}

#' @export
print.dprct_verification <- function(x, ...) print_text(x, ...)

#' Compare a release with the confidential data
#'
#' For those who hold the confidential data: regressions on both files side by side. What it
#' returns is confidential by nature, says so, and must not be published.
#'
#' @param confidential The confidential data frame, or the name of its file.
#' @param released A protected data frame, a release, or the name of a file; of `utility()` also a list
#'   of several draws, or of methods by name.
#' @param formula A formula to fit on both.
#' @param ... Further options by their names in Python, such as `outcomes`, `arms`, `covariates`,
#'   `blocks`, `control`, `cov_type`, `cluster`, `alpha`.
#' @param object What `utility()` returned.
#' @param quantiles Of each measure over the draws.
#' @return An object of class `dprct_utility`; `as.data.frame()` gives one row per effect and draw, with
#'   the `overlap` of its intervals; `summary()` the mean, median and quantiles of each measure over the
#'   draws of a method.
#' @examples
#' file <- system.file("extdata", "nsw_mixtape.dta", package = "dprct")
#' if (dprct_available()) {
#'   utility(file, file, re78 ~ treat)
#' }
#' @export
utility <- function(confidential, released, formula = NULL, ...) {
  options <- list(...)
  check_named(options)
  if ("cluster" %in% names(options)) options$cluster <- clusters_named(options$cluster)
  dprct_call("utility",
    a = side(confidential), b = sides(released),
    formula = if (!is.null(formula)) formula_text(formula), options = options
  )
}

#' @export
print.dprct_utility <- function(x, ...) print_text(x, ...)

#' @export
as.data.frame.dprct_utility <- function(x, row.names = NULL, optional = FALSE, ...) {
  only_known(..., .also = "stringsAsFactors")
  as_given(x$effects, row.names)
}

#' @rdname utility
#' @export
summary.dprct_utility <- function(object, quantiles = c(0.05, 0.95), ...) {
  only_known(...)
  dprct_call("utility_summary", report = object, quantiles = as.list(quantiles))
}

sides <- function(x) {
  several <- is.list(x) && !is.data.frame(x) && !inherits(x, "dprct_release")
  if (several) lapply(x, side) else side(x)
}

#' The overlap of confidence intervals
#'
#' The mean of the shares of each interval that lies in the other: 1 where they are the same, 0 where
#' they are disjoint. An interval inside one that is k times as wide scores (1 + 1/k) / 2, so that too
#' wide an interval costs far less than one that is elsewhere.
#'
#' @param low,high Ends of the confidential intervals.
#' @param low_released,high_released Ends of the released ones.
#' @return A numeric vector.
#' @references Karr et al. (2006), The American Statistician 60.
#' @examples
#' if (dprct_available()) {
#'   ci_overlap(c(0, 0), c(2, 2), c(1, 3), c(5, 4))
#' }
#' @export
ci_overlap <- function(low, high, low_released, high_released) {
  ends <- list(low = low, high = high, low_released = low_released, high_released = high_released)
  lengths <- lengths(ends)
  if (!all(vapply(ends, is.numeric, NA)) || length(unique(lengths)) != 1L) {
    refuse("parameter", "the ends are not four numeric vectors of one length")
  }
  as.vector(do.call(dprct_call, c("ci_overlap", lapply(ends, as.double))))
}

#' How close released rows are to confidential ones
#'
#' For those who hold the confidential data: shares of released rows that equal a confidential one,
#' and distances to the nearest. What it returns is confidential by nature, says so, and proves no
#' protection.
#'
#' @inheritParams utility
#' @param keys Names of columns that an intruder may know about a person.
#' @param holdout Rows of the same population that no release used: a data frame, or a file's name.
#' @param columns Names of the columns in which rows are compared.
#' @param distance_rows The largest number of rows for which distances are computed.
#' @return An object of class `dprct_risk`; `as.data.frame()` gives the measures.
#' @examples
#' file <- system.file("extdata", "nsw_mixtape.dta", package = "dprct")
#' if (dprct_available()) {
#'   suppressWarnings(risk(file, file, keys = c("age", "educ")))
#' }
#' @export
risk <- function(confidential, released, keys = NULL, holdout = NULL, columns = NULL,
                 distance_rows = NULL) {
  options <- list(keys = keys, columns = columns, distance_rows = distance_rows)
  dprct_call("risk",
    a = side(confidential), b = side(released), holdout = if (!is.null(holdout)) side(holdout),
    options = Filter(Negate(is.null), options)
  )
}

#' @export
print.dprct_risk <- function(x, ...) print_text(x, ...)

#' @export
as.data.frame.dprct_risk <- function(x, row.names = NULL, optional = FALSE, ...) {
  only_known(..., .also = "stringsAsFactors")
  as_given(x$measures, row.names)
}

# A data frame, with the row names that were asked for.
as_given <- function(data, row.names) {
  if (!is.null(row.names)) row.names(data) <- row.names
  data
}
