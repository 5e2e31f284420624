# One layout, as wide as options(width) asks, in print(), summary() and documents.
lines_of <- function(x, width = 80L) {
  old <- options(width = width)
  on.exit(options(old))
  utils::capture.output(print(x))
}

effects_of_panel <- function() {
  data <- panel()
  facts <- declare(schema(data),
    y = list(bounds = c(-1, 1), missing = "never"), year = list(missing = "never"),
    facts = list(unit = list(missing = "never"))
  )
  fit(
    synthetic_control(data, facts,
      outcome = "y", treated = "treated", treatment_time = 9, unit = "unit", time = "year"
    ),
    epsilon = 5, rng = 1
  )
}

shapes <- function() {
  rows <- data.frame(x = rep(seq(0.01, 0.99, length.out = 100), 20))
  rows$t <- rep(0:1, 1000)
  rows$y <- 0.2 + 0.3 * rows$x * rows$t
  facts <- declare(schema(rows),
    x = list(bounds = c(0, 1), missing = "never"), t = list(levels = 0:1, missing = "never"),
    y = list(bounds = c(0, 1), missing = "never")
  )
  cate(y ~ x, rows, facts, treatment = "t", propensity = 0.5)
}

test_that("whatever prints keeps to the width, and promises once", {
  skip_without_python()
  model <- shapes()
  release <- fit(nsw_calibrated(), epsilon = 1, rng = 1)
  rows <- data.frame(
    income = rep(c(10, 60, 30, 40), 150), work = rep(c(0, 1, 1), 200), treat = rep(0:1, 300),
    female = rep(c(0, 0, 1), 200)
  )
  never <- list(levels = 0:1, missing = "never")
  rows <- declare(rows, income = list(bounds = c(0, 100), sd = 20, missing = "never"),
    work = never, treat = never, female = never
  )
  logit <- regression(work ~ treat, family = "logit", name = "a model of those who have work")
  group <- regression(income ~ treat, where = "female == 1", name = "a name that is as long as one may get")
  many <- private_moments(rows, formulas = list(income ~ treat, "work ~ treat", logit),
    columns = c("income", "work"), subgroups = "female",
    assignment = design_simple("treat", shares = 0.5)
  )
  moments <- fit(many, epsilon = 20, delta = 1e-6, rng = 1)
  spent <- accountant(epsilon = 5)
  invisible(fit(nsw_ate(), 1, accountant = spent))
  shown <- list(
    ols(re78 ~ treat + age, read_dta(nsw_file())), fit(nsw_ate(), 1, rng = 1), plan(model, 1),
    fit(model, 50, rng = 1), effects_of_panel(), guarantee(fit(model, 1, rng = 1)), nsw_facts(),
    itt_table(nsw(), "re78", "treat"), release, summary(release), many, logit, group, plan(many, 4, 1e-6), moments,
    effects(moments, where = "female"), private_glm("a model of those who have work", moments),
    lincom(moments, "`income: treat` - `work: treat`"), wald_test(moments), itt_table(moments), spent,
    suppressWarnings(utility(nsw(), protected(release), re78 ~ treat)), design_of_nsw(),
    suppressWarnings(risk(nsw(), protected(release))), ols(re78 ~ treat, release), dprct_config(),
    fit(published_ipw(treat ~ female, rows, outcome = "income"), 0.9, 1e-6, rng = 1)
  )
  below_call <- function(lines) { # R breaks a call where it can
    if (lines[1L] == "Call:") lines[-seq_len(which(lines == "")[1L])] else lines
  }
  for (x in shown) {
    for (width in c(60L, 80L, 120L, 200L)) {
      lines <- below_call(lines_of(x, width))
      expect_lte(max(nchar(lines)), width, label = class(x)[1L])
      promises <- grepl("(differential privacy with epsilon|^No differential-privacy)", lines)
      expect_lte(sum(promises), 1L, label = class(x)[1L])
    }
    if (inherits(x, "dprct_estimate")) {
      rows <- tidy(x)
      df <- if (is.finite(x$df.inference)) x$df.inference else Inf
      expect_equal(2 * stats::pt(-abs(rows$statistic), df), rows$p.value)
    }
    words <- function(width) gsub("[-= \n]+", "", paste(lines_of(x, width), collapse = ""))
    expect_gt(nchar(words(60L)), 0.9 * nchar(words(80L))) # nothing is cut off
  }
})

test_that("a result prints in one layout everywhere", {
  skip_without_python()
  result <- ols(re78 ~ treat + age, read_dta(nsw_file()))
  printed <- lines_of(result)
  expect_identical(printed[1:2], c("Call:", "ols(formula = re78 ~ treat + age, data = read_dta(nsw_file()))"))
  expect_identical(printed[-(1:3)], lines_of(summary(result)))
  skip_if_not_installed("knitr")
  expect_output(knitr::knit_print(result), lines_of(summary(result))[12L], fixed = TRUE)
})

test_that("one small number gives no row of exponents", {
  skip_without_python()
  set.seed(1)
  data <- data.frame(x = rnorm(50), z = rnorm(50))
  data$y <- 100 * data$x + rnorm(50)
  printed <- lines_of(ols(y ~ x + z, data))
  expect_no_match(printed, "[0-9]e-")
  expect_match(printed, "<0.001", fixed = TRUE, all = FALSE)
})

test_that("intervals of paths and shapes have the names of broom", {
  skip_without_python()
  path <- effects_of_panel()
  expect_false(any(c("conf.low", "noise.low") %in% names(tidy(path))))
  wide <- tidy(path, conf.int = TRUE)
  narrow <- tidy(path, conf.int = TRUE, conf.level = 0.5)
  expect_identical(wide$term, as.character(wide$time))
  expect_false("conf.low" %in% names(wide)) # of noise alone
  expect_error(confint(path), "noise_band", class = "dprct_parameter_error")
  band <- noise_band(path)
  expect_identical(band$term, c(wide$term, "mean effect"))
  expect_equal(wide$noise.low, utils::head(band$noise.low, -1L))
  expect_true(all(wide$noise.low < narrow$noise.low & narrow$noise.high < wide$noise.high))
  expect_error(noise_band(1), "synthetic_control", class = "dprct_parameter_error")
  effect <- fit(shapes(), 50, rng = 1)
  said <- dprct:::glance_custom.dprct_result(effect) # which modelsummary asks
  expect_true(is.character(said$average) && nchar(said$average) < 8L && is.null(said$nobs))
  wide <- tidy(effect, conf.int = TRUE)
  expect_equal(unlist(wide[1L, c("conf.low", "conf.high")]), confint(effect)[1L, ], ignore_attr = TRUE)
  expect_true(all(wide$conf.low < wide$estimate & wide$estimate < wide$conf.high))
  expect_identical(wide$term, rownames(confint(effect)))
  expect_false(any(c("low", "high", "conf.low") %in% names(tidy(effect))))
  expect_error(tidy(effect, conf.int = NA), "not TRUE or FALSE", class = "dprct_parameter_error")
})

test_that("declared facts are printed and are a data frame", {
  skip_without_python()
  facts <- nsw_facts()
  expect_output(print(facts), "treatment, levels 0, 1, never missing")
  expect_output(print(facts), "outcome, 0 to 40000, sd about 6500")
  table <- as.data.frame(facts)
  expect_identical(table$name, facts$columns)
  expect_true(all(c("role", "low", "high", "levels", "missing", "bins") %in% names(table)))
  expect_identical(table$levels[table$name == "treat"], "0, 1")
  skip_if_not_installed("tibble")
  expect_s3_class(tibble::as_tibble(facts), "tbl_df")
})
