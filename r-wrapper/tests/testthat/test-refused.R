test_that("what is not offered is refused, and nothing answers NULL", {
  skip_without_python()
  data <- nsw()
  table <- itt_table(data, "re78", "treat")
  ours <- ols(re78 ~ treat, data)
  release <- fit(nsw_calibrated(), epsilon = 1, rng = 1)
  facts <- declare(nsw_facts(), treat = list(fate = "modelled"), re78 = list(fate = "drop"))
  counts <- fit(mv_histogram(~ treat + black, read_dta(nsw_file(), facts)), 1, rng = 1, confirm = TRUE)
  panels <- panel()
  path <- fit(
    synthetic_control(panels,
      declare(schema(panels),
        y = list(bounds = c(-1, 1), missing = "never"), year = list(missing = "never"),
        facts = list(unit = list(missing = "never"))
      ),
      outcome = "y", treated = "treated", treatment_time = 9, unit = "unit", time = "year"
    ),
    epsilon = 5, rng = 1
  )
  generics <- list(
    stats::residuals, stats::resid, stats::fitted, stats::weights, stats::deviance, stats::sigma,
    stats::df.residual, stats::nobs, stats::coef, stats::vcov, stats::formula, stats::logLik,
    stats::AIC, stats::BIC, stats::model.matrix, stats::terms, stats::anova, stats::family
  )
  answers <- function(f, x) tryCatch(f(x), error = function(e) "refused")
  for (x in list(ours, fit(nsw_ate(), 1, rng = 1), release, counts, path, table)) {
    for (f in generics) {
      answer <- answers(f, x)
      expect_gt(length(answer), 0)
      if (is.numeric(answer)) expect_false(anyNA(answer))
    }
    expect_error(residuals(x), "holds no rows", class = "dprct_parameter_error")
    expect_error(fitted(x), "holds no rows", class = "dprct_parameter_error")
    expect_error(deviance(x), "not kept", class = "dprct_parameter_error")
    if (!identical(x, ours)) expect_error(sigma(x), "ols", class = "dprct_parameter_error")
  }
  expect_error(predict(ours, data, type = "terms"), "type is not 'response'",
    class = "dprct_parameter_error"
  )
})

test_that("sigma, update and clusters as a formula work as for lm", {
  skip_without_python()
  data <- read_dta(nsw_file())
  ours <- ols(re78 ~ treat, data)
  expect_equal(sigma(ours), sigma(lm(re78 ~ treat, data)))
  wider <- update(ours, . ~ . + age)
  expect_equal(coef(wider), coef(lm(re78 ~ treat + age, data)), tolerance = 1e-8)
  expect_identical(update(ours, cov_type = "HC3")$cov_type, "HC3")
  clustered <- ols(re78 ~ treat, data, cluster = ~educ)
  expect_identical(vcov(clustered), vcov(ols(re78 ~ treat, data, cluster = "educ")))
  expect_error(ols(re78 ~ treat, data, cluster = 1:3), "no column", class = "dprct_parameter_error")
  table <- itt_table(data, outcomes = "re78", arms = "treat", cluster = ~educ)
  expect_equal(table$estimates$std.error, clustered$std.error[["treat"]], tolerance = 1e-12)
})

test_that("two ways of clusters are those of sandwich", {
  skip_without_python()
  skip_if_not_installed("sandwich")
  data <- read_dta(nsw_file())
  ours <- ols(re78 ~ treat + age, data, cluster = ~ educ + age)
  theirs <- sandwich::vcovCL(lm(re78 ~ treat + age, data), cluster = ~ educ + age, type = "HC1")
  expect_equal(vcov(ours), theirs, tolerance = 1e-8, ignore_attr = TRUE)
  fewer <- min(length(unique(data$educ)), length(unique(data$age)))
  expect_identical(df.residual(ours), fewer - 1)
  expect_identical(vcov(ols(re78 ~ treat + age, data, cluster = c("educ", "age"))), vcov(ours))
  expect_error(ols(re78 ~ treat, data, cluster = ~ educ + age + black), "three ways are not offered",
    class = "dprct_parameter_error"
  )
  expect_error(itt_table(data, "re78", "treat", cluster = ~ educ + age), "several ways are not",
    class = "dprct_parameter_error"
  )
})

test_that("what asks for rows is refused, and what asks for names is answered", {
  skip_without_python()
  ours <- ols(re78 ~ treat * age, read_dta(nsw_file()))
  expect_identical(variable.names(ours), names(coef(ours)))
  expect_identical(labels(ours), c("treat", "age", "treat:age"))
  for (f in list(stats::case.names, stats::model.frame, stats::model.matrix)) {
    expect_error(f(ours), "holds no rows", class = "dprct_parameter_error")
  }
  skip_if_not_installed("sandwich")
  expect_error(sandwich::bread(ours), "holds no rows", class = "dprct_parameter_error")
  expect_error(sandwich::estfun(ours), "holds no rows", class = "dprct_parameter_error")
})

test_that("a column in the place of its name is refused without its values", {
  skip_without_python()
  rows <- read_dta(nsw_file(), declare(schema(nsw_file()), facts = list(
    treat = list(levels = 0:1, missing = "never"), re78 = list(bounds = c(0, 7e4), missing = "never"),
    black = list(levels = 0:1, missing = "never")
  )))
  rows$who <- rep(c("Anna", "Bert", "Carl", "Dora", "Emil"), length.out = nrow(rows))
  quiet <- function(expr) {
    found <- tryCatch(expr, dprct_error = conditionMessage)
    expect_type(found, "character")
    expect_false(grepl("Anna|Bert", found))
    found
  }
  expect_match(quiet(private_ate(outcome = "re78", treatment = rows$who, data = rows)), "vector of values")
  expect_match(quiet(private_moments(rows, columns = rows$who)), "vector of values")
  expect_match(quiet(design_block("treat", block = rows$who)), "vector of values")
  expect_match(quiet(design_block("treat", block = factor(rows$who))), "vector of values")
  expect_match(quiet(itt_table(rows, outcomes = rows$who, arms = "treat")), "vector of values")
  expect_match(quiet(regression(re78 ~ treat, where = rows$who == "Anna")), "where is a vector")
  expect_error(regression(re78 ~ treat, where = blakc == 1), "where is no text", class = "dprct_parameter_error")
  expect_error(regression(re78 ~ treat, name = c("a", "b")), "name is a vector", class = "dprct_parameter_error")
  expect_error(private_moments(rows, formulas = rows$re78 ~ treat), "'$' in a formula",
    fixed = TRUE, class = "dprct_formula_error"
  )
})

test_that("a misspelt column of a formula is told of the one that is meant", {
  skip_without_python()
  rows <- nsw()
  expect_error(private_moments(rows, formulas = re78 ~ treat + blak), "did you mean 'black'",
    class = "dprct_column_error"
  )
  expect_error(
    private_moments(rows, formulas = regression(re78 ~ treat, where = "blak == 1")),
    "did you mean 'black'", class = "dprct_column_error"
  )
  expect_error(declare(rows, unit = 5), "no text and no named list", class = "dprct_parameter_error")
})

test_that("a control group is named by the levels of the factor", {
  skip_without_python()
  rows <- data.frame(y = seq(0, 1, length.out = 60), arm = factor(rep(c("none", "meals", "cash"), 20)))
  rows <- declare(rows, y = list(bounds = 0:1, missing = "never"),
    arm = list(levels = levels(rows$arm), missing = "never")
  )
  expect_error(private_ate(y ~ arm, rows, control = "None"), "no level of 'arm'; give one of: cash, meals, none",
    class = "dprct_parameter_error"
  )
  effect <- fit(private_ate(y ~ arm, rows, control = "none"), epsilon = 50, rng = 1)
  expect_match(effect$text, "difference from none in the mean of y.*none\\s+mean")
})
