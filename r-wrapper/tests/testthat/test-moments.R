moments_model <- function(...) {
  facts <- declare(nsw_facts(),
    age = list(bounds = c(16, 60), sd = 7, centre = 25, missing = "never"),
    re78 = list(sd = 6500, centre = 5000, clip = TRUE)
  )
  data <- read_dta(nsw_file(), facts)
  private_moments(data,
    formulas = re78 ~ treat + age, assignment = design_simple("treat", shares = 185 / 445),
    subgroups = "black", ...
  )
}

test_that("moments are released once, and answer as R's models do", {
  skip_without_python()
  model <- moments_model()
  expect_s3_class(model, "dprct_model")
  expect_match(paste(names(plan(model, epsilon = 4, delta = 1e-6)$facts), collapse = " "), "re78 ~")
  m <- fit(model, epsilon = 8, delta = 1e-6, rng = 1)
  expect_s3_class(m, "dprct_moments")
  expect_setequal(m$columns, c("re78", "age"))
  expect_output(print(m), "Released moments")
  expect_output(print(summary(m)), "simulation")
  found <- effects(m)
  expect_identical(names(coef(found)), "treat")
  expect_equal(coef(m), coef(found))
  expect_equal(vcov(m), vcov(found))
  expect_equal(confint(m), confint(found))
  expect_true(confint(m, level = 0.99)[1L] < confint(m)[1L])
  expect_equal(tidy(m, conf.int = TRUE), tidy(found, conf.int = TRUE))
  expect_identical(nobs(m), 445L)
  expect_identical(nrow(glance(m)), 1L)
  expect_false(guarantee(m)$holds)
  expect_error(residuals(m), "holds no rows", class = "dprct_parameter_error")
  expect_error(write_moments(m, tempfile()), "seed", class = "dprct_error")
})

test_that("every regression follows from the moments, by R's formulas", {
  skip_without_python()
  m <- fit(moments_model(), epsilon = 20, delta = 1e-6, rng = 1)
  own <- ols(re78 ~ treat + age, m)
  expect_s3_class(own, "dprct_estimate")
  expect_setequal(names(coef(own)), c("(Intercept)", "treat", "age"))
  expect_true(all(c("std.error", "std.error.noise") %in% names(tidy(own))))
  expect_true(all(c("conf.low", "conf.high") %in% names(tidy(own, conf.int = TRUE))))
  expect_identical(dim(confint(own, level = 0.9)), c(3L, 2L))
  expect_output(print(own), "Call:.*std err")
  expect_output(print(summary(own)), "Least squares from released moments")
  expect_identical(nrow(glance(own)), 1L)
  expect_equal(coef(ols("re78 ~ treat + age", m)), coef(own))
  crossed <- ols(re78 ~ treat * black, m)
  expect_length(coef(crossed), 4L)
  among <- ols(re78 ~ treat, m, where = list(black = 1))
  # the one is freed of the bias of the noise in its regressor, the other is a difference of means
  alone <- coef(effects(m, where = list(black = 1)))
  expect_equal(unname(coef(among)["treat"]), unname(alone), tolerance = 0.02)
  expect_identical(ols(re78 ~ age, m, cov_type = "nonrobust")$cov_type, "nonrobust")
  # age was released as a covariate: what explains it would be about projected rows
  expect_error(iv(re78 ~ 1 | age ~ treat, m), "projected rows", class = "dprct_parameter_error")
  index <- outcome_index(m, "re78", scales = list(re78 = 6500))
  expect_length(coef(index), 1L)
})

test_that("coefficients and effects are combined, tested and tabled", {
  skip_without_python()
  m <- fit(moments_model(), epsilon = 20, delta = 1e-6, rng = 1)
  own <- ols(re78 ~ treat + age, m)
  both <- lincom(own, c(treat = 1, age = 2))
  expect_equal(unname(coef(both)), unname(coef(own)["treat"] + 2 * coef(own)["age"]))
  expect_equal(coef(lincom(own, "treat + 2*age")), coef(both))
  joint <- wald_test(own, c("treat = 0", "age = 0"))
  expect_s3_class(joint, "dprct_wald")
  expect_equal(joint$df, 2)
  expect_output(print(joint), "Test of")
  for (f in list(wald_test, lincom)) {
    expect_error(f(lm(re78 ~ treat, nsw()), "treat = 0"), "object is lm; give",
      class = "dprct_parameter_error"
    )
  }
  expect_error(wald_test(own), "^hypothesis is missing", class = "dprct_parameter_error")
  expect_error(wald_test(own, 3), "^hypothesis is numbers without names", class = "dprct_parameter_error")
  expect_error(lincom(own, NULL), "^combination is NULL", class = "dprct_parameter_error")
  single <- wald_test(m, "treat = 0")
  expect_equal(single$p.value, tidy(m)$p.value, tolerance = 0.05)
  expect_equal(unname(coef(lincom(m, "treat"))), unname(coef(m)))
  table <- itt_table(m, outcomes = c("Earnings" = "re78"), arms = c("Training" = "treat"))
  expect_s3_class(table, "dprct_table")
  expect_output(print(table), "Earnings")
  expect_output(print(itt_table(m, adjust = TRUE)), "re78")
  expect_error(itt_table(m, blocks = "black"), "has no blocks", class = "dprct_parameter_error")
})

test_that("a release with a promise is written, read, verified and saved", {
  skip_without_python()
  budget <- accountant(epsilon = 8, delta = 1e-6)
  m <- fit(moments_model(), epsilon = 8, delta = 1e-6, accountant = budget)
  expect_true(guarantee(m)$holds)
  file <- tempfile(fileext = ".moments.json")
  expect_identical(write_moments(m, file), file)
  again <- read_moments(file)
  expect_identical(coef(effects(again)), coef(effects(m)))
  expect_true(verify(file)$verified)
  kept <- tempfile(fileext = ".rds")
  saveRDS(m, kept)
  expect_identical(coef(ols(re78 ~ treat, readRDS(kept))), coef(ols(re78 ~ treat, m)))
  words <- readLines(file)
  writeLines(sub('"n": 445', '"n": 446', words, fixed = TRUE), file)
  expect_false(verify(file)$verified)
  expect_error(read_moments(file), "was changed after it was written", class = "dprct_error")
})

test_that("effects of persons with several rows are taken out inside the release", {
  skip_without_python()
  shop <- data.frame(worker = rep(1:900, each = 3), quarter = rep(1:3, 900))
  shop$bonus <- as.numeric(shop$quarter == 3 & shop$worker %% 2 == 0)
  own <- 3 * sin(seq_len(nrow(shop)) * 1.7)
  shop$sales <- 10 + shop$worker %% 7 + 2 * shop$bonus + shop$quarter %% 2 + own
  facts <- declare(schema(shop),
    unit = list(name = "worker", id = "worker", max_rows = 3L), worker = list(missing = "never"),
    quarter = list(levels = 1:3, missing = "never"), bonus = list(levels = 0:1, missing = "never"),
    sales = list(bounds = c(0, 30), sd_within = 2, missing = "never")
  )
  model <- private_moments(shop, facts,
    formulas = sales ~ bonus + factor(quarter) | worker, cov_type = "CR1"
  )
  found <- ols(sales ~ bonus + factor(quarter) | worker, fit(model, epsilon = 40, delta = 1e-6))
  expect_identical(names(coef(found)), c("bonus", "factor(quarter)2", "factor(quarter)3"))
  expect_equal(coef(found)[["bonus"]], 2, tolerance = 0.5)
  expect_output(print(found), "an effect of every worker")
})

test_that("released moments speak R: terms, labels of factors, predictions and tests", {
  skip_without_python()
  n <- 600
  d <- data.frame(
    y = 50 + sin(1:n), z = 1:n %% 2, treat = (1:n %/% 2) %% 2, age = 20 + 1:n %% 40, edu = 1 + 1:n %% 3,
    region = factor(c("north", "south", "west")[1 + (1:n %/% 3) %% 3])
  )
  facts <- declare(schema(d),
    y = list(bounds = c(0, 100), sd = 1, centre = 50, missing = "never"),
    z = list(levels = 0:1, missing = "never"), treat = list(levels = 0:1, missing = "never"),
    age = list(bounds = c(18, 60), sd = 12, centre = 40, missing = "never"),
    edu = list(levels = 1:3, missing = "never"),
    region = list(levels = c("north", "south", "west"), missing = "never")
  )
  model <- private_moments(d, facts,
    columns = c("y", "z", "age", "factor(edu)", "region", "I(age^2)"),
    assignment = design_simple("treat", shares = 0.5)
  )
  m <- fit(model, epsilon = 50, delta = 1e-6)
  expect_true(all(c("factor(edu)2", "I(age^2)") %in% m$columns))
  found <- ols(y ~ treat + age + factor(edu) + region, m)
  expect_identical(names(coef(found)), names(coef(lm(y ~ treat + age + factor(edu) + region, d))))
  plain <- lm(formula(found), d)
  expect_true(all(abs(coef(found) - coef(plain)) < 6 * sqrt(diag(vcov(found)))))
  expect_true("I(age^2)" %in% names(coef(ols(y ~ age + I(age^2), m))))
  rows <- predict(found, d[1:4, ], interval = "confidence")
  expect_equal(unname(rows[, "fit"]), drop(unname(model.matrix(plain)[1:4, ] %*% coef(found))))
  expect_true(all(rows[, "lwr"] < rows[, "fit"] & rows[, "fit"] < rows[, "upr"]))
  expect_equal(augment(found, d[1:4, ])$.fitted, unname(rows[, "fit"]))
  expect_error(predict(found, d, interval = "prediction"), "single row", class = "dprct_parameter_error")
  expect_error(predict(effects(m), d), "only the coefficients of treatment",
    class = "dprct_parameter_error"
  )
  # a file, and another session, keep the labels
  file <- tempfile(fileext = ".moments.json")
  write_moments(m, file)
  read <- read_moments(file)
  expect_identical(read$factors, m$factors)
  again <- ols(y ~ treat + age + factor(edu) + region, read)
  expect_identical(coef(again), coef(found))
  expect_identical(predict(again, d[1:4, ]), predict(found, d[1:4, ]))
  expect_match(plan(model, epsilon = 50, delta = 1e-6)$text, "factor(region)2", fixed = TRUE)
  expect_no_match(plan(model, epsilon = 50, delta = 1e-6)$text, "C(", fixed = TRUE)
  expect_error(ols(y ~ region:z, m), "factor(region)2", fixed = TRUE, class = "dprct_column_error")
  expect_identical(coef(update(found, . ~ . - region)), coef(ols(y ~ treat + age + factor(edu), m)))
  expect_no_match(paste(capture.output(print(itt_table(m))), collapse = " "), "``", fixed = TRUE)
  expect_equal(wald_test(m, "treat = 0")$df, 3)
  expect_match(wald_test(found, "`factor(edu)2` = 0")$hypothesis, "factor(edu)2", fixed = TRUE)
  expect_no_match(paste(capture.output(print(m)), collapse = " "), "``", fixed = TRUE)
})

test_that("a treatment that is a factor stays one in released moments", {
  skip_without_python()
  n <- 1200
  d <- data.frame(
    y.end = 50 + sin(1:n), took = (1:n %/% 3) %% 2, male = (1:n %/% 6) %% 2,
    arm = factor(c("none", "info", "cash")[1 + 1:n %% 3], levels = c("none", "info", "cash"))
  )
  d <- declare(d,
    y.end = list(bounds = c(0, 100), sd = 1, centre = 50, missing = "never"),
    took = list(levels = 0:1, missing = "never"), male = list(levels = 0:1, missing = "never"),
    arm = list(levels = c("none", "info", "cash"), missing = "never")
  )
  simple <- design_simple(1:3, arm = "arm")
  m <- fit(private_moments(d, columns = "y.end", assignment = simple, control = 1), epsilon = 50, delta = 1e-6)
  found <- ols(y.end ~ arm, m)
  expect_identical(names(coef(found)), names(coef(lm(y.end ~ arm, d))))
  expect_equal(unname(coef(found)), unname(coef(ols(y.end ~ factor(arm), m))))

  logit <- regression(took ~ arm, family = "logit")
  model <- private_moments(d,
    formulas = list(y.end ~ arm + male, logit), assignment = simple, neighbors = "replace-one-design-public"
  )
  m <- fit(model, epsilon = 8, delta = 1e-6)
  found <- ols(y.end ~ arm + male, m)
  expect_equal(unname(coef(found)), unname(coef(ols(y.end ~ factor(arm) + male, m))))
  expect_length(coef(private_glm(took ~ arm, m)), 3L)
  printed <- paste(capture.output(print(found), summary(found)), collapse = " ")
  expect_match(printed, "factor(arm)", fixed = TRUE)
  expect_no_match(printed, "C(arm)", fixed = TRUE)
  expect_error(private_glm(y.end ~ arm, m), "as regression(..., family = ...)", fixed = TRUE)
})

test_that("what moments cannot do is refused in one sentence", {
  skip_without_python()
  expect_error(moments_model(sd = list(re78 = 6500)), "sd is a fact of a column: declare it with",
    class = "dprct_error"
  )
  m <- fit(moments_model(), epsilon = 8, delta = 1e-6, rng = 1)
  expect_error(ols(re78 ~ educ, m), "was not released", class = "dprct_error")
  expect_error(ols(re78 ~ age, m, cluster = ~treat), "leave it out$", class = "dprct_parameter_error")
  expect_error(ols(re78 ~ age, m, subset = age > 3), "where = list", class = "dprct_parameter_error")
  expect_error(regression(re78 ~ age, family = binomial()), "give its link as text",
    class = "dprct_parameter_error"
  )
  expect_error(ols(re78 ~ age, nsw(), where = list(black = 1)), "subset",
    class = "dprct_parameter_error"
  )
  expect_error(iv(re78 ~ age, m), "names no instruments", class = "dprct_formula_error")
  expect_error(iv(re78 ~ age, nsw()), "read_moments", class = "dprct_parameter_error")
  expect_error(effects(m, where = list(age = 1)), "makes no groups", class = "dprct_error")
  expect_error(fit(moments_model(), epsilon = 1), "delta", class = "dprct_error")
  expect_error(moments_model(weight = 1), "no option 'weight'; did you mean weights?",
    fixed = TRUE, class = "dprct_parameter_error"
  )
})

test_that("declared regressions are served by one step, by name, formula or what declared them", {
  skip_without_python()
  facts <- declare(nsw_facts(),
    age = list(bounds = c(16, 60), sd = 7, centre = 25, missing = "never"),
    re78 = list(sd = 6500, centre = 5000, clip = TRUE)
  )
  adjusted <- regression(re78 ~ treat + age, name = "adjusted")
  expect_s3_class(adjusted, "dprct_regression")
  expect_output(print(adjusted), "re78 ~ treat + age, name adjusted", fixed = TRUE)
  model <- private_moments(read_dta(nsw_file(), facts),
    formulas = list(adjusted, "re78 ~ treat"), neighbors = "replace-one-design-public",
    assignment = design_simple("treat", shares = 185 / 445)
  )
  expect_match(plan(model, epsilon = 4, delta = 1e-6)$text, "adjusted")
  m <- fit(model, epsilon = 8, delta = 1e-6, rng = 1)
  found <- ols("adjusted", m)
  expect_identical(names(coef(found)), "treat")
  expect_identical(tidy(found, conf.int = TRUE)$term, "treat")
  expect_identical(nrow(glance(found)), 1L)
  expect_equal(coef(ols(re78 ~ treat + age, m)), coef(found))
  expect_equal(coef(ols(adjusted, m)), coef(found))
  plain <- regression(re78 ~ treat, cov_type = "nonrobust", count_effects = FALSE, name = "plain")
  expect_output(print(plain), "cov_type nonrobust, count_effects FALSE, name plain|name plain, cov_type")
  m3 <- fit(private_moments(read_dta(nsw_file(), facts),
    formulas = plain, neighbors = "replace-one-design-public",
    assignment = design_simple("treat", shares = 185 / 445)
  ), epsilon = 8, delta = 1e-6, rng = 1)
  expect_output(print(ols("plain", m3)), "nonrobust")
  both <- list(
    regression("re78 ~ treat + age", name = "adjusted", joint = "all"),
    regression("age ~ treat", joint = "all")
  )
  m2 <- fit(private_moments(read_dta(nsw_file(), facts),
    formulas = both, neighbors = "replace-one-design-public",
    assignment = design_simple("treat", shares = 185 / 445)
  ), epsilon = 8, delta = 1e-6, rng = 1)
  together <- effects(m2, joint = "all")
  expect_identical(names(coef(together)), c("re78: treat", "age: treat"))
  expect_s3_class(wald_test(together, "`re78: treat` = `age: treat` = 0"), "dprct_wald")
  expect_error(ols(regression(re78 ~ age, name = "b"), m), "was not declared", class = "dprct_error")
  expect_error(
    private_moments(read_dta(nsw_file(), facts),
      formulas = regression(re78 ~ treat, cluster = "age"),
      assignment = design_simple("treat", shares = 185 / 445)
    ), "is not a column of the design", class = "dprct_parameter_error"
  )
})

test_that("a regression names its clusters and weights by formulas, too", {
  expect_identical(
    unclass(regression(y ~ x, cluster = ~ village + year, weights = ~w)),
    unclass(regression(y ~ x, cluster = c("village", "year"), weights = "w"))
  )
})

test_that("declared regressions and models of moments are tidied, each under its title", {
  skip_without_python()
  n <- 3000L
  d <- data.frame(t = rep(0:1, n / 2L), inc.total = rep(0:49, n / 50L))
  d$y <- 40 + 5 * d$t + 5 * sin(seq_len(n))
  d$work <- as.numeric(cos(seq_len(n)) > 0.2)
  d <- declare(d,
    y = list(bounds = c(0, 100), missing = "never"), work = list(levels = 0:1, missing = "never"),
    inc.total = list(bounds = c(0, 50), missing = "never"), t = list(levels = 0:1, missing = "never")
  )
  m <- fit(private_moments(d,
    formulas = list(
      regression(y ~ t, where = "inc.total < 25"), y ~ t + inc.total,
      regression(work ~ t + inc.total, family = "logit", name = "logit")
    ),
    assignment = design_complete("t", shares = 0.5), neighbors = "replace-one-design-public"
  ), epsilon = 20, delta = 1e-6)
  titles <- c("y ~ t, where inc.total < 25", "y ~ t + `inc.total`", rep("logit", 3L))
  rows <- tidy(m, conf.int = TRUE)
  expect_identical(rows$regression, titles)
  expect_identical(rows$term, c("t", "t", "(Intercept)", "t", "inc.total"))
  expect_equal(rows$estimate[1:2], c(5, 5), tolerance = 0.4)
  expect_identical(names(coef(m)), paste(titles, rows$term, sep = ": "))
  expect_equal(unname(confint(m)[, 2L]), rows$conf.high)
  expect_identical(dim(confint(m, "logit: t", level = 0.9)), c(1L, 2L))
  expect_error(vcov(m), "different regressions", class = "dprct_parameter_error")
  expect_identical(coef(ols(y ~ t + inc.total, m)), c(t = rows$estimate[2L]))
})

test_that("a group is named by the label of a factor", {
  skip_without_python()
  n <- 2000L
  d <- data.frame(t = rep(0:1, n / 2L), area = factor(rep(c("north", "south"), each = n / 2L)))
  d$y <- 40 + 5 * d$t * (d$area == "south") + sin(1:n)
  d <- declare(d,
    y = list(bounds = c(0, 100), sd = 5, centre = 45, missing = "never"),
    t = list(levels = 0:1, missing = "never"),
    area = list(levels = c("north", "south"), missing = "never")
  )
  m <- fit(private_moments(d,
    columns = "y", subgroups = "area", assignment = design_simple("t", shares = 0.5)
  ), epsilon = 20, delta = 1e-6)
  by_code <- effects(m, where = list(area = 2))
  expect_identical(coef(effects(m, where = list(area = "south"))), coef(by_code))
  expect_error(effects(m, where = list(area = "west")), "levels are", class = "dprct_error")
  shape <- fit(private_additive(y ~ area, d), epsilon = 20)
  expect_identical(tidy(shape)$term, c("average", "area north", "area south"))
})

test_that("instruments and effects are declared as R writes them", {
  skip_without_python()
  n <- 2000
  d <- data.frame(z = rep(0:1, n / 2), age = 20 + 1:n %% 41, area = factor(c("a", "b")[1 + (1:n %/% 2) %% 2]))
  d$d <- ifelse(1:n %% 5 == 0, 1 - d$z, d$z)
  d$y <- 40 + 5 * d$d + 3 * (d$area == "b") + sin(1:n)
  levels <- list(levels = 0:1, missing = "never")
  facts <- declare(d,
    y = list(bounds = c(0, 100), sd = 5, centre = 45, missing = "never"), z = levels, d = levels,
    age = list(bounds = c(20, 60), missing = "never"),
    area = list(levels = c("a", "b"), missing = "never", fate = "public")
  )
  late <- regression(y ~ age | d ~ z, name = "late")
  expect_output(print(late), "y ~ age + [d ~ z], name late", fixed = TRUE)
  model <- private_moments(d, facts,
    formulas = list(late, y ~ z | area), assignment = design_complete("z", shares = 0.5),
    neighbors = "replace-one-design-public"
  )
  m <- fit(model, epsilon = 20, delta = 1e-6)
  expect_equal(coef(iv("late", m))[["d"]], 5, tolerance = 0.1)
  expect_identical(coef(iv(y ~ age | d ~ z, m)), coef(iv("late", m)))
  expect_named(coef(ols(y ~ z | area, m)), "z")
  expect_error(ols(y ~ age | d ~ z, m), "to iv()", fixed = TRUE, class = "dprct_formula_error")
  expect_error(ols("y ~ age | d ~ z", m), "to iv()", fixed = TRUE, class = "dprct_formula_error")
})

test_that("a declared logit has its coefficients and the average effect of a regressor", {
  skip_without_python()
  n <- 2000L
  d <- data.frame(y = rep(c(0, 1, 1, 0, 1), n / 5L), t = rep(0:1, n / 2L))
  facts <- declare(schema(d),
    y = list(levels = 0:1, missing = "never"), t = list(levels = 0:1, missing = "never")
  )
  model <- private_moments(d, facts, formulas = list(regression(y ~ t, family = "logit", name = "L")))
  m <- fit(model, epsilon = 40, delta = 1e-6)
  found <- private_glm("L", m)
  expect_identical(names(coef(found)), c("(Intercept)", "t"))
  expect_identical(coef(private_glm(y ~ t, m, family = "logit")), coef(found))
  expect_lt(abs(coef(private_glm("L", m, margins = "t"))), 0.2)
  expect_error(private_glm(y ~ t, m, family = "tobit"), "logit", class = "dprct_parameter_error")
})

test_that("margins after a logit are those of a declared regression", {
  skip_without_python()
  set.seed(4)
  n <- 3000L
  data <- data.frame(aid = rep(0:1, n / 2), age = rnorm(n))
  data$work <- as.numeric(runif(n) < 0.4 + 0.2 * data$aid)
  facts <- declare(schema(data),
    work = list(levels = 0:1, missing = "never"),
    age = list(bounds = c(-4, 4), sd = 1, centre = 0, clip = TRUE, missing = "never"),
    aid = list(levels = 0:1, missing = "never")
  )
  model <- private_moments(data, facts,
    formulas = work ~ aid + age, assignment = design_complete("aid", shares = 0.5),
    neighbors = "replace-one-design-public"
  )
  m <- fit(model, epsilon = 8, delta = 1e-6)
  found <- margins(work ~ aid + age, m)
  expect_equal(coef(found), coef(ols(work ~ aid + age, m)))
  expect_lt(abs(coef(found)[["aid"]] - 0.2), 0.1)
  expect_error(margins(work ~ aid + age, m, family = "probit"), "logit, poisson",
    class = "dprct_parameter_error"
  )
  expect_error(margins(work ~ aid, m), "declared", class = "dprct_parameter_error")
})

test_that("conditions name columns with blanks, and subgroups have the labels of factors", {
  skip_without_python()
  set.seed(5)
  n <- 2000L
  data <- data.frame(
    aid = rep(0:1, n / 2), `years at school` = rep(1:16, length.out = n), check.names = FALSE
  )
  data$area <- factor(rep(c("rural", "urban"), each = n / 2))
  data$pay <- pmin(pmax(rnorm(n, 5), 0), 10)
  facts <- declare(schema(data),
    pay = list(bounds = c(0, 10), sd = 1, missing = "never"),
    `years at school` = list(bounds = c(1, 16), missing = c(".")),
    area = list(levels = c("rural", "urban"), missing = "never"),
    aid = list(levels = 0:1, missing = "never")
  )
  where <- "`years at school` > 9 & area == 2"
  model <- private_moments(data, facts,
    formulas = list(pay ~ aid, regression(pay ~ aid, where = where)), columns = "pay",
    subgroups = "area", assignment = design_complete("aid", shares = 0.5),
    neighbors = "replace-one-design-public"
  )
  m <- fit(model, epsilon = 8, delta = 1e-6)
  expect_identical(names(coef(effects(m, where = "area"))),
    c("pay if area=rural: aid", "pay if area=urban: aid"))
  expect_identical(unique(tidy(m)$regression)[2L],
    "pay ~ aid, where `years at school` > 9 and area == 2")
  found <- ols(regression(pay ~ aid, where = where), m)
  expect_output(print(found), "of area, 2 is urban")
  for (asked in c("wage %in% c(1, 3)", "area == 'urban'")) {
    expect_error(
      private_moments(data, facts,
        formulas = regression(pay ~ aid, where = asked),
        assignment = design_complete("aid", shares = 0.5)
      ),
      "inlist|1 is rural, 2 is urban", class = "dprct_error"
    )
  }
})

test_that("declared regressions are found in any order of terms, and models as what they are", {
  skip_without_python()
  model <- private_moments(nsw(),
    formulas = list(re78 ~ treat + black, regression(black ~ treat, family = "logit")),
    assignment = design_of_nsw(), neighbors = "replace-one-design-public"
  )
  m <- fit(model, epsilon = 8, delta = 1e-6, rng = 1)
  expect_equal(coef(ols(re78 ~ black + treat, m)), coef(ols(re78 ~ treat + black, m)))
  expect_error(ols(re78 ~ treat, m, where = "black == 1"), "where is text", class = "dprct_parameter_error")
  expect_error(predict(private_glm(black ~ treat, m), data.frame(treat = 1)), "odds or rate ratios",
    class = "dprct_parameter_error"
  )
})
