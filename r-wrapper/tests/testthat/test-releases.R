test_that("a calibrated file carries its effect", {
  skip_without_python()
  model <- nsw_calibrated()
  expect_s3_class(plan(model, epsilon = 1), "dprct_plan")
  release <- fit(model, epsilon = 1)
  expect_s3_class(release, "dprct_release")
  data <- protected(release)
  expect_s3_class(data, "data.frame")
  expect_identical(nrow(data), 445L)
  expect_identical(as.data.frame(release), data)
  expect_identical(nobs(release), 445L)
  expect_output(print(summary(release)), "Method")
  expect_identical(names(coef(release)), rownames(vcov(release)))
  expect_identical(nrow(tidy(release, conf.int = TRUE)), nrow(confint(release)))
  expect_identical(nrow(glance(release)), 1L)
  expect_s3_class(schema(release), "dprct_schema")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  plot(release)
  file <- tempfile(fileext = ".dta")
  certificate <- write_dta(release, file)
  expect_output(print(certificate), "^Certificate of .*\n=+\nPure differential privacy")
  checked <- verify(file)
  expect_true(checked$verified)
  expect_output(print(checked), "certificate")
  expect_error(write_dta(fit(model, epsilon = 1, rng = 1), tempfile(fileext = ".dta")),
    class = "dprct_simulation_error"
  )
})

looks <- function() {
  set.seed(1)
  n <- 400
  rows <- data.frame(
    arm = rep(c(0L, 1L), n / 2), g = factor(sample(c("lo", "mid", "hi"), n, TRUE), c("mid", "lo", "hi")),
    o = factor(sample(c("p", "q"), n, TRUE), ordered = TRUE), l = sample(c(TRUE, FALSE), n, TRUE),
    n = sample(c(0.5, 1, 2), n, TRUE), d = as.Date("2024-01-01") + sample(0:2, n, TRUE)
  )
  attr(rows$n, "label") <- "A number"
  rows
}

released_looks <- function(rows, rng = 1) {
  days <- as.numeric(as.Date("2024-01-01") + 0:2 - as.Date("1960-01-01"))
  facts <- declare(schema(rows),
    arm = list(levels = 0:1), g = list(levels = 1:3), o = list(levels = 1:2), l = list(levels = 0:1),
    n = list(levels = c(0.5, 1, 2)), d = list(levels = days), confirm_header = TRUE
  )
  never <- stats::setNames(
    rep(list(list(missing = "never", fate = "modelled")), length(names(rows))), names(rows)
  )
  facts <- declare(facts, facts = never)
  found <- fit(marginals(~ arm + g + o + l + n + d, rows, facts), 5, rng = rng, confirm = TRUE)
  if (is.null(rng)) found else protected(found)
}

test_that("a saved release can be written in another session, and only as it was", {
  skip_without_python()
  rows <- looks()
  kinds <- list(fit(nsw_calibrated(), epsilon = 1), released_looks(rows, rng = NULL))
  for (release in kinds) {
    saved <- tempfile(fileext = ".rds")
    saveRDS(release, saved)
    here <- tempfile(fileext = ".dta")
    write_dta(release, here)
    again <- readRDS(saved)
    other <- function(x) {
      live <- attr(x, "dprct_live")
      attr(x, "dprct_live") <- list2env(list(id = live$id, session = "another"))
      x
    }
    again <- other(again)
    attr(again$protected, "dprct_schema") <- other(attr(again$protected, "dprct_schema"))
    there <- file.path(tempfile("there"), basename(here))
    dir.create(dirname(there))
    write_dta(again, there)
    expect_identical(
      unname(tools::md5sum(there)), unname(tools::md5sum(here))
    )
    expect_true(verify(there)$verified)
    certificate <- function(file) readLines(sub("dta$", "certificate.json", file))
    expect_identical(certificate(there), certificate(here))
    again$protected[[1L]] <- 1 - as.vector(unclass(again$protected[[1L]])) # the arm
    expect_error(write_dta(again, tempfile(fileext = ".dta")), "was changed since",
      class = "dprct_parameter_error"
    )
  }
  simulated <- other(fit(nsw_calibrated(), epsilon = 1, rng = 1))
  expect_error(write_dta(simulated, tempfile(fileext = ".dta")), "no certificate",
    class = "dprct_simulation_error"
  )
})

test_that("histograms and marginals release tables without effects", {
  skip_without_python()
  facts <- declare(nsw_facts(), treat = list(fate = "modelled"), re78 = list(fate = "drop"))
  data <- read_dta(nsw_file(), facts)
  for (make in list(mv_histogram, marginals, published_mv_histogram)) {
    release <- fit(make(~ treat + black, data), epsilon = 1, rng = 1, confirm = TRUE)
    expect_identical(sort(names(protected(release))), c("black", "treat"))
    expect_error(coef(release), "no estimates", class = "dprct_parameter_error")
  }
  by_name <- mv_histogram(data = data, columns = c("treat", "black"))
  expect_identical(
    protected(fit(by_name, 1, rng = 1, confirm = TRUE))$treat,
    protected(fit(mv_histogram(~ treat + black, data), 1, rng = 1, confirm = TRUE))$treat
  )
})

test_that("columns and table come out of a release as they went in", {
  skip_without_python()
  without_facts <- function(x) {
    attr(x, "dprct_schema") <- NULL
    x
  }
  rows <- looks()
  kinds <- list(rows)
  if (requireNamespace("tibble", quietly = TRUE)) kinds <- c(kinds, list(tibble::as_tibble(rows)))
  if (requireNamespace("data.table", quietly = TRUE)) {
    kinds <- c(kinds, list(data.table::as.data.table(rows)))
  }
  for (given in kinds) {
    found <- without_facts(released_looks(given))
    expect_identical(setdiff(class(found), "dprct_data"), class(given))
    expect_identical(lapply(found[0L, ], attributes), lapply(given[0L, ], attributes))
    expect_identical(vapply(found, typeof, ""), vapply(given, typeof, ""))
    expect_identical(nrow(found), nrow(given))
  }
  fitted <- lm(n ~ g, released_looks(rows))
  expect_identical(names(coef(fitted)), c("(Intercept)", "glo", "ghi"))
})

test_that("no attribute that may hold data comes out of a release", {
  skip_without_python()
  rows <- looks()
  attr(rows, "note") <- rows$n
  attr(rows$n, "problems") <- rows$n
  attr(rows$g, "contrasts") <- diag(3)
  class(rows$l) <- c("mine", "logical")
  found <- released_looks(rows)
  expect_identical(setdiff(names(attributes(found)), c("names", "row.names", "class")),
    "dprct_schema"
  )
  expect_identical(names(attributes(found$n)), "label")
  expect_setequal(names(attributes(found$g)), c("levels", "class"))
  expect_null(attributes(found$l))
})

test_that("the published models release what they do not promise", {
  skip_without_python()
  facts <- declare(nsw_facts(), treat = list(fate = "modelled"))
  data <- read_dta(nsw_file(), facts)
  data$re78 <- pmin(data$re78, 40000)
  for (make in list(published_hybrid, published_gen_model)) {
    model <- make(re78 ~ treat + black, data, treatment = "treat", assignment = design_of_nsw())
    release <- fit(model, epsilon = 1, rng = 1, confirm = TRUE)
    expect_identical(nrow(protected(release)), 445L)
    expect_false(guarantee(release)$holds)
  }
})

test_that("the released file is an ordinary file to R", {
  skip_without_python()
  skip_if_not_installed("haven")
  skip_if_not_installed("sandwich")
  skip_if_not_installed("lmtest")
  file <- tempfile(fileext = ".dta")
  write_dta(fit(nsw_calibrated(), epsilon = 1), file)
  public <- haven::read_dta(file)
  model <- stats::lm(re78 ~ treat, public)
  robust <- sandwich::vcovHC(model, type = "HC1")
  tested <- lmtest::coeftest(model, vcov. = robust)
  ours <- ols(re78 ~ treat, read_dta(file))
  expect_equal(unname(coef(ours)), unname(coef(model)), tolerance = 1e-10)
  expect_equal(unname(vcov(ours)[2, 2]), unname(robust[2, 2]), tolerance = 1e-10)
  expect_equal(tidy(ours)$statistic[2], unname(tested[2, "t value"]), tolerance = 1e-10)
  expect_equal(tidy(ours)$p.value[2], unname(tested[2, "Pr(>|t|)"]), tolerance = 1e-10)
  # of the control mean the file's own error has no privacy noise, and ours the released error
  expect_gt(vcov(ours)[1, 1], 4 * robust[1, 1])
  expect_true(is.na(vcov(ours)[1, 2]))
})

test_that("fixest and modelsummary read the released file", {
  skip_without_python()
  skip_if_not_installed("haven")
  skip_if_not_installed("fixest")
  file <- tempfile(fileext = ".dta")
  write_dta(fit(nsw_calibrated(), epsilon = 1), file)
  theirs <- getExportedValue("fixest", "feols")(re78 ~ treat, haven::read_dta(file), vcov = "HC1")
  ours <- ols(re78 ~ treat, read_dta(file))
  # of the control mean the file's own error has no privacy noise
  expect_equal(vcov(ours)["treat", "treat"], stats::vcov(theirs)["treat", "treat"], tolerance = 1e-10)
  skip_if_not_installed("modelsummary")
  tabulate <- getExportedValue("modelsummary", "modelsummary")
  shown <- tabulate(list(ours, theirs), output = "data.frame", fmt = 6)
  effect <- shown[shown$term == "treat", 4:5]
  expect_identical(effect[[1L]], effect[[2L]])
})

test_that("marginaleffects reads fits by its generics, and moves their coefficients", {
  skip_without_python()
  data <- nsw()
  found <- ols(re78 ~ treat * age + factor(black), data)
  moved <- found
  moved$coefficients["treat"] <- moved$coefficients["treat"] + 10
  rows <- data.frame(treat = c(0, 1, NA), age = 30, black = 1)
  # its generics may not be there
  away <- dprct:::get_predict.dprct_ols(moved, rows)$estimate - predict(found, rows)
  expect_equal(unname(away), c(0, 10, NA))
  expect_identical(dprct:::get_coef.dprct_estimate(found), coef(found))
  expect_null(dprct:::get_vcov.dprct_estimate(found, vcov = FALSE))
  skip_if_not_installed("marginaleffects")
  slopes <- getExportedValue("marginaleffects", "avg_slopes")
  plain <- as.data.frame(lapply(data[c("re78", "treat", "age", "black")], as.numeric))
  theirs <- slopes(lm(formula(found), plain), vcov = vcov(found))
  expect_equal(slopes(found, newdata = plain)$std.error, theirs$std.error, tolerance = 1e-4)
})

test_that("utility is for the custodian and says so", {
  skip_without_python()
  release <- fit(nsw_calibrated(), epsilon = 1)
  expect_s3_class(toLatex(release), "Latex")
  expect_warning(report <- utility(read_dta(nsw_file()), release, re78 ~ treat), "disclosure",
    class = "dprct_warning"
  )
  expect_s3_class(report, "dprct_utility")
  expect_output(print(report), "onfidential|CONFIDENTIAL")
  expect_true("overlap" %in% names(as.data.frame(report)))
  expect_identical(nrow(summary(report)), 1L)
  shown <- as.data.frame(report)
  expect_equal(
    ci_overlap(shown$conf.low, shown$conf.high, shown$released.conf.low, shown$released.conf.high),
    shown$overlap
  )
  expect_error(ci_overlap(1, 2, 3, "a"), "one length", class = "dprct_parameter_error")
  draws <- suppressWarnings(utility(nsw_file(), list(one = nsw(), two = nsw()), re78 ~ treat))
  expect_identical(summary(draws, quantiles = 0.5)$method, c("one", "two"))
  expect_error(utility(nsw_file(), release, re78 ~ treat, alhpa = 0.1), "alpha",
    class = "dprct_parameter_error"
  )
})

test_that("what is no release is refused", {
  expect_error(protected(3), "give a release", class = "dprct_parameter_error")
  expect_error(guarantee(3), "no guarantee", class = "dprct_parameter_error")
})

test_that("a fit runs on a release that another session saved", {
  skip_without_python()
  release <- fit(nsw_calibrated(), epsilon = 1)
  elsewhere <- function(x) {
    attr(x, "dprct_live") <- list2env(list(id = attr(x, "dprct_live")$id, session = "another"))
    x
  }
  again <- elsewhere(release)
  attr(again$protected, "dprct_schema") <- elsewhere(attr(again$protected, "dprct_schema"))
  expect_equal(coef(ols(re78 ~ treat, again)), coef(ols(re78 ~ treat, release)))
})

test_that("what an accountant's entry paid for is read again, and nothing is charged", {
  skip_without_python()
  book <- tempfile(fileext = ".json")
  first <- fit(nsw_ate(), epsilon = 1, accountant = accountant(4, path = book, dataset_id = "nsw"))
  later <- accountant(path = book)
  entry <- summary(later)$ledger$entry
  again <- fit(nsw_ate(), resume = entry, accountant = later)
  expect_identical(coef(again), coef(first))
  expect_equal(confint(again, level = 0.8), confint(first, level = 0.8))
  expect_identical(summary(accountant(path = book))$spent$epsilon, 1)
  expect_error(fit(nsw_ate(), epsilon = 1, resume = entry), "leave it out", class = "dprct_parameter_error")
  expect_error(fit(nsw_ate(), resume = 1, accountant = later), "resume is numeric", class = "dprct_parameter_error")
})
