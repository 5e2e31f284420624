test_that("private_ate plans, fits and answers as R models do", {
  skip_without_python()
  model <- nsw_ate()
  expect_s3_class(model, "dprct_model")
  expect_output(print(model), "nothing is spent")
  planned <- plan(model, epsilon = 1)
  expect_s3_class(planned, "dprct_plan")
  expect_identical(planned$epsilon, 1)
  expect_output(print(planned), "Plan")
  numbers <- as.data.frame(planned)
  expect_named(numbers, c("quantity", "value", "unit", "why", "regression", "outcome", "term"))
  of_effect <- numbers$outcome == "re78" & numbers$term == "treat"
  error <- numbers$value[numbers$quantity == "std_error" & of_effect]
  without <- numbers$value[numbers$quantity == "std_error_without_privacy" & of_effect]
  expect_true(error > without && without > 0)
  if (requireNamespace("tibble", quietly = TRUE)) {
    expect_identical(nrow(tibble::as_tibble(planned)), nrow(numbers))
  }
  result <- fit(model, epsilon = 1, rng = 1)
  expect_s3_class(result, "dprct_estimate")
  expect_identical(names(coef(result)), rownames(vcov(result)))
  expect_identical(nobs(result), 445L)
  ends <- confint(result, level = 0.9)
  expect_identical(dim(ends), c(1L, 2L))
  expect_identical(colnames(ends), c("5 %", "95 %"))
  expect_true(ends[1L] < coef(result) && coef(result) < ends[2L])
  wider <- confint(result, level = 0.99)
  expect_true(wider[1L] < ends[1L] && ends[2L] < wider[2L])
  expect_true(all(c("std.error", "std.error.noise") %in% names(tidy(result))))
  expect_true(all(c("conf.low", "conf.high") %in% names(tidy(result, conf.int = TRUE))))
  expect_identical(nrow(glance(result)), 1L)
  expect_output(print(summary(result)), "simulation")
  expect_output(print(result), "Call:.*of which noise")
  expect_false(guarantee(result)$holds)
  expect_output(print(guarantee(result)), "seed")
})

test_that("a fit without a seed is promised and charged", {
  skip_without_python()
  budget <- accountant(epsilon = 1.5, relation = "replace-one-design-public")
  model <- nsw_ate()
  result <- fit(model, epsilon = 1, accountant = budget)
  expect_true(guarantee(result)$holds)
  expect_identical(guarantee(result)$epsilon, 1)
  state <- summary(budget)
  expect_equal(state$remaining$epsilon, 0.5)
  expect_identical(nrow(state$ledger), 1L)
  expect_output(print(budget), "remaining")
  expect_match(state$together[[1]], "under replace-one-design-public", fixed = TRUE)
  expect_output(print(budget), "The sum of all charges holds for every person")
  refused <- tryCatch(fit(model, epsilon = 1, accountant = budget), dprct_error = identity)
  expect_s3_class(refused, "dprct_budget_error")
  expect_s3_class(refused, "dprct_error")
  expect_match(conditionMessage(refused), "0.5", fixed = TRUE)
  expect_no_match(conditionMessage(refused), "Traceback")
  expect_equal(summary(budget)$spent$epsilon, 1)
})

test_that("an accountant lives in a file", {
  skip_without_python()
  file <- tempfile(fileext = ".json")
  made <- accountant(
    epsilon = 2, path = file, dataset_id = "nsw", relation = "replace-one-design-public"
  )
  fit(nsw_ate(), epsilon = 0.5, accountant = made)
  expect_equal(summary(accountant(path = file))$remaining$epsilon, 1.5)
  expect_error(accountant(), "needs epsilon", class = "dprct_parameter_error")
  expect_error(accountant(path = file, relation = "replace-one"), "leave delta, relation and unit out")
})

test_that("an accountant takes every relation, unless one is demanded", {
  skip_without_python()
  expect_null(formals(accountant)$relation)
  expect_null(formals(accountant)$unit)
  expect_error(
    fit(nsw_ate(), epsilon = 1, accountant = accountant(epsilon = 1, relation = "replace-one")),
    "does not hold under", class = "dprct_parameter_error"
  )
})

test_that("a seed gives the same numbers", {
  skip_without_python()
  model <- nsw_ate()
  expect_identical(coef(fit(model, 1, rng = 5)), coef(fit(model, 1, rng = 5)))
  expect_false(identical(coef(fit(model, 1, rng = 5)), coef(fit(model, 1, rng = 6))))
})

test_that("results keep their numbers when saved", {
  skip_without_python()
  file <- tempfile(fileext = ".rds")
  result <- fit(nsw_ate(), epsilon = 1, rng = 1)
  saveRDS(result, file)
  again <- readRDS(file)
  expect_identical(coef(again), coef(result))
  expect_identical(tidy(again), tidy(result))
  attr(again, "dprct_live")$session <- "another session"
  expect_identical(confint(again), confint(result))
  expect_equal(confint(result), confint(result, level = 0.95 + 1e-12), tolerance = 1e-8)
  expect_error(confint(again, level = 0.9), class = "dprct_session_error")
})

test_that("synthetic controls give a path", {
  skip_without_python()
  data <- panel()
  facts <- declare(schema(data),
    y = list(bounds = c(-1, 1), missing = "never"),
    year = list(missing = "never"), facts = list(unit = list(missing = "never"))
  )
  make <- function(f, ...) {
    f(data, facts,
      outcome = "y", treated = "treated", treatment_time = 9, unit = "unit", time = "year", ...
    )
  }
  model <- make(synthetic_control)
  expect_s3_class(plan(model, epsilon = 5), "dprct_plan")
  matched <- make(synthetic_control, predictors = c("y(1&4)" = 2))
  expect_output(print(plan(matched, epsilon = 5)), "y(1&4) (-1 to 1, weight 2)", fixed = TRUE)
  result <- fit(model, epsilon = 5, rng = 1)
  expect_s3_class(result, "dprct_result")
  expect_true(all(c("time", "counterfactual") %in% names(tidy(result))))
  expect_identical(tail(names(coef(result)), 1L), "mean effect")
  expect_identical(names(noise_band(result, level = 0.9)), c("term", "noise.low", "noise.high"))
  expect_identical(nrow(glance(result)), 1L)
  expect_output(print(result), "ynthetic")
  expect_s3_class(toLatex(result), "Latex")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(plot(result), result)
  published <- fit(make(published_synthetic_control), epsilon = 5, rng = 1)
  expect_output(print(published), "donors|record")
  expect_error(confint(published), "no interval", class = "dprct_parameter_error")
  expect_error(toLatex(published), "no table", class = "dprct_parameter_error")
})

test_that("a plot is drawn", {
  skip_without_python()
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  result <- fit(nsw_ate(), epsilon = 1, rng = 1)
  expect_identical(plot(result), result)
})

test_that("effects of treatments that were not randomised, and heterogeneous ones", {
  skip_without_python()
  rows <- data.frame(x = rep(seq(0.01, 0.99, length.out = 100), 20))
  rows$t <- rep(0:1, 1000)
  rows$y <- 0.2 + 0.3 * rows$x * rows$t
  facts <- declare(schema(rows),
    x = list(bounds = c(0, 1), missing = "never"), t = list(levels = 0:1, missing = "never"),
    y = list(bounds = c(0, 1), missing = "never")
  )
  weighted <- fit(ipw(t ~ x, rows, facts, outcome = "y"), 5, 1e-6, rng = 1)
  expect_s3_class(weighted, "dprct_estimate")
  expect_identical(dim(confint(weighted)), c(1L, 2L))
  effects <- fit(cate(y ~ x, rows, facts, treatment = "t", propensity = 0.5), epsilon = 50, rng = 1)
  expect_s3_class(effects, "dprct_result")
  expect_identical(length(predict(effects, data.frame(x = c(0.1, 0.9)))), 2L)
  ends <- confint(effects)
  expect_true(all(rownames(ends) %in% names(coef(effects))))
  expect_true(ends[1L, 1L] <= coef(effects)[[1L]] && coef(effects)[[1L]] <= ends[1L, 2L])
  expect_identical(rownames(ends), names(coef(effects)))
  expect_equal(unname(ends), unname(as.matrix(tidy(effects, conf.int = TRUE)[c("conf.low", "conf.high")])))
  expect_identical(confint(effects, "x"), ends[-1L, ])
  expect_identical(confint(effects, 1L, level = 0.95), ends[1L, , drop = FALSE])
  expect_error(confint(effects, "z"), "names no level", class = "dprct_parameter_error")
  expect_error(vcov(effects), "no covariance", class = "dprct_parameter_error")
  for (spent in list(effects, weighted)) {
    expect_error(update(spent, epsilon = 2), "fit(model, epsilon = )", fixed = TRUE,
      class = "dprct_parameter_error"
    )
    expect_identical(as.data.frame(spent), tidy(spent))
  }
  if (requireNamespace("ggplot2", quietly = TRUE)) {
    expect_s3_class(ggplot2::autoplot(effects), "ggplot")
  }
  additive <- fit(private_additive(y ~ x, rows, facts), epsilon = 5, rng = 1)
  expect_identical(names(coef(additive))[1L], "average")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(plot(effects), effects)
  expect_identical(plot(additive), additive)
  expect_error(published_cate(y ~ x, rows, facts, treatment = "t", propensity = 0.5),
    "not certified",
    class = "dprct_confirmation_error"
  )
})

test_that("the features of a released function are read by their labels", {
  skip_without_python()
  set.seed(1)
  rows <- data.frame(g = factor(rep(c("lo", "mid", "hi"), 100), c("lo", "mid", "hi")))
  rows$y <- c(0.1, 0.5, 0.9)[rows$g]
  facts <- declare(schema(rows),
    g = list(levels = 1:3, missing = "never"), y = list(bounds = c(0, 1), missing = "never")
  )
  fitted <- fit(private_additive(y ~ g, rows, facts), epsilon = 100, rng = 1)
  alone <- predict(fitted, data.frame(g = factor(c("hi", "lo"), c("lo", "mid", "hi"))))
  expect_gt(alone[1L], alone[2L])
  expect_identical(predict(fitted, data.frame(g = factor(c("hi", "lo")))), alone)
  expect_error(predict(fitted, data.frame(g = "none")), "was not in the fit",
    class = "dprct_parameter_error"
  )
})

test_that("the published IPW gives its number and says that nothing is promised", {
  skip_without_python()
  model <- published_ipw(treat ~ age, read_dta(nsw_file()), outcome = "re78")
  expect_error(plan(model, epsilon = 5, delta = 1e-6), "classical = FALSE", fixed = TRUE)
  result <- fit(model, epsilon = 0.5, delta = 1e-6, rng = 1)
  expect_s3_class(result, "dprct_result")
  expect_identical(names(coef(result)), tidy(result)$term)
  expect_identical(nrow(glance(result)), 1L)
  expect_false(guarantee(result)$holds)
})

test_that("the published CATE gives a function and says that nothing is promised", {
  skip_without_python()
  skip_if(inherits(
    tryCatch(published_heterogeneous(), dprct_missing_dependency_error = identity), "error"
  ), "needs the Python package interpret")
  result <- fit(published_heterogeneous(), epsilon = 5, delta = 1e-6, rng = 1)
  expect_s3_class(result, "dprct_result")
  expect_identical(length(predict(result, data.frame(age = c(20, 30)))), 2L)
  expect_identical(nrow(glance(result)), 1L)
  expect_false(guarantee(result)$holds)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(plot(result), result)
})

test_that("delta buys one release of all outcomes", {
  skip_without_python()
  expect_match(format(plan(nsw_ate(), epsilon = 1, delta = 1e-6)), "once for all outcomes",
    all = FALSE
  )
  result <- fit(nsw_ate(), epsilon = 1, delta = 1e-6, rng = 1)
  expect_identical(names(coef(result)), "treat")
  expect_identical(tidy(result)$term, "treat")
  expect_identical(dim(confint(result)), c(1L, 2L))
})

test_that("a delta above 1/n is refused unless it is meant", {
  skip_without_python()
  for (deed in c(plan, fit)) {
    expect_error(deed(nsw_ate(), epsilon = 1, delta = 0.1), "or accept_large_delta = TRUE",
      fixed = TRUE, class = "dprct_confirmation_error"
    )
  }
  large <- "delta=0.1 is above 1/n = 1/445"
  said <- plan(nsw_ate(), epsilon = 1, delta = 0.1, accept_large_delta = TRUE)
  expect_true(startsWith(said$text, large))
  result <- fit(nsw_ate(), epsilon = 1, delta = 0.1, rng = 1, accept_large_delta = TRUE)
  expect_true(startsWith(guarantee(result)$text, large))
  expect_error(plan(nsw_ate(), 1, accept_large_delta = "yes"), class = "dprct_parameter_error")
})

test_that("with a delta private_ate shows effects within subgroups", {
  skip_without_python()
  model <- private_ate(re78 ~ treat, nsw(),
    assignment = design_of_nsw(),
    subgroups = "black"
  )
  expect_error(plan(model, epsilon = 1), "needs delta above 0")
  expect_output(print(plan(model, epsilon = 8, delta = 1e-6)),
    "2 \\(of each arm, by black\\)"
  )
  result <- fit(model, epsilon = 8, delta = 1e-6, rng = 1)
  within <- effects(result, where = "black")
  expect_identical(nrow(tidy(within)), 2L)
  expect_match(names(coef(within)), "black=(no|yes): treat")
  one <- effects(result, where = list(black = 1))
  expect_identical(unname(coef(one)), unname(coef(within))[2L])
  expect_error(effects(result, where = "age"), "makes no groups of this release; groups: black")
  plain <- fit(nsw_ate(), epsilon = 1, rng = 1)
  expect_error(effects(plain), "private_ate\\(\\) with delta", class = "dprct_parameter_error")
})

test_that("a treatment that is a factor has its levels for arms", {
  skip_without_python()
  n <- 1200L
  d <- data.frame(
    arm = factor(rep(c("none", "cash", "food"), n / 3L), levels = c("none", "cash", "food")),
    area = factor(rep(c("north", "south"), each = n / 2L))
  )
  d$y <- 40 + 5 * (d$arm == "cash") + 10 * (d$area == "south") * (d$arm == "food") + sin(1:n)
  both <- d[d$arm != "food", ]
  facts <- function(d) {
    declare(d,
      y = list(bounds = c(0, 100), missing = "never"),
      arm = list(levels = levels(d$arm), missing = "never"),
      area = list(levels = levels(d$area), missing = "never")
    )
  }
  found <- fit(private_ate(y ~ arm, facts(d), assignment = design_complete(1:3, arm = "arm"),
    subgroups = "area"
  ), epsilon = 50, delta = 1e-6)
  expect_identical(names(coef(found)), c("armcash", "armfood"))
  expect_identical(rownames(confint(found)), tidy(found)$term)
  expect_equal(unname(coef(found)), c(5, 5), tolerance = 0.2)
  expect_output(print(found), "difference from none in")
  south <- effects(found, where = list(area = "south"))
  expect_identical(names(coef(south)), c("armcash", "armfood"))
  expect_equal(unname(coef(south)), c(5, 10), tolerance = 0.2)
  expect_identical(coef(effects(found, where = list(area = 2))), coef(south))
  expect_error(effects(found, where = list(area = "west")), "levels are 1 \\(north\\), 2 \\(south\\)", class = "dprct_error")
  other <- private_ate(y ~ arm, facts(d), assignment = design_complete(levels(d$arm), arm = "arm"), control = "cash")
  expect_identical(names(coef(fit(other, epsilon = 50))), c("armnone", "armfood"))
  both$arm <- droplevels(both$arm)
  for (design in list(NULL, design_complete("arm", shares = 0.5))) {
    two <- fit(private_ate(y ~ factor(arm), facts(both), assignment = design), epsilon = 50)
    expect_identical(names(coef(two)), "armcash")
  }
  expect_error(design_complete("arm", shares = c(0.3, 0.3, 0.4)), "3 numbers for 1 arm; give one per arm")
})

test_that("ggplot2 draws effects with their intervals, and paths", {
  skip_without_python()
  skip_if_not_installed("ggplot2")
  result <- ols(re78 ~ treat + black, nsw())
  drawn <- ggplot2::autoplot(result)
  expect_s3_class(drawn, "ggplot")
  expect_identical(levels(drawn$data$term), c("black", "treat"))
  expect_equal(drawn$data$low, unname(confint(result)[c("treat", "black"), 1L]))
  expect_true(all(is.na(drawn$data$noise.low)))
  expect_error(ggplot2::autoplot(result, level = 0.9, acountant = 1), "acountant")
  private <- fit(nsw_ate(), 1, rng = 1)
  drawn <- ggplot2::autoplot(private)
  expect_equal(drawn$data$noise.low, unname(coef(private) - qnorm(0.975) * private$std.error.noise))
  built <- ggplot2::ggplot_build(drawn)
  expect_identical(length(built$data), 4L)
  rows <- panel()
  facts <- declare(schema(rows), y = list(bounds = c(0, 2), missing = "never"))
  model <- synthetic_control(rows, facts,
    outcome = "y", treated = "treated", treatment_time = 9, unit = "unit", time = "year"
  )
  path <- ggplot2::autoplot(fit(model, 1, rng = 1))
  expect_identical(nlevels(path$data$series), 2L)
})

test_that("coefficients that a published file was made with are kept, of each outcome", {
  skip_without_python()
  rows <- data.frame(treat = rep(0:1, 300), income = rep(c(10, 60, 30, 40), 150), half = 5)
  rows <- rows[c("treat", "income", "half")]
  never <- list(bounds = c(0, 100), missing = "never", fate = "modelled")
  facts <- declare(rows, income = never, half = never,
    treat = list(levels = 0:1, missing = "never", fate = "modelled")
  )
  model <- published_gen_model(cbind(income, half) ~ treat, facts, treatment = "treat",
    assignment = design_simple("treat", shares = 0.5), sigma_min = 1, sigma_max = 100, B = 500
  )
  release <- fit(model, 5, rng = 1)
  expect_named(release$estimates, c("income", "half"))
  expect_identical(tidy(release)$outcome, rep(c("income", "half"), each = 2L))
  expect_identical(names(coef(release$estimates$income)), c("(Intercept)", "treat"))
  expect_error(coef(release), "several outcomes", class = "dprct_parameter_error")
  expect_output(print(release), "(Intercept)", fixed = TRUE)
})
