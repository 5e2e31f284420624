test_that("ols agrees with lm and sandwich", {
  skip_without_python()
  skip_if_not_installed("sandwich")
  data <- read_dta(nsw_file())
  formula <- re78 ~ treat * age + factor(educ) + I(re75 / 1000)
  ours <- ols(formula, data)
  theirs <- stats::lm(formula, data)
  kept <- names(coef(theirs))[!is.na(coef(theirs))]
  expect_equal(coef(ours)[kept], coef(theirs)[kept], tolerance = 1e-8)
  robust <- sandwich::vcovHC(theirs, type = "HC1")
  expect_equal(sort(unname(ours$std.error)), sort(unname(sqrt(diag(robust)))), tolerance = 1e-8)
  expect_identical(nobs(ours), stats::nobs(theirs))
  expect_equal(stats::df.residual(ours), stats::df.residual(theirs))
  expect_equal(
    unname(confint(ours, "treat", 0.9)[1L, ]),
    unname(coef(ours)["treat"] + c(-1, 1) * stats::qt(0.95, theirs$df.residual) *
      ours$std.error["treat"])
  )
  rows <- data[c(5, 1, 9), ]
  expect_equal(unname(predict(ours, rows)), unname(stats::predict(theirs, rows)), tolerance = 1e-8)
  expect_equal(glance(ours)$r.squared, summary(theirs)$r.squared, tolerance = 1e-10)
})

test_that("lmtest tests by the degrees of freedom of the fit", {
  skip_without_python()
  skip_if_not_installed("lmtest")
  set.seed(1)
  data <- data.frame(y = rnorm(600), x = rnorm(600), g = rep(1:40, 15))
  for (ours in list(ols(y ~ x, data, cluster = "g"), ols(y ~ x, data))) {
    tested <- lmtest::coeftest(ours)
    expect_identical(attr(tested, "df"), df.residual(ours))
    expect_equal(tested[, "Pr(>|t|)"], ours$p.value, tolerance = 1e-12)
    expect_equal(unname(lmtest::coefci(ours)), unname(confint(ours)), tolerance = 1e-12)
  }
  expect_identical(df.residual(ols(y ~ x, data, cluster = "g")), 39)
  expect_identical(df.residual(ols(y ~ x, data)), 598)
  exact <- fit(nsw_ate(), epsilon = 1, rng = 1)
  expect_identical(df.residual(exact), exact$df.inference)
})

test_that("ols takes clusters, weights and absorbed effects", {
  skip_without_python()
  set.seed(1)
  data <- data.frame(y = rnorm(60), x = rnorm(60), g = rep(1:12, 5), w = runif(60))
  dummies <- ols(y ~ x + factor(g), data)
  absorbed <- ols(y ~ x, data, absorb = "g")
  expect_equal(coef(absorbed)["x"], coef(dummies)["x"], tolerance = 1e-10)
  expect_error(predict(absorbed, data), "absorbed", class = "dprct_parameter_error")
  expect_identical(ols(y ~ x, data, cluster = "g")$cov_type, "cluster")
  weighted <- ols(y ~ x, data, weights = "w")
  expect_equal(unname(coef(weighted)), unname(coef(lm(y ~ x, data, weights = w))))
  expect_error(ols(y ~ x, data, cov_type = "HC9"), "HC1", class = "dprct_parameter_error")
  expect_error(ols(y ~ z, data), "z", class = "dprct_column_error")
  expect_error(predict(weighted), "newdata", class = "dprct_parameter_error")
})

test_that("factors, text and missing rows are predicted", {
  skip_without_python()
  data <- data.frame(
    y = c(1, 2, 4, 3, 6, 8), g = factor(c("a", "b", "b", "a", "c", "c")),
    s = c("u", "v", "u", "v", "u", "v")
  )
  ours <- ols(y ~ g + s, data)
  theirs <- lm(y ~ g + s, data)
  expect_equal(unname(predict(ours, data[3:4, ])), unname(predict(theirs, data[3:4, ])))
  rows <- data[1:2, ]
  rows$g[1L] <- NA
  expect_identical(is.na(unname(predict(ours, rows))), c(TRUE, FALSE))
})

test_that("the factors of new rows are read by their labels", {
  skip_without_python()
  data <- data.frame(y = c(1, 1.1, 5, 5.1, 9, 9.2), a = factor(c("u", "u", "v", "v", "w", "w")))
  data$s <- as.character(data$a)
  theirs <- lm(y ~ a, data)
  ours <- ols(y ~ a, data)
  texts <- ols(y ~ s, data)
  numbers <- ols(y ~ factor(n), transform(data, n = unclass(a)))
  for (levels in list("w", c("w", "u"), c("w", "v", "u", "t"))) {
    rows <- data.frame(a = factor(c("w", NA, "w"), levels))
    expect_equal(predict(ours, rows), predict(theirs, rows), ignore_attr = TRUE)
    expect_equal(predict(texts, data.frame(s = rows$a)), predict(theirs, rows), ignore_attr = TRUE)
  }
  expect_equal(predict(ours, data.frame(a = c("v", "w"))), c(5.05, 9.1), ignore_attr = TRUE)
  had_not <- "'[as]' has a level that was not in the fit"
  for (unseen in list(factor("z"), "z", factor(c("u", "z")))) {
    expect_error(predict(ours, data.frame(a = unseen)), had_not, class = "dprct_parameter_error")
    expect_error(predict(texts, data.frame(s = unseen)), had_not, class = "dprct_parameter_error")
  }
  wider <- transform(data, a = factor(a, c("t", "u", "v", "w")))
  expect_error(predict(ols(y ~ a, wider), data.frame(a = "t")), had_not,
    class = "dprct_parameter_error"
  )
  expect_error(predict(ours, data.frame(a = 3)), "was a factor in the fit",
    class = "dprct_parameter_error"
  )
  expect_error(predict(numbers, data.frame(n = factor("w"))), "was numbers in the fit",
    class = "dprct_parameter_error"
  )
  expect_error(predict(ours, data.frame(b = 1)), "'a'", class = "dprct_column_error")
  secret <- transform(data, s = paste("row", 1:6))
  expect_no_match(paste(deparse(unclass(ols(y ~ a, secret))$variables), collapse = ""), "row")
})

test_that("formulas are R's, and what is not in the grammar is named", {
  skip_without_python()
  data <- read_dta(nsw_file())
  expect_identical(stats::formula(ols(re78 ~ treat, data)), re78 ~ treat, ignore_attr = TRUE)
  expect_error(ols(re78 ~ poly(age, 2), data), "poly", class = "dprct_formula_error")
  expect_error(ols(re78 ~ system("true"), data), "system", class = "dprct_formula_error")
})

test_that("coefficients are named, and models spelled, as by lm", {
  skip_without_python()
  set.seed(1)
  n <- 90
  data <- data.frame(
    y = rnorm(n), x = rnorm(n), z = rnorm(n), b = rbinom(n, 1, 0.5), g = rep(1:6, 15),
    l = sample(c(TRUE, FALSE), n, TRUE), s = sample(c("a", "b", "c"), n, TRUE)
  )
  data$a <- factor(sample(c("lo w", "mid:x", "hi]"), n, TRUE), c("mid:x", "lo w", "hi]"))
  data$`my x` <- rnorm(n)
  for (formula in list(
    y ~ x, y ~ log(abs(x)) + a, y ~ a - 1, y ~ 0 + s, y ~ a * b * x, y ~ (a + b)^2, y ~ a / x,
    y ~ I(x / 1e6) + I(x^2) + I(x * 0.1), y ~ factor(a) + l, y ~ l * a, y ~ factor(l), y ~ l:x,
    log(abs(x)) ~ b, y ~ a * b - a:b, y ~ x:a, y ~ s * x * l, y ~ `my x` + x, y ~ x * a + s:x,
    y ~ (x + b + z)^3 - x:b:z, y ~ a * s, y ~ as.factor(g):x, y ~ ., y ~ x %in% a
  )) {
    label <- paste(deparse(formula), collapse = "")
    ours <- ols(formula, data)
    theirs <- lm(formula, data)
    known <- coef(theirs)[!is.na(coef(theirs))]
    expect_setequal(names(coef(ours)), names(known))
    expect_equal(coef(ours)[names(known)], known, tolerance = 1e-8, label = label)
    expect_identical(rownames(vcov(ours)), names(coef(ours)))
    expect_identical(stats::formula(ours), formula, ignore_attr = TRUE)
    rows <- data[7:9, ]
    lms <- suppressWarnings(predict(theirs, rows)) # of the fits whose rank is not full
    expect_equal(predict(ours, rows), lms, tolerance = 1e-8, ignore_attr = TRUE)
  }
  shown <- ols(y ~ a + l, data)
  expect_identical(tidy(shown)$term, c("(Intercept)", "alo w", "ahi]", "lTRUE"))
  for (text in list(capture.output(summary(shown)), toLatex(shown))) {
    expect_match(paste(text, collapse = "\n"), "alo w")
    expect_no_match(paste(text, collapse = "\n"), "C(", fixed = TRUE)
  }
  data$a <- factor(data$a, ordered = TRUE)
  expect_error(ols(y ~ a, data), "polynomial contrasts are not offered",
    class = "dprct_formula_error"
  )
  expect_error(ols(y ~ (x + offset(z))^2, data), "offset", class = "dprct_formula_error")
})

test_that("a statistic is called by its law", {
  skip_without_python()
  by_t <- colnames(summary(ols(re78 ~ treat, read_dta(nsw_file())))$coefficients)
  expect_identical(by_t, c("Estimate", "Std. Error", "t value", "Pr(>|t|)"))
  exact <- fit(nsw_ate(), epsilon = 1, rng = 1)
  exact$df.inference <- Inf
  expect_identical(tail(colnames(summary(exact)$coefficients), 2L), c("z value", "Pr(>|z|)"))
})

test_that("results print, tidy and typeset", {
  skip_without_python()
  result <- ols(re78 ~ treat, read_dta(nsw_file()))
  expect_output(print(result), "treat")
  expect_output(print(summary(result)), "HC1")
  expect_match(paste(toLatex(result), collapse = ""), "tabular")
  skip_if_not_installed("knitr")
  expect_true(nzchar(paste(capture.output(knitr::knit_print(result)), collapse = "")))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(plot(result), result)
})

test_that("itt_table regenerates a table", {
  skip_without_python()
  data <- read_dta(nsw_file())
  table <- itt_table(data, c("Earnings 1978" = "re78", "Earnings 1975" = "re75"), "treat")
  expect_s3_class(table, "dprct_table")
  expect_output(print(table), "Earnings 1978")
  effect <- tidy(table)
  expect_equal(effect$estimate[1L], unname(coef(lm(re78 ~ treat, data))[2L]), tolerance = 1e-10)
  expect_s3_class(as.data.frame(table), "data.frame")
  expect_match(paste(toLatex(table), collapse = ""), "Earnings 1978")
  adjusted <- itt_table(data, c("re78", "re75"), "treat",
    covariates = "age", adjust = "romano-wolf", draws = 100, rng = 1
  )
  expect_true(all(is.finite(tidy(adjusted)$p.adjusted)))
  expect_error(itt_table(data, "re78", "treat", adjusted = "holm"), "adjust",
    class = "dprct_parameter_error"
  )
})

test_that("only the columns that a call names cross to Python, and only they can refuse it", {
  skip_without_python()
  set.seed(4)
  data <- data.frame(y = rnorm(60), x = rnorm(60), g = rep(1:12, 5), w = runif(60))
  data$arm <- rep(0:1, each = 6, length.out = 60)
  data$`odd name` <- rnorm(60)
  alone <- ols(y ~ x, data)
  data$list <- as.list(1:60)
  data$complex <- complex(60)
  for (wide in list(data, tibble::as_tibble(data), data.table::as.data.table(data))) {
    expect_identical(coef(ols(y ~ x, wide)), coef(alone))
    expect_identical(unname(coef(ols("y ~ x", wide))), unname(coef(alone)))
    expect_named(coef(ols(y ~ `odd name`, wide)), c("(Intercept)", "`odd name`"))
    clustered <- ols(y ~ x, wide, cluster = "g", weights = "w")
    expect_identical(clustered$cov_type, "cluster")
    table <- itt_table(wide, c(Outcome = "y"), "arm", covariates = list(few = "w"))
    expect_identical(nrow(tidy(table)), 1L)
    expect_length(predict(alone, wide), 60)
  }
  expect_error(ols(y ~ complex, data), "complex", class = "dprct_conversion_error")
})

test_that("an estimate of a part of the columns keeps all that was declared and sealed", {
  skip_without_python()
  data <- seal(nsw_facts(), by = "me")
  data <- read_dta(nsw_file(), data)
  data$re78 <- pmin(data$re78, 40000)
  plain <- fit(nsw_ate(data), epsilon = 1, rng = 3)
  data$notes <- lapply(seq_len(nrow(data)), function(i) "a")
  wide <- fit(nsw_ate(data), epsilon = 1, rng = 3)
  expect_identical(coef(wide), coef(plain))
  expect_identical(wide$guarantee$sentence, plain$guarantee$sentence)
})

test_that("predictions have lm's errors and intervals, and rows can be augmented", {
  skip_without_python()
  set.seed(5)
  data <- data.frame(y = rnorm(80), x = rnorm(80), g = factor(rep(c("a", "b"), 40)))
  ours <- ols(y ~ x * g, data, cov_type = "nonrobust")
  theirs <- lm(y ~ x * g, data)
  new <- data[c(3, 9, 40), ]
  for (interval in c("confidence", "prediction")) {
    expect_equal(
      predict(ours, new, interval = interval, level = 0.9),
      predict(theirs, new, interval = interval, level = 0.9), tolerance = 1e-10
    )
  }
  expect_equal(
    predict(ours, new, se.fit = TRUE), predict(theirs, new, se.fit = TRUE), tolerance = 1e-10
  )
  expect_equal(predict(ours, new), predict(theirs, new), tolerance = 1e-10)
  expect_equal(augment(ours, data)$.resid, unname(residuals(theirs)), tolerance = 1e-10)
  expect_false(".resid" %in% names(augment(ours, data[c("x", "g")])))
  expect_identical(augment(ours, newdata = data), augment(ours, data))
  expect_error(augment(ours), "data is missing", class = "dprct_parameter_error")
  expect_error(predict(ours, new, interval = "both"), "should be one of")
  expect_error(predict(ours, new, se.fit = NA), "TRUE or FALSE", class = "dprct_parameter_error")
})

test_that("subset= takes a condition, as lm does", {
  skip_without_python()
  set.seed(6)
  data <- data.frame(y = rnorm(50), x = rnorm(50), age = c(NA, 1:49), g = rep(1:10, 5))
  limit <- 20
  ours <- ols(y ~ x, data, subset = age > limit)
  expect_equal(coef(ours), coef(lm(y ~ x, data, subset = age > limit)), tolerance = 1e-10)
  expect_identical(nobs(ols(y ~ x, data, subset = 1:12, cluster = "g")), 12L)
  expect_identical(nobs(ols(y ~ x, tibble::as_tibble(data), subset = age > limit)), nobs(ours))
  expect_error(ols(y ~ x, data, subset = "age > 20"), "subset is not a condition",
    class = "dprct_parameter_error"
  )
})

test_that("dates, times and text are what lm() makes of them", {
  skip_without_python()
  set.seed(8)
  n <- 40
  data <- data.frame(
    y = rnorm(n), day = as.Date("2006-08-08") + sample(99, n), w = runif(n),
    time = as.POSIXct("2006-08-08", tz = "UTC") + 3600 * sample(99, n),
    s = sample(c("_x", "apple", "Banana", "cherry"), n, TRUE), m = factor(sample(c("a", "b"), n, TRUE))
  )
  new <- data[c(2, 9), ]
  for (formula in list(y ~ time, y ~ day + s)) {
    ours <- ols(formula, data)
    theirs <- lm(formula, data)
    expect_identical(names(coef(ours)), names(coef(theirs)))
    expect_equal(coef(ours), coef(theirs), tolerance = 1e-6)
    expect_equal(predict(ours, new), predict(theirs, new), tolerance = 1e-6)
  }
  numbers <- transform(new, day = as.numeric(day))
  expect_equal(predict(ours, numbers), predict(ours, new), tolerance = 1e-6)
  expect_identical(is.na(unname(predict(ours, transform(new, s = NA)))), c(TRUE, TRUE))
  # a formula in quotes is the same formula
  quoted <- ols("y ~ m + s", data)
  expect_equal(coef(quoted), coef(lm(y ~ m + s, data)), tolerance = 1e-8)
  some <- lm(y ~ m, data, weights = w, subset = day > as.Date("2006-09-01"))
  for (weighted in list(
    ols(y ~ m, data, weights = w, subset = day > as.Date("2006-09-01")),
    ols(y ~ m, data, weights = ~w, subset = day > as.Date("2006-09-01"))
  )) {
    expect_equal(coef(weighted), coef(some), tolerance = 1e-8)
  }
  expect_identical(coef(ols(y ~ m, data, absorb = ~s)), coef(ols(y ~ m, data, absorb = "s")))
  expect_identical(summary(quoted)$r.squared, glance(quoted)$r.squared)
  expect_identical(attr(terms(quoted), "term.labels"), c("m", "s")) # by which waldtest() updates
})

test_that("what lm() would read otherwise is refused, and so is a level in per cent", {
  skip_without_python()
  data <- data.frame(y = c(1, 3, 2, 5, 4, 6), long.name = 1:6, g = factor(rep(c("a", "b", "c"), 2)))
  refused <- function(expr) expect_error(expr, class = "dprct_error")
  summed <- data
  contrasts(summed$g) <- contr.sum(3)
  expect_match(conditionMessage(refused(ols(y ~ g, summed))), "contrasts(g) <- NULL", fixed = TRUE)
  gaps <- transform(data, g = addNA(replace(g, 1, NA)))
  expect_match(conditionMessage(refused(ols(y ~ g, gaps))), "NA among its levels", fixed = TRUE)
  expect_match(conditionMessage(refused(ols(g ~ y, data))), "'g' is a factor", fixed = TRUE)
  expect_match(conditionMessage(refused(ols(y ~ long.nam, data))), "did you mean 'long.name'", fixed = TRUE)
  expect_match(conditionMessage(refused(itt_table(data, "y", "long.nam"))), "mean 'long.name'", fixed = TRUE)
  expect_match(conditionMessage(refused(ols(y ~ other, data))), "it has y, long.name, g", fixed = TRUE)
  ours <- ols(y ~ long.name, data)
  for (level in list(95, 0, NA, "a", c(0.9, 0.95))) {
    refused(confint(ours, level = level))
    refused(tidy(ours, conf.int = TRUE, conf.level = level))
    refused(predict(ours, data, interval = "confidence", level = level))
  }
  refused(tidy(ours, conf.int = "yes"))
  model <- nsw_ate()
  for (f in list(coef, fitted, residuals, weights, deviance, df.residual, sigma)) {
    expect_error(f(model), "before it is fitted", class = "dprct_parameter_error")
  }
})
