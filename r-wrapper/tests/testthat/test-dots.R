# Whatever is exported, and every S3 method: a misspelt argument must not vanish.
namespace <- function() asNamespace("dprct")

methods_of_ours <- function() {
  table <- get(".__NAMESPACE__.", namespace())$S3methods
  # those of a data frame hand their dots to base R's, as [.data.frame and cbind() must
  table <- table[table[, 2L] != "dprct_data", ]
  data.frame(name = paste(table[, 1L], table[, 2L], sep = "."), generic = table[, 1L])
}

# Generics of other packages: more is passed through their dots than our methods know.
shared_generics <- c(
  "coef", "vcov", "nobs", "df.residual", "formula", "confint", "predict", "augment", "tidy", "glance",
  "residuals", "fitted", "deviance", "sigma", "weights", "terms", "model.frame", "model.matrix",
  "variable.names", "case.names", "labels", "bread", "estfun", "as_tibble", "update",
  "get_predict", "get_coef", "get_vcov", "glance_custom"
)

# What the functions need that pass their dots on to Python, by the names of their arguments.
needed <- function(formals) {
  rows <- data.frame(y = c(1, 2, 3, 4), t = c(0, 1, 0, 1))
  all <- list(
    formula = y ~ t, data = rows, outcomes = "y", arms = "t", outcome = "y", treated = "t",
    treatment_time = 2, treatment = "t", confidential = rows, released = rows, .schema = rows
  )
  all[intersect(names(formals), names(all))]
}

has_dots <- function(f) "..." %in% names(formals(f))

refusal_of <- function(f, given) {
  tryCatch({
    do.call(f, given)
    "nothing was refused"
  }, error = conditionMessage)
}

test_that("no exported function takes a misspelt argument", {
  skip_without_python()
  names <- getNamespaceExports("dprct")
  expect_gt(length(names), 40)
  for (name in names) {
    f <- get(name, envir = namespace())
    if (!is.function(f)) next
    generic <- isTRUE(any(c("UseMethod", "standardGeneric") %in% all.names(body(f))))
    if (generic && has_dots(f)) next # its methods are asked below
    given <- c(if (has_dots(f)) needed(formals(f)), list(acountant = 1))
    expect_match(refusal_of(f, given), "acountant", fixed = TRUE, label = name)
  }
})

test_that("no method takes a misspelt argument, or one without a name", {
  ours <- methods_of_ours()
  expect_gt(nrow(ours), 60)
  for (name in ours$name) {
    f <- get(name, envir = namespace())
    if (!ours$generic[ours$name == name] %in% shared_generics) {
      expect_match(refusal_of(f, list(acountant = 1)), "unused argument.*acountant", label = name)
    }
    if (has_dots(f)) {
      all <- rep(list(quote(stop("this was looked at"))), length(formals(f)) + 1L)
      expect_match(refusal_of(f, all), "unused argument without a name", label = name)
    }
  }
})

test_that("generics take a misspelt argument of none of our objects", {
  skip_without_python()
  facts <- nsw_facts()
  model <- nsw_ate()
  result <- ols(re78 ~ treat, nsw())
  for (asked in expression(
    plan(model, epsilon = 1, acountant = 1), fit(model, epsilon = 1, acountant = 1),
    schema(facts, acountant = 1), write_dta(nsw(), "x.dta", acountant = 1),
    print(result, acountant = 1), plot(result, acountant = 1), summary(result, acountant = 1)
  )) {
    expect_error(eval(asked), "unused argument 'acountant'", class = "dprct_parameter_error")
  }
})

test_that("generics pass over what other packages hand them", {
  skip_without_python()
  result <- ols(re78 ~ treat + age, nsw())
  # what modelsummary, marginaleffects and broom's own methods pass on
  foreign <- list(
    vcov = "HC1", coef_rename = c(treat = "Treated"), gof_map = "all", type = "response",
    exponentiate = FALSE, effects = "fixed", complete = TRUE, stars = TRUE
  )
  for (generic in list(tidy, glance, coef, vcov, confint, nobs, formula, stats::df.residual)) {
    expect_no_warning(found <- do.call(generic, c(list(result), foreign)))
    expect_identical(found, generic(result))
  }
  expect_no_warning(found <- do.call(predict, c(list(result, nsw()[1:3, ]), foreign)))
  expect_identical(found, predict(result, nsw()[1:3, ]))
  expect_error(residuals(result, type = "response"), "no rows", class = "dprct_parameter_error")
  expect_error(model.frame(result, data = nsw(), na.action = NULL), "no rows",
    class = "dprct_parameter_error"
  )
})

test_that("a generic says of a misspelt argument which one was meant", {
  skip_without_python()
  result <- ols(re78 ~ treat + age, nsw())
  expect_warning(confint(result, levle = 0.9), "did you mean 'level'")
  expect_warning(tidy(result, conf.int = TRUE, conf_level = 0.9), "did you mean 'conf.level'")
  expect_warning(tidy(result, conf.int = TRUE, level = 0.9), "did you mean 'conf.level'")
  expect_warning(predict(result, nsw(), interavl = "confidence"), "did you mean 'interval'")
  expect_error(glance(result, 3), "unused argument without a name", class = "dprct_parameter_error")
})

test_that("what methods accept besides their own arguments is this and no more", {
  grDevices::pdf(NULL) # par() opens a device
  on.exit(grDevices::dev.off())
  passed_on <- list(
    print = c("digits", "quote", "na.print", "print.gap", "right", "max", "width", "useSource"),
    plot = c(
      "main", "sub", "xlab", "ylab", "xlim", "ylim", "col", "pch", "cex", "cex.axis", "cex.lab",
      "cex.main", "lty", "lwd", "bty", "ann"
    ),
    knit_print = c("options", "inline"), as.data.frame = "stringsAsFactors"
  )
  ours <- methods_of_ours()
  ours <- ours[!ours$generic %in% shared_generics, ]
  candidates <- unique(c(
    unlist(passed_on), names(formals(print.default)), names(formals(graphics::plot.default)),
    names(graphics::par(no.readonly = TRUE)), names(formals(data.frame)), "level", "se.fit"
  ))
  candidates <- setdiff(candidates, c("...", "x", "y"))
  for (i in seq_len(nrow(ours))) {
    f <- get(ours$name[i], envir = namespace())
    if (!has_dots(f)) next
    accepted <- Filter(function(name) {
      given <- stats::setNames(list(1), name)
      !grepl("unused argument", refusal_of(f, given), fixed = TRUE)
    }, candidates)
    expected <- as.character(passed_on[[ours$generic[i]]])
    own <- setdiff(names(formals(f)), "...")
    own <- Filter(function(name) any(startsWith(own, name)), candidates) # R's abbreviations, too
    expect_setequal(setdiff(as.character(accepted), own), setdiff(expected, own))
  }
})

test_that("parameters of a plot are drawn", {
  skip_without_python()
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  result <- ols(re78 ~ treat + age, nsw())
  expect_identical(
    plot(result, main = "a", sub = "b", xlab = "c", ylab = "d", xlim = c(-1, 1), ylim = c(0, 3),
      col = 2, pch = 1, cex = 1, cex.axis = 1, cex.lab = 1, cex.main = 1, lty = 1, lwd = 1,
      bty = "n", ann = TRUE
    ),
    result
  )
})

test_that("a misspelt accountant spends and charges nothing", {
  skip_without_python()
  budget <- accountant(epsilon = 2)
  model <- nsw_ate()
  expect_error(fit(model, epsilon = 1, acountant = budget), "did you mean 'accountant'",
    class = "dprct_parameter_error"
  )
  expect_error(fit(model, 1, 0, budget, NULL, FALSE, FALSE, 7), "without a name",
    class = "dprct_parameter_error"
  )
  expect_equal(summary(budget)$spent$epsilon, 0)
})

test_that("an argument's name is suggested, and no value is printed", {
  f <- function(alpha, beta = 1, ...) dprct:::only_known(...)
  said <- function(...) tryCatch(f(...), error = conditionMessage)
  environment(f) <- namespace()
  expect_identical(said(1, bata = 271828), "unused argument 'bata'; did you mean 'beta'?")
  expect_identical(said(1, zzzzzz = 271828), "unused argument 'zzzzzz'; allowed: alpha, beta")
  expect_null(f(1, be = 2)) # R's own abbreviation
  refused <- tryCatch(do.call(f, list(1, gamma = c(271828.5, 1))), error = identity)
  expect_no_match(paste(deparse(conditionCall(refused)), collapse = ""), "271828.5", fixed = TRUE)
})

test_that("a missing value is neither a seed, nor an accountant, nor a yes", {
  skip_without_python()
  model <- nsw_ate()
  budget <- accountant(epsilon = 2)
  odd <- list(NA, NA_integer_, NA_real_, NA_character_, NaN, "a", "1", 1.5, -1, Inf, TRUE,
    c(1, 2), integer(), list(), list(1), factor("1"), as.Date("2024-01-01"), identity
  )
  for (rng in odd) {
    expect_error(fit(model, 1, accountant = budget, rng = rng), "rng is .*; give one whole number",
      class = "dprct_parameter_error"
    )
    expect_error(assign_arms(design_complete("t", shares = 0.5), data.frame(id = 1:4), rng = rng), "rng is",
      class = "dprct_parameter_error"
    )
  }
  for (confirm in list(NA, "yes", 1, NULL, c(TRUE, TRUE))) {
    expect_error(fit(model, 1, accountant = budget, confirm = confirm), "confirm is not TRUE or FALSE",
      class = "dprct_parameter_error"
    )
  }
  for (wrong in list(NA, "file.json", 1, list(), c(NA, NA))) {
    expect_error(fit(model, 1, accountant = wrong), "such as accountant\\(epsilon = 1\\)",
      class = "dprct_parameter_error"
    )
  }
  for (epsilon in list(NA, NA_integer_, NA_real_, NaN, "1", TRUE, list(1), numeric())) {
    expect_error(fit(model, epsilon, accountant = budget), "epsilon is .*; give one number",
      class = "dprct_parameter_error"
    )
  }
  expect_error(fit(model, Inf, accountant = budget), class = "dprct_error")
  expect_error(accountant(epsilon = NA), "epsilon is NA", class = "dprct_parameter_error")
  expect_error(accountant(epsilon = 1, path = NA), "path", class = "dprct_parameter_error")
  expect_equal(summary(budget)$spent$epsilon, 0)
})

test_that("NA is not taken for an option that was left out", {
  skip_without_python()
  data <- nsw()
  expect_error(ols(re78 ~ treat, data, weights = NA), "weights is NA",
    class = "dprct_parameter_error"
  )
  expect_error(private_ate(re78 ~ treat, data, assignment = design_of_nsw(), attrition = NA),
    "attrition is NA", class = "dprct_parameter_error"
  )
  expect_error(declare(data, re78 = list(bounds = NA)), "bounds is NA",
    class = "dprct_parameter_error"
  )
  expect_error(declare(data, unit = list(nam = "person")), "did you mean name",
    class = "dprct_parameter_error"
  )
  expect_error(declare(data, confirm_haeder = TRUE), "did you mean the argument 'confirm_header'",
    class = "dprct_schema_error"
  )
})

test_that("neighbours of an accountant are Python's, and terms are not ignored", {
  skip_without_python()
  expect_null(formals(accountant)$relation)
  file <- tempfile(fileext = ".json")
  accountant(epsilon = 2, path = file, dataset_id = "nsw")
  expect_error(accountant(path = file, delta = 1e-6), "terms from there",
    class = "dprct_parameter_error"
  )
  expect_error(accountant(epsilon = 5, path = file, dataset_id = "nsw"), "not what was asked for",
    class = "dprct_ledger_error"
  )
  expect_error(accountant(epsilon = 1, dataset_id = "nsw"), "give its path",
    class = "dprct_parameter_error"
  )
})

test_that("a release is a data frame by the ways of base R", {
  skip_without_python()
  table <- itt_table(nsw(), "re78", "treat")
  expect_identical(nrow(data.frame(table)), nrow(as.data.frame(table)))
  named <- as.data.frame(table, row.names = paste0("row", seq_len(nrow(as.data.frame(table)))))
  expect_identical(row.names(named)[1L], "row1")
  expect_output(print(list(a = table), digits = 3), "re78|Outcome")
})
