#' One release, every linear regression
#'
#' `private_moments()` describes a release of noisy sums and cross products of columns: spent once in
#' [fit()], every linear regression on them is free from then on. What [fit()] returns may be
#' published with `write_moments()`; readers run [ols()], `iv()` and [effects()] on what
#' `read_moments()` returns, without the data.
#'
#' Every option of the Python class is an argument under the same name, with the same default; what
#' is left out, or `NULL`, has that default.
#'
#' @inheritParams estimates
#' @param columns What is released besides the columns of the formulas: names, those of factors for
#'   their levels, `"factor(region)"` of a column that is none, and products such as `"age:female"`
#'   or `"I(age^2)"`.
#' @param formulas Regressions that should have the least noise; they are public: an R formula, text,
#'   what `regression()` returns, or a list of these. Those on a treatment that was assigned are
#'   served by one step; any other regression on released columns remains possible.
#' @param cluster The column by which errors of a declared regression are clustered, or two of them
#'   for two ways, which need `neighbors = "replace-one-design-public"`; by default, the assigned
#'   clusters.
#' @param joint Of `regression()`: label of regressions whose coefficients are tested together, as
#'   after Stata's `suest`. Of `effects()`: the label of those whose coefficients are returned, with
#'   their covariance, for [wald_test()] and [lincom()].
#' @param count_effects Whether errors of a declared regression count the effects after `|` among the
#'   coefficients, as Stata's `areg` counts those of persons; by default those of blocks count, and
#'   those of persons do not.
#' @param name Name by which [ols()] finds a declared regression; by default, its formula.
#' @param assignment One of the [designs]; every arm is a group of its own.
#' @param control The arm to compare with, if the design assigns every row to an arm.
#' @param subgroups Columns with levels: every level within every arm is a group.
#' @param radius Rows whose covariates are further from the centres than this, in units of their
#'   declared `sd`, are projected to that distance; `"box"` projects none. Outcomes are clipped at their bounds alone.
#' @param attrition Whether rows were lost after the assignment.
#' @param weights A column of sampling weights, private, with bounds of 0 or above. It needs
#'   `cov_type`; the regressions in `formulas` alone are then estimated. Of `regression()`: the
#'   column of its own weights.
#' @param clipped The share of mu squared, such as .02, for which the share of rows outside `radius`
#'   is released by arm, too.
#' @param neighbors `"replace-one"` or `"replace-one-design-public"`.
#' @param x,object,moments Released moments, as [fit()] and `read_moments()` return.
#' @param path Name of the file, such as `"study.moments.json"`.
#' @param formula An R formula, or text; of [ols()] also the name of a declared regression, or what
#'   `regression()` returns. With instruments `y ~ age | d ~ z`, or, as text,
#'   `"y ~ age + [d ~ z]"`: `z` is the instrument of `d`. Where units have several rows,
#'   `y ~ d | person` takes out fixed effects of persons.
#' @param family Of `margins()`: `"logit"` or `"poisson"`, whose average marginal effects of treatment as a
#'   factor a declared regression has: what Stata's `margins, dydx(treat)` prints after it. Of
#'   `regression()` and `private_glm()`: `"logit"`, `"probit"`, `"cloglog"` or `"poisson"`, whose coefficients are
#'   released by private scoring; their odds ratios are `exp(coef())` and `exp(confint())`.
#' @param margins Of `private_glm()`: the regressor whose average effect on the outcome's mean is returned
#'   instead of the coefficients.
#' @param outcomes Released columns; by default the outcomes of the formulas of the release.
#' @param where Among one group alone: a list such as `list(female = 1)`, or `list(area = "north")` of a
#'   factor; of `effects()`, `"female"` is
#'   every level, side by side. Of `regression()`: text as after Stata's `if`, such as
#'   `"female == 1"` or ``"!is.na(wage) & `years at school` > 9"``, in which a factor is its codes,
#'   from 1 on in the order of its levels, and names with blanks stand in backquotes.
#' @param cov_type Of a release, `"HC1"` (the default) or `"CR1"`: the scores of the regressions in
#'   `formulas` are released too, for errors that are robust, or robust to dependence within units of
#'   several rows; `"nonrobust"`: they are not, and errors are classical.
#'   Of `regression()`: its errors, if not clustered as the design is. Of a fit, `"scores"`, where
#'   they were released; `"by group"` or `"nonrobust"`; by default errors have a variance for each
#'   group that the formula distinguishes.
#' @param scales,signs Lists by outcome: public standard deviations, by default those of the control
#'   group as released; -1 where less is better.
#' @return `regression()`: an object of class `dprct_regression`. `private_moments()`: an object of class `dprct_model`, see [fit()]. `read_moments()`, and
#'   [fit()]: an object of class `dprct_moments`, with methods for `print()`, `summary()`,
#'   `effects()`, [coef()], [confint()] and [tidy()]: of its declared regressions and models, which the
#'   column `regression` names, or without any of its effects. `effects()`,
#'   `iv()`, `margins()`, `private_glm()`, `outcome_index()` and [ols()]: a `dprct_estimate`, whose errors contain the noise.
#'   `write_moments()`: `path`, invisibly.
#' @examples
#' file <- system.file("extdata", "nsw_mixtape.dta", package = "dprct")
#' if (dprct_available()) {
#'   facts <- declare(schema(file),
#'     re78 = list(bounds = c(0, 40000), sd = 6500, clip = TRUE, missing = "never"),
#'     age = list(bounds = c(16, 60), sd = 7, centre = 25, missing = "never"),
#'     black = list(levels = 0:1, missing = "never"), hisp = list(levels = 0:1, missing = "never"),
#'     treat = list(levels = 0:1, missing = "never")
#'   )
#'   nsw <- read_dta(file, facts)
#'   model <- private_moments(nsw,
#'     columns = c("re78", "age"),
#'     formulas = list(
#'       re78 ~ treat + age,
#'       regression(black ~ treat + age, family = "logit", name = "share")
#'     ),
#'     assignment = design_simple("treat", shares = 185 / 445), subgroups = "hisp"
#'   )
#'   m <- fit(model, epsilon = 4, delta = 1e-6)
#'   summary(effects(m))
#'   effects(m, where = "hisp")
#'   tidy(ols(re78 ~ treat + age, m), conf.int = TRUE)
#'   iv(re78 ~ 1 | age ~ treat, m)
#'   private_glm("share", m)
#'   outcome_index(m, c("re78", "age"), scales = list(re78 = 6500, age = 7))
#'   file <- tempfile(fileext = ".moments.json")
#'   write_moments(m, file)
#'   read_moments(file)
#'
#'   # where it is public who was treated, a logit's margins are those of a declared regression
#'   public <- private_moments(nsw,
#'     formulas = black ~ treat + age, assignment = design_complete("treat", shares = 185 / 445),
#'     neighbors = "replace-one-design-public"
#'   )
#'   margins(black ~ treat + age, fit(public, epsilon = 4, delta = 1e-6))
#' }
#' @name moments
NULL

# methods, written by scripts/registry.py
#' @rdname moments
#' @export
private_moments <- function(data, schema = NULL, ..., columns = NULL, formulas = NULL,
                            assignment = NULL, control = NULL, subgroups = NULL, radius = NULL,
                            attrition = NULL, cov_type = NULL, clipped = NULL, weights = NULL,
                            neighbors = NULL) {
  model("PrivateMoments", NULL, data, schema,
    columns = column_texts(columns, data), formulas = formula_texts(formulas, data, schema),
    assignment = assignment, control = control, subgroups = subgroups, radius = radius,
    attrition = attrition, cov_type = cov_type, clipped = clipped, weights = weights,
    neighbors = neighbors, ...
  )
}
# end of methods

formula_texts <- function(formulas, data, schema) {
  if (is.null(formulas)) {
    return(NULL)
  }
  frame <- frame_of(data, schema)
  if (inherits(formulas, c("formula", "dprct_regression"))) formulas <- list(formulas)
  lapply(unname(as.list(formulas)), declared_text, data = frame)
}

# Columns to release, each a term as R writes it: a factor by its levels, I(age^2), age:female.
column_texts <- function(columns, data) {
  if (!is.character(columns)) return(columns)
  factors <- names(data)[vapply(data, is.factor, NA)]
  vapply(columns, function(text) {
    read <- if (!text %in% names(data) || text %in% factors) {
      tryCatch(str2lang(text), error = function(e) NULL)
    }
    if (is.name(read) || is.call(read)) term_text(read, factors) else text
  }, "", USE.NAMES = FALSE)
}

# A formula as text, of a declared regression with what else it says.
declared_text <- function(x, data = NULL, known = NULL) {
  text <- function(formula) {
    if (is_instrumented(formula)) instrumented_text(formula, data, known) else {
      formula_text(formula, data, known = known)
    }
  }
  if (!inherits(x, "dprct_regression")) {
    return(text(x))
  }
  x$formula <- text(x$formula)
  unclass(x)
}

# What is asked of released moments, in which the factors of the data are known.
asked_of <- function(moments, formula) declared_text(formula, known = as.list(moments$factors))

#' @rdname moments
#' @export
regression <- function(formula, where = NULL, weights = NULL, cluster = NULL, name = NULL, joint = NULL,
                       cov_type = NULL, count_effects = NULL, family = NULL) {
  if (is.function(family) || inherits(family, "family")) {
    refuse("parameter", "family is one of glm(); give its link as text: family = \"logit\"")
  }
  names_of <- function(x) if (inherits(x, "formula")) all.vars(x) else x # ~ village + year, as for ols()
  tryCatch(where, error = function(e) {
    refuse("parameter", "where is no text; give the condition in quotes, such as \"female == 1\"", sys.call(-5L))
  })
  texts <- list(where = where, name = name, family = family)
  such_as <- c(where = "female == 1", name = "main", family = "logit")
  for (key in names(texts)) {
    x <- texts[[key]]
    if (!is.null(x) && !(is.character(x) && length(x) == 1L)) {
      refuse("parameter", sprintf("%s is %s; give one text, such as \"%s\"", key,
        if (length(x) == 1L) class(x)[1L] else "a vector", such_as[[key]]
      ))
    }
  }
  said <- list(
    where = where, weights = names_of(weights), cluster = names_of(cluster), name = name, family = family, joint = joint,
    cov_type = cov_type, count_effects = count_effects
  )
  structure(
    c(list(formula = formula), Filter(Negate(is.null), said)),
    class = "dprct_regression"
  )
}

#' @export
print.dprct_regression <- function(x, ...) {
  only_known(..., .also = for_print)
  said <- vapply(names(x)[-1L], function(key) paste(key, paste(x[[key]], collapse = " and ")), "")
  say_lines(paste(c(declared_text(x$formula), said), collapse = ", "))
  invisible(x)
}

#' @rdname moments
#' @export
read_moments <- function(path) dprct_call("moments_read", path = file_name(path))

#' @rdname moments
#' @export
margins <- function(formula, moments, family = "logit") {
  found <- dprct_call("moments_margins",
    moments = check_moments(moments), formula = asked_of(moments, formula), family = family,
    .call = sys.call()
  )
  found$call <- plain_call(match.call())
  found
}

#' @rdname moments
#' @export
private_glm <- function(formula, moments, family = NULL, margins = NULL) {
  found <- dprct_call("moments_glm",
    moments = check_moments(moments), formula = asked_of(moments, formula), family = family,
    margins = margins, .call = sys.call()
  )
  found$call <- plain_call(match.call())
  found
}

#' @rdname moments
#' @export
write_moments <- function(moments, path) {
  dprct_call("moments_write", moments = check_moments(moments), path = file_name(path))
  invisible(path)
}

#' @rdname moments
#' @export
iv <- function(formula, moments, cov_type = NULL, where = NULL) {
  found <- dprct_call("moments_fit",
    moments = check_moments(moments),
    formula = instrumented_text(formula, known = as.list(moments$factors)), kind = "iv",
    cov_type = cov_type, where = where, .call = sys.call()
  )
  found$call <- plain_call(match.call())
  found
}

#' @rdname moments
#' @export
outcome_index <- function(moments, outcomes, scales = NULL, signs = NULL, where = NULL) {
  found <- dprct_call("moments_index",
    moments = check_moments(moments), outcomes = as.list(outcomes), scales = scales,
    signs = signs, where = where, .call = sys.call()
  )
  found$call <- plain_call(match.call())
  found
}

#' Tests and combinations of coefficients
#'
#' `wald_test()` tests several restrictions together; `lincom()` estimates a combination, with its
#' standard error. Of released moments they are those of all [effects()]. Sampling and privacy noise
#' are in both.
#'
#' @param object Released moments, or what [effects()] or [ols()] returned.
#' @param hypothesis Text such as `"t1 = t2"` or `"t1 = t2 = 0"`, or several of them. Left out, it
#'   is that all are 0, for released moments and regressions that are tested together.
#' @param combination Text such as `"t1 - t2"`, or weights by name: `c(t1 = 1, t2 = -1)`. A name
#'   with signs or blanks in it, such as `(Intercept)`, is written in backquotes.
#' @return `wald_test()`: an object of class `dprct_wald`, a list with `statistic`, `p.value`, `df`,
#'   `df.residual` (infinite for a chi-square) and `hypothesis`. `lincom()`: a `dprct_estimate`.
#' @examples
#' file <- system.file("extdata", "nsw_mixtape.dta", package = "dprct")
#' if (dprct_available()) {
#'   facts <- declare(schema(file),
#'     age = list(bounds = c(16, 60), missing = "never"),
#'     educ = list(bounds = c(0, 20), missing = "never"),
#'     treat = list(levels = 0:1, missing = "never")
#'   )
#'   model <- private_moments(read_dta(file, facts),
#'     columns = c("age", "educ"), assignment = design_simple("treat", shares = 185 / 445)
#'   )
#'   m <- fit(model, epsilon = 4, delta = 1e-6)
#'   found <- ols(age ~ treat + educ, m)
#'   wald_test(found, c("treat = 0", "educ = 0"))
#'   lincom(found, c(treat = 1, educ = 2))
#' }
#' @name combinations
NULL

#' @rdname combinations
#' @export
wald_test <- function(object, hypothesis = NULL) {
  check_ours(object)
  dprct_call("moments_wald",
    result = object, hypothesis = weights_by_name(hypothesis, "hypothesis"), .call = sys.call()
  )
}

#' @rdname combinations
#' @export
lincom <- function(object, combination) {
  check_ours(object)
  dprct_call("moments_lincom",
    result = object, combination = weights_by_name(combination, "combination"), .call = sys.call()
  )
}

check_ours <- function(object) {
  if (!any(startsWith(class(object), "dprct_"))) {
    refuse("parameter", paste0(
      "object is ", class(object)[1L], "; give what effects() or ols() returned of released moments"
    ))
  }
}

weights_by_name <- function(wanted, said) {
  by_name <- (is.numeric(wanted) || is.list(wanted)) && !is.null(names(wanted))
  if (!by_name && !is.character(wanted) && !(said == "hypothesis" && (is.null(wanted) || is.list(wanted)))) {
    refuse("parameter", sprintf(
      "%s is %s; give text such as \"t1 - t2\", or weights by name: c(t1 = 1, t2 = -1)", said,
      if (is.numeric(wanted)) "numbers without names" else class(wanted)[1L]
    ), sys.call(-1L))
  }
  if (length(wanted) > 1L || is.numeric(wanted)) as.list(wanted) else wanted
}

#' @export
print.dprct_wald <- function(x, ...) print_text(x, ...)

# itt_table() of moments instead of data: their effects, by design.
table_of_moments <- function(moments, outcomes, arms, given, call) {
  refused <- setdiff(names(given), c("adjust", "where"))
  if (length(refused)) {
    refuse("parameter", sprintf(
      "a table of released moments has no %s; leave it out, or use ols() on the moments", refused[1L]
    ), call)
  }
  if (!is.null(arms)) {
    arms <- labelled(arms)
    if (!is.list(arms)) arms <- stats::setNames(as.list(arms), arms)
  }
  dprct_call("moments_table",
    moments = moments, outcomes = if (!is.null(outcomes)) as.list(labelled(outcomes)), arms = arms,
    adjust = isTRUE(given$adjust), where = given$where, .call = call
  )
}

# ols() on moments instead of data: what needs rows is refused.
ols_of_moments <- function(formula, moments, cov_type, where, given, call) {
  rows <- intersect(c("weights", "weights_type", "absorb", "cluster", "subset"), given)
  if (length(rows)) {
    refuse("parameter", paste0(
      rows[1L], " needs rows, and released moments hold none; leave it out",
      if (rows[1L] == "subset") ", or give where = list(...)"
    ), call)
  }
  if (is_instrumented(formula)) {
    refuse("formula", "ols() takes no instruments; give this formula to iv()", call)
  }
  if (is.character(where)) {
    refuse("parameter", paste(
      "where is text; give a group, such as list(female = 1), or the regression that was declared:",
      "ols(regression(y ~ treat, where = \"female == 1\"), moments)"
    ), call)
  }
  read <- if (inherits(formula, "dprct_regression")) list(text = asked_of(moments, formula)) else {
    formula_text(formula, spelled = TRUE, known = as.list(moments$factors))
  }
  found <- dprct_call("moments_fit",
    moments = moments, formula = read$text, spelling = read$spelling, kind = "ols",
    cov_type = cov_type, where = where, .call = call
  )
  found$call <- plain_call(call)
  if (inherits(found, "dprct_ols")) found$variables <- variables_of_moments(formula, moments)
  found
}

# What predict() must know of the columns: a factor whose labels are public is told apart by these.
variables_of_moments <- function(formula, moments) {
  used <- all.vars(stats::as.formula(formula))
  lapply(stats::setNames(used, used), function(name) {
    labels <- moments$factors[[name]]
    if (length(labels)) labels else structure(character(), kind = "any")
  })
}

# R reads y ~ age | d ~ z from the left: as (y ~ age | d) ~ z.
is_instrumented <- function(formula) {
  if (is.character(formula)) formula <- tryCatch(stats::as.formula(formula), error = function(e) NULL)
  first <- if (inherits(formula, "formula") && length(formula) == 3L) formula[[2L]]
  is.call(first) && identical(first[[1L]], quote(`~`))
}

instrumented_text <- function(formula, data = NULL, known = NULL) {
  if (is_instrumented(formula)) formula <- stats::as.formula(formula)
  if (!inherits(formula, "formula")) {
    return(formula_text(formula))
  }
  first <- if (is_instrumented(formula)) formula[[2L]]
  bar <- if (length(first) == 3L) first[[3L]]
  if (!is.call(bar) || !identical(bar[[1L]], quote(`|`))) {
    refuse("formula",
      "the formula names no instruments; give one such as y ~ age | d ~ z, z being the instrument",
      user_call()
    )
  }
  text <- function(tilde) formula_text(stats::as.formula(tilde), data, known = known)
  main <- text(call("~", first[[2L]], bar[[2L]]))
  moved <- sub("^~ *", "", text(call("~", bar[[3L]])))
  by <- text(call("~", formula[[3L]]))
  paste0(main, " + [", moved, " ", by, "]")
}

check_moments <- function(moments) {
  if (!inherits(moments, "dprct_moments")) {
    refuse("parameter", paste0(
      "moments is ", class(moments)[1L], "; give what fit() of private_moments() or ",
      "read_moments() returns"
    ), sys.call(-1L))
  }
  moments
}

#' @importFrom stats effects
#' @export
stats::effects

#' @rdname moments
#' @export
effects.dprct_moments <- function(object, outcomes = NULL, where = NULL, joint = NULL, ...) {
  only_known(...)
  if (!is.null(outcomes)) outcomes <- as.list(outcomes)
  dprct_call("moments_effects",
    result = object, outcomes = outcomes, where = where, joint = joint,
    factors = if (!inherits(object, "dprct_moments")) object$factors, arms = object_arms(object),
    .call = sys.call()
  )
}

object_arms <- function(object) if (!inherits(object, "dprct_moments")) object$arms

#' @rdname moments
#' @export
effects.dprct_private <- effects.dprct_moments

#' @rdname moments
#' @export
print.dprct_moments <- function(x, ...) print_text(x, ...)

#' @rdname moments
#' @export
summary.dprct_moments <- function(object, ...) {
  only_known(...)
  object
}

# Every declared regression and model by its title; without any, the effects.
estimates_in <- function(moments, call = sys.call(-1L)) {
  found <- dprct_call("moments_declared", moments = moments, .call = call)
  if (length(found)) found else list(effects(moments))
}

# Names of coefficients, after the regression that each is of.
terms_in <- function(found) {
  terms <- lapply(found, function(x) names(x$coefficients))
  if (is.null(names(found))) return(unlist(terms))
  paste(rep(names(found), lengths(terms)), unlist(terms, use.names = FALSE), sep = ": ")
}

#' @export
coef.dprct_moments <- function(object, ...) {
  tolerate(...)
  found <- estimates_in(object)
  stats::setNames(unlist(lapply(found, coef), use.names = FALSE), terms_in(found))
}

#' @export
vcov.dprct_moments <- function(object, ...) {
  tolerate(...)
  found <- estimates_in(object)
  if (length(found) > 1L) {
    refuse("parameter", paste(
      "covariances of different regressions are not released; give vcov() of one, which",
      "ols(formula, moments) returns, or of effects(moments, joint = ) of a family"
    ))
  }
  vcov(found[[1L]])
}

#' @export
confint.dprct_moments <- function(object, parm, level = 0.95, ...) {
  tolerate(...)
  found <- estimates_in(object)
  ends <- do.call(rbind, lapply(unname(found), confint, level = level))
  rownames(ends) <- terms_in(found)
  if (missing(parm)) ends else ends[parm, , drop = FALSE]
}

#' @export
nobs.dprct_moments <- function(object, ...) {
  tolerate(...)
  object$nobs
}

#' @method tidy dprct_moments
#' @export
tidy.dprct_moments <- function(x, conf.int = FALSE, conf.level = 0.95, ...) {
  tolerate(...)
  found <- estimates_in(x)
  rows <- lapply(found, tidy, conf.int = conf.int, conf.level = conf.level)
  if (is.null(names(found))) return(rows[[1L]])
  titles <- rep(names(found), vapply(rows, nrow, 0L))
  cbind(regression = titles, do.call(rbind, unname(rows)))
}

#' @method glance dprct_moments
#' @export
glance.dprct_moments <- function(x, ...) {
  tolerate(...)
  data.frame(
    nobs = x$nobs, columns = length(x$columns), groups = length(x$groups),
    epsilon = x$guarantee$epsilon, delta = x$guarantee$delta
  )
}

#' @export
residuals.dprct_moments <- function(object, ...) {
  tolerate(...)
  refuse("parameter", by_row("residuals"))
}

#' @export
fitted.dprct_moments <- function(object, ...) {
  tolerate(...)
  refuse("parameter", by_row("fitted values"))
}

#' @export
weights.dprct_moments <- function(object, ...) {
  tolerate(...)
  refuse("parameter", by_row("weights"))
}

#' @export
deviance.dprct_moments <- function(object, ...) {
  tolerate(...)
  refuse("parameter", "the deviance is not kept; see sigma() and glance()")
}

#' @export
sigma.dprct_moments <- function(object, ...) {
  tolerate(...)
  refuse("parameter", "only a fit by ols() has a residual standard error")
}

#' @export
df.residual.dprct_moments <- function(object, ...) {
  tolerate(...)
  df.residual(effects(object))
}
