#' Least squares with Stata's inference
#'
#' An ordinary fit without privacy protection, for released files and for the custodian's view of
#' the confidential one. On a protected file it knows which of its numbers were released, and says
#' in its notes what a standard error does not contain.
#'
#' @param formula An R formula; `factor()`, `I()`, `log()`, `exp()`, `sqrt()`, `abs()`, `:`, `*`. After
#'   `|` stand columns whose fixed effects are absorbed, as in `feols()` of \pkg{fixest}; errors are
#'   those of `cov_type` all the same.
#' @param data A data frame, tibble or data.table, or a release; or released [moments], whose errors
#'   contain the privacy noise.
#'   A release and `protected(release)` bring their guarantee, and so does a protected file that
#'   [read_dta()] of this package read with its certificate beside it; \pkg{haven} drops the file's
#'   notes and characteristics, and keeps only its label.
#' @param cov_type `"nonrobust"`, `"HC0"` to `"HC3"`, or `"cluster"` with `cluster`; the other kinds
#'   by their names in Python.
#' @param cluster The column of clusters: its name, or a formula such as `~ village`. Two columns,
#'   `~ village + year`, for errors clustered in both ways, as by `vcovCL()` of \pkg{sandwich},
#'   with t of the smaller number of clusters less one.
#' @param weights The column of weights: its name, `~ w`, or `w` itself as in [lm()].
#' @param weights_type `"aweight"`, `"fweight"` or `"pweight"`, as in Stata.
#' @param absorb Names of columns whose fixed effects are absorbed, or a formula such as `~ village`.
#' @param subset Which rows to use: a condition on columns of `data`, as in [lm()].
#' @param where For released moments: among one group alone, such as `list(female = 1)`.
#' @return An object of class `dprct_ols` and `dprct_estimate`, with methods for `print()`,
#'   `summary()`, [coef()], [vcov()], [confint()], [nobs()], [predict()], [plot()], [tidy()],
#'   [glance()] and [toLatex()].
#' @examples
#' file <- system.file("extdata", "nsw_mixtape.dta", package = "dprct")
#' if (dprct_available()) {
#'   result <- ols(re78 ~ treat + age, read_dta(file))
#'   summary(result)
#'   tidy(result, conf.int = TRUE)
#'   glance(result)
#'   predict(result, data.frame(treat = 1, age = 25))
#' }
#' @export
ols <- function(formula, data, cov_type = "HC1", cluster = NULL, weights = NULL,
                weights_type = "aweight", absorb = NULL, subset = NULL, where = NULL) {
  if (inherits(data, "dprct_moments")) {
    kind <- if (!missing(cov_type)) cov_type
    return(ols_of_moments(formula, data, kind, where, names(match.call()), match.call()))
  }
  if (!is.null(where)) {
    refuse("parameter", "where is for released moments; for rows give subset = a condition")
  }
  release <- if (inherits(data, "dprct_release")) data
  if (inherits(absorb, "formula")) absorb <- all.vars(absorb)
  asked <- without_absorbed(formula, absorb)
  formula <- asked$formula
  absorb <- asked$absorb
  data <- texts_as_factors(data, formula)
  rows <- if (!missing(subset)) eval(substitute(subset), frame_of(data), parent.frame())
  cluster <- clusters_named(cluster, ways = 2L)
  if (!missing(weights)) weights <- eval(substitute(weights), frame_of(data), parent.frame())
  if (inherits(weights, "formula")) weights <- all.vars(weights)
  read <- formula_text(formula, frame_of(data), spelled = TRUE)
  check_columns(c(named_by(formula), cluster, if (is.character(weights)) weights, absorb), data)
  frame <- frame_of(data, used = named_in(read$text, cluster, weights, absorb))
  if (!is.null(rows)) {
    frame <- some_rows(frame, rows)
    if (is.numeric(weights)) weights <- weights[if (is.logical(rows)) which(rows) else rows]
  }
  found <- dprct_call("ols",
    formula = read$text, spelling = read$spelling, data = frame, cov_type = cov_type, cluster = cluster,
    weights = weights, weights_type = weights_type, absorb = absorb,
    standing = standing_of(data), release = release,
    .call = sys.call()
  )
  found$call <- plain_call(match.call())
  found$variables <- variables_of(frame, formula)
  found
}

# The columns that a formula names; a dot names none.
named_by <- function(formula) {
  if (is.character(formula)) formula <- tryCatch(stats::as.formula(formula), error = function(e) NULL)
  setdiff(all.vars(formula), ".")
}

# Text by R's own order of its values, as lm() reads it: which comes first is the base. A declared
# table, and one that a release made, is left as it is.
texts_as_factors <- function(data, formula) {
  if (!is.data.frame(data) || !is.null(attr(data, "dprct_schema", exact = TRUE))) return(data)
  if (is.character(formula)) formula <- tryCatch(stats::as.formula(formula), error = function(e) NULL)
  named <- if (inherits(formula, "formula")) all.vars(formula[[length(formula)]])
  named <- if ("." %in% named) names(data) else intersect(named, names(data))
  columns <- unclass(data)
  is_text <- vapply(columns[named], function(x) is.character(x) && !"bytes" %in% Encoding(x), NA)
  texts <- setdiff(named[is_text], if (length(formula) == 3L) all.vars(formula[[2L]]))
  if (!length(texts)) return(data)
  kept <- attributes(data)
  columns[texts] <- lapply(columns[texts], function(x) factor(as.vector(x)))
  attributes(columns) <- kept
  columns
}

# Only the columns that are used cross to Python, which knows of no others that were meant.
check_columns <- function(names, data) {
  there <- names(frame_of(data))
  unknown <- setdiff(names, there)
  if (!length(unknown)) return(invisible())
  near <- nearest(unknown[1L], there)
  shown <- utils::head(there, 8L)
  refuse("column", paste0(
    "no column '", unknown[1L], "' in the data; ",
    if (length(near)) paste0("did you mean '", near, "'?") else paste0(
      "it has ", paste(shown, collapse = ", "),
      if (length(there) > 8L) paste0(" and ", length(there) - 8L, " more")
    )
  ))
}

# The names of the columns of clusters, however they were given.
clusters_named <- function(cluster, ways = 1L, call = sys.call(-1L)) {
  named <- if (inherits(cluster, "formula")) all.vars(cluster) else cluster
  if (is.null(named)) return(NULL)
  give <- paste0(
    "give ", if (ways == 1L) "one column" else "one column, or two",
    ", by name or as a formula such as ~ village"
  )
  if (!is.character(named) || !length(named) || anyNA(named)) {
    refuse("parameter", paste0("cluster is no column; ", give), call)
  }
  if (length(named) > ways) {
    refuse("parameter", sprintf(
      "cluster names %d columns, and errors clustered in %s ways are not offered here; %s",
      length(named), if (ways == 1L) "several" else "three", give
    ), call)
  }
  named
}

# A condition that is missing leaves the row out, as in lm().
some_rows <- function(frame, rows) {
  n <- .row_names_info(frame, 2L)
  if (is.logical(rows) && length(rows) == n) {
    rows <- which(rows)
  } else if (!is.numeric(rows) || anyNA(rows)) {
    refuse("parameter", "subset is not a condition on the rows; give one such as age > 30",
      sys.call(-1L)
    )
  }
  kept <- attributes(frame)
  columns <- lapply(unclass(frame), function(x) x[rows])
  kept$row.names <- .set_row_names(length(columns[[1L]]))
  attributes(columns) <- kept
  columns
}

# What predict() must know of the columns of a fit: the levels of a factor, else which kind it is.
# Text is no more than a kind, for its values are the data's.
variables_of <- function(frame, formula) {
  named <- if (!is.null(formula)) all.vars(stats::as.formula(formula))
  used <- if ("." %in% named) names(frame) else intersect(named, names(frame))
  lapply(stats::setNames(used, used), function(name) {
    x <- frame[[name]]
    if (is.factor(x)) levels(x) else structure(character(), kind = kind_of_column(x))
  })
}

kind_of_column <- function(x) if (is.character(x)) "text" else "numbers"

# New rows with the factors of the fit: R's factors and text are told apart by their labels, and
# the codes of a factor mean nothing in another one.
as_fitted <- function(newdata, variables, call = sys.call(-1L)) {
  if (missing(newdata)) {
    refuse("parameter", "newdata is missing; a result holds no rows, so give a data frame", call)
  }
  newdata <- frame_of(newdata, used = names(variables))
  for (name in intersect(names(variables), names(newdata))) {
    known <- variables[[name]]
    newdata[[name]] <- as_in_fit(newdata[[name]], known, attr(known, "kind"), name, call)
  }
  newdata
}

as_in_fit <- function(x, levels, kind, name, call) {
  is_words <- is.factor(x) || is.character(x)
  if (is.null(kind)) {
    words <- as.character(x)
    if (!is_words && !all(is.na(x))) {
      refuse("parameter", sprintf(
        "column '%s' was a factor in the fit; give its labels, as text or a factor", name
      ), call)
    }
    if (!all(words %in% c(levels, NA))) {
      refuse("parameter", sprintf(
        "column '%s' has a level that was not in the fit; give levels of the fit only", name
      ), call)
    }
    return(factor(words, levels))
  }
  if (is_words && kind == "numbers" && !all(is.na(x))) {
    refuse("parameter", sprintf(
      "column '%s' was numbers in the fit; give its numbers, not labels", name
    ), call)
  }
  if (kind == "text") as.character(x) else x
}

#' @export
coef.dprct_estimate <- function(object, ...) {
  tolerate(...)
  object$coefficients
}

#' @export
vcov.dprct_estimate <- function(object, ...) {
  tolerate(...)
  object$vcov
}

#' @export
nobs.dprct_estimate <- function(object, ...) {
  tolerate(...)
  object$nobs
}

# Those of t and of the intervals, for lmtest and sandwich take them for that: of a clustered fit
# they are the clusters less one, which rows less coefficients would overstate.
#' @export
df.residual.dprct_estimate <- function(object, ...) {
  tolerate(...)
  object$df.inference
}

#' @export
formula.dprct_estimate <- function(x, ...) {
  tolerate(...)
  if (is.null(x$formula)) {
    refuse("parameter", "this estimate was not described by a formula; see its call")
  }
  stats::as.formula(x$formula, env = parent.frame())
}

#' @export
confint.dprct_estimate <- function(object, parm, level = 0.95, ...) {
  tolerate(...)
  check_level(level)
  found <- if (identical(level, 0.95)) usual_interval(object)
  if (is.null(found)) {
    found <- dprct_call("estimate_interval", estimate = object, alpha = 1 - level)
  }
  tails <- c((1 - level) / 2, 1 - (1 - level) / 2)
  colnames(found) <- paste(format(100 * tails, trim = TRUE, digits = 3), "%")
  if (missing(parm)) found else found[parm, , drop = FALSE]
}

# A prediction of anything but the mean would be another number under the name that was asked for.
check_response <- function(type = "response", ...) {
  if (!identical(type, "response")) {
    refuse("parameter", "type is not 'response'; predict() gives means of the outcome", sys.call(-1L))
  }
}

# The interval that came with the numbers: it is there in other sessions, too.
usual_interval <- function(object) {
  table <- object$tidy
  if (!all(c("conf.low", "conf.high") %in% names(table))) {
    return(NULL)
  }
  matrix(c(table$conf.low, table$conf.high), ncol = 2L, dimnames = list(table$term, NULL))
}

#' @export
confint.dprct_ols <- function(object, parm, level = 0.95, ...) {
  tolerate(...)
  check_level(level)
  tails <- c((1 - level) / 2, 1 - (1 - level) / 2)
  found <- if (identical(level, 0.95)) usual_interval(object)
  if (is.null(found)) {
    found <- dprct_call("estimate_interval", estimate = object, alpha = 1 - level)
  }
  rownames(found) <- names(object$coefficients)
  colnames(found) <- paste(format(100 * tails, trim = TRUE, digits = 3), "%")
  if (missing(parm)) found else found[parm, , drop = FALSE]
}

#' Predict and augment
#'
#' `predict()` gives the fitted values of new rows, `augment()` adds them to a data frame. A result
#' holds no rows, so the rows are always given.
#'
#' @param object,x What [ols()] returned; for `predict()` also a function that [fit()] released.
#' @param newdata,data A data frame with the columns of the formula; `augment()` takes either name.
#' @param se.fit `TRUE` for a list of `fit` and `se.fit`, as of [predict.lm()].
#' @param interval `"confidence"` for the mean, or `"prediction"` for one new row, which takes the
#'   residuals to have one variance.
#' @param level Of the interval.
#' @param ... Not used.
#' @return `predict()`: a vector; with an interval a matrix of `fit`, `lwr`, `upr`. `augment()`:
#'   `data` with `.fitted`, `.se.fit` and, where the outcome is there, `.resid`.
#' @examples
#' file <- system.file("extdata", "nsw_mixtape.dta", package = "dprct")
#' if (dprct_available()) {
#'   rows <- read_dta(file)
#'   result <- ols(re78 ~ treat + age, rows)
#'   predict(result, data.frame(treat = 0:1, age = 25), interval = "confidence")
#'   head(augment(result, rows)$.resid)
#' }
#' @name predictions
NULL

#' @rdname predictions
#' @export
predict.dprct_ols <- function(object, newdata, se.fit = FALSE,
                              interval = c("none", "confidence", "prediction"), level = 0.95, ...) {
  tolerate(...)
  check_response(...)
  interval <- match.arg(interval)
  check_level(level)
  check_flag(se.fit, "se.fit")
  rows <- as_fitted(newdata, object$variables)
  found <- dprct_call("ols_predict", estimate = object, data = rows, alpha = 1 - level)
  fit <- stats::setNames(found$fit, row.names(rows))
  if (interval != "none" && inherits(object, "dprct_private")) {
    if (interval == "prediction") {
      refuse("parameter", "interval is 'prediction', which needs the law of a single row; released moments have that of means: give interval = \"confidence\"")
    }
    fit <- cbind(fit = fit, lwr = found$low, upr = found$high)
  } else if (interval != "none") {
    spread <- found$se.fit
    if (interval == "prediction") spread <- sqrt(spread^2 + sigma(object)^2)
    half <- stats::qt(1 - (1 - level) / 2, object$df.inference) * spread
    fit <- cbind(fit = fit, lwr = fit - half, upr = fit + half)
  }
  if (!se.fit) {
    return(fit)
  }
  list(
    fit = fit, se.fit = stats::setNames(found$se.fit, row.names(rows)),
    df = object$df.inference, residual.scale = sigma(object)
  )
}

#' @export
predict.dprct_private <- function(object, newdata, ...) {
  tolerate(...)
  if (identical(as.character(object$call[[1L]]), "private_glm")) {
    refuse("parameter", paste(
      "fitted probabilities and counts are not offered; exp(coef(x)) are odds or rate ratios, and",
      "private_glm(margins = ) gives a regressor's average effect"
    ))
  }
  refuse("parameter", paste(
    "only the coefficients of treatment were released, so that no row can be predicted; ols() of",
    "released moments predicts where it is no declared regression"
  ))
}

#' @importFrom generics augment
#' @export
generics::augment

#' @export
augment.dprct_private <- function(x, data, newdata, ...) {
  tolerate(...)
  predict.dprct_private(x)
}

#' @rdname predictions
#' @method augment dprct_ols
#' @export
augment.dprct_ols <- function(x, data, newdata, ...) {
  tolerate(...)
  if (missing(data)) {
    if (missing(newdata)) refuse("parameter", "data is missing; a result holds no rows, so give a data frame")
    data <- newdata
  }
  found <- predict(x, data, se.fit = TRUE)
  data$.fitted <- unname(found$fit)
  data$.se.fit <- unname(found$se.fit)
  left <- stats::formula(x)[[2L]]
  if (all(all.vars(left) %in% names(data))) {
    data$.resid <- as.numeric(eval(left, data, baseenv())) - data$.fitted
  }
  data
}

# marginaleffects moves coefficients and predicts by them; the rest of its methods answers by coef().

#' @exportS3Method marginaleffects::get_predict
get_predict.dprct_ols <- function(model, newdata, ...) {
  tolerate(...)
  rows <- as_fitted(newdata, model$variables)
  X <- dprct_call("ols_regressors", estimate = model, data = rows)
  data.frame(rowid = seq_len(nrow(X)), estimate = drop(unname(X) %*% model$coefficients))
}

#' @exportS3Method marginaleffects::get_coef
get_coef.dprct_estimate <- function(model, ...) {
  tolerate(...)
  coef(model)
}

#' @exportS3Method marginaleffects::get_vcov
get_vcov.dprct_estimate <- function(model, vcov = NULL, ...) {
  tolerate(...)
  if (!isFALSE(vcov)) model$vcov
}

#' @export
print.dprct_estimate <- function(x, ...) {
  only_known(..., .also = for_print)
  if (!is.null(x$call)) {
    cat("Call:\n", paste(call_lines(x$call), collapse = "\n"), "\n\n", sep = "")
  }
  print_text(x)
}

# deparse() breaks a line after it was too long.
call_lines <- function(call) {
  for (room in seq(min(500L, max(20L, getOption("width"))), 20L, by = -10L)) {
    lines <- deparse(call, room)
    if (max(nchar(lines)) <= getOption("width")) break
  }
  lines
}

#' @export
summary.dprct_estimate <- function(object, ...) {
  only_known(...)
  structure(
    list(
      coefficients = coef_table(object), text = object$text, guarantee = object$guarantee,
      result = object, r.squared = object$glance$r.squared,
      adj.r.squared = object$glance$adj.r.squared, sigma = object$glance$sigma
    ),
    class = "summary.dprct_estimate"
  )
}

#' @export
print.summary.dprct_estimate <- function(x, ...) print_text(x, ...)

coef_table <- function(x) {
  noise <- if (!is.null(x$std.error.noise)) list("of which noise" = x$std.error.noise)
  columns <- c(
    list("Estimate" = x$coefficients, "Std. Error" = x$std.error), noise,
    list(x$statistic, x$p.value)
  )
  out <- do.call(cbind, columns)
  # NaN where every coefficient has its own, as on released moments
  law <- if (is.infinite(x$df.inference)) "z" else "t"
  colnames(out)[ncol(out) - 1:0] <- c(paste(law, "value"), sprintf("Pr(>|%s|)", law))
  rownames(out) <- names(x$coefficients)
  out
}

#' @export
coef.dprct_result <- function(object, ...) {
  tolerate(...)
  if (!is.null(object$coefficients)) {
    return(object$coefficients)
  }
  given_or_refused(c(att = object$att, average = object$average), "coefficients")
}

given_or_refused <- function(x, what) {
  if (is.null(x)) refuse("parameter", paste("this result has no", what), sys.call(-1L))
  x
}

#' The band of the privacy noise alone
#'
#' A synthetic control has no interval for its effect, because nothing is known of the error of its
#' weights, so that [confint()] refuses it. The band shows how far privacy noise alone may have
#' changed each number; where donors are unlike the treated unit it seldom holds the effect.
#'
#' @param object What [fit()] returned for [synthetic_control()].
#' @param level The probability with which the noise is within the band.
#' @return A data frame with `term` (each period, and `mean effect`), `noise.low` and `noise.high`.
#' @examples
#' if (dprct_available()) {
#'   set.seed(1)
#'   panel <- expand.grid(shop = 1:8, year = 2001:2010)
#'   panel$y <- 50 + panel$year - 2000 + rnorm(80)
#'   facts <- declare(schema(panel),
#'     y = list(bounds = c(0, 100), missing = "never"), shop = list(missing = "never"),
#'     year = list(missing = "never")
#'   )
#'   model <- synthetic_control(panel, facts, outcome = "y", treated = 1, treatment_time = 2008,
#'     unit = "shop", time = "year")
#'   noise_band(fit(model, epsilon = 5))
#' }
#' @export
noise_band <- function(object, level = 0.95) {
  check_level(level)
  if (!inherits(object, "dprct_result")) {
    refuse("parameter", sprintf(
      "object is %s; give what fit() returned for synthetic_control()", class(object)[1L]
    ))
  }
  dprct_call("noise_band", estimate = object, alpha = 1 - level)
}

#' @export
confint.dprct_result <- function(object, parm, level = 0.95, ...) {
  tolerate(...)
  check_level(level)
  found <- dprct_call("result_band", estimate = object, alpha = 1 - level)
  tails <- c((1 - level) / 2, 1 - (1 - level) / 2)
  colnames(found) <- paste(format(100 * tails, trim = TRUE, digits = 3), "%")
  if (missing(parm)) return(found)
  known <- rownames(found)
  if (is.character(parm)) parm <- known[known %in% parm | sub(" .*", "", known) %in% parm]
  if (!length(parm) || !all(parm %in% c(known, seq_along(known)))) {
    refuse("parameter", paste0("parm names no level; they are ", paste(known, collapse = ", ")))
  }
  found[parm, , drop = FALSE]
}

#' @export
vcov.dprct_result <- function(object, ...) {
  tolerate(...)
  refuse("parameter", "no covariance of the levels was released; tidy() has the error of each")
}

# What was fitted is spent: another epsilon is another release, of the model.
again <- function(object, formula., ...) {
  tolerate(...)
  budget <- intersect(names_given(...), c("epsilon", "delta", "accountant", "rng", "confirm"))
  refuse("parameter", if (length(budget)) sprintf(
    "a fit is spent once, and another %s is another release: fit(model, %s = ), charged again",
    budget[1L], budget[1L]
  ) else "a fit holds no rows to fit again; change its model, update(model, ...), and fit() that")
}

names_given <- function(...) names(as.list(substitute(list(...))))[-1L]

#' @importFrom stats update
#' @export
update.dprct_private <- function(object, formula., ...) {
  tolerate(...)
  if (!inherits(object, "dprct_ols")) again(object, ...)
  # ols() of released moments spends nothing
  eval(stats::update.default(object, formula., ..., evaluate = FALSE), parent.frame())
}

#' @export
update.dprct_result <- again

#' @export
update.dprct_release <- again

#' @export
update.dprct_moments <- again

#' @export
as.data.frame.dprct_result <- function(x, row.names = NULL, optional = FALSE, ...) {
  only_known(..., .also = "stringsAsFactors")
  as_given(tidy(x), row.names)
}

#' @export
as.data.frame.dprct_estimate <- as.data.frame.dprct_result

#' @export
print.dprct_result <- function(x, ...) print_text(x, ...)

#' @export
summary.dprct_result <- function(object, ...) {
  only_known(...)
  object
}

#' @export
nobs.dprct_result <- function(object, ...) {
  tolerate(...)
  given_or_refused(object$nobs, "number of observations")
}

#' @export
predict.dprct_result <- function(object, newdata, ...) {
  tolerate(...)
  check_response(...)
  rows <- as_fitted(newdata, object$variables)
  dprct_call("result_predict", estimate = object, data = rows)
}
