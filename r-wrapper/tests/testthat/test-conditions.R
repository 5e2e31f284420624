test_that("a factor as treatment is refused in words", {
  skip_without_python()
  data <- nsw()
  data$treat <- factor(data$treat, levels = 0:1, labels = c("control", "trained"))
  refused <- tryCatch(
    calibrated(re78 ~ treat, data, treatment = "treat", assignment = design_of_nsw()),
    error = identity
  )
  expect_s3_class(refused, "dprct_column_error")
  expect_match(conditionMessage(refused), "'treat' is a factor", fixed = TRUE)
  expect_no_match(conditionMessage(refused), "trained")
})

test_that("columns without a counterpart are named", {
  skip_without_python()
  data <- data.frame(y = 1:3)
  data$z <- list(1, 2, 3)
  refused <- tryCatch(ols(y ~ z, data), error = identity)
  expect_s3_class(refused, "dprct_error")
  expect_match(conditionMessage(refused), "'z'", fixed = TRUE)
})

test_that("user-missing values become missing codes", {
  skip_without_python()
  skip_if_not_installed("haven")
  x <- haven::labelled_spss(c(1, 2, 99, 3), labels = c(refused = 99), na_values = 99)
  file <- tempfile(fileext = ".dta")
  suppressWarnings(write_dta(data.frame(x = x), file))
  expect_identical(is.na(as.numeric(read_dta(file)$x)), c(FALSE, FALSE, TRUE, FALSE))
})

test_that("data frames without rows, and what is none, are refused", {
  skip_without_python()
  expect_error(ols(y ~ x, data.frame(y = numeric(), x = numeric())), "row", class = "dprct_error")
  expect_error(ols(y ~ x, list(y = 1, x = 2)), "data frame", class = "dprct_parameter_error")
})

test_that("functions are refused in a private fit", {
  skip_without_python()
  expect_error(
    private_ate(log(re78) ~ treat, nsw(), assignment = design_of_nsw()), "log",
    class = "dprct_formula_error"
  )
})

test_that("an undeclared column is refused before the fit", {
  skip_without_python()
  refused <- tryCatch(
    private_ate(age ~ treat, nsw(), assignment = design_of_nsw()),
    error = identity
  )
  expect_s3_class(refused, "dprct_error")
  expect_match(conditionMessage(refused), "age", fixed = TRUE)
})

test_that("options are checked, and named", {
  skip_without_python()
  expect_error(private_ate(re78 ~ treat, nsw(), attritoin = TRUE), "did you mean attrition",
    class = "dprct_parameter_error"
  )
  expect_error(private_ate(re78 ~ treat, nsw(), missing = 0), "missing_policy is a fact of a column",
    class = "dprct_parameter_error"
  )
  expect_error(private_ate(re78 ~ treat, nsw(), icc = 0.1), "icc is a fact of the design",
    class = "dprct_parameter_error"
  )
  expect_error(calibrated(re78 ~ treat, nsw(), NULL, "treat", NULL, 3), "no name",
    class = "dprct_parameter_error"
  )
  moved <- private_ate(re78 ~ treat, nsw(), assignment = design_of_nsw(), subgroups = "black")
  expect_error(plan(moved, epsilon = 1), "leave subgroups out", class = "dprct_parameter_error")
  expect_error(plan(nsw_ate(), epsilon = -1), "epsilon", class = "dprct_error")
  for (wrong in list("1", NA, c(1, 2), NULL)) {
    expect_error(plan(nsw_ate(), epsilon = wrong), "give one number",
      class = "dprct_parameter_error"
    )
    expect_error(fit(nsw_ate(), epsilon = wrong), "give one number",
      class = "dprct_parameter_error"
    )
  }
})

test_that("refusals speak R", {
  skip_without_python()
  refused <- tryCatch(
    private_ate(re78 ~ treat, read_dta(nsw_file()), assignment = design_of_nsw()), error = identity
  )
  expect_match(conditionMessage(refused), "bounds = c(low, high)", fixed = TRUE)
  expect_error(
    fit(nsw_ate(), epsilon = 1, accountant = "file.json"), "such as accountant(epsilon = 1)",
    fixed = TRUE, class = "dprct_parameter_error"
  )
  expect_error(seal(5), "give a schema", class = "dprct_parameter_error")
  expect_error(write_schema(5, tempfile()), "give a schema", class = "dprct_parameter_error")
})

test_that("a declared column whose labels change is warned of, not dropped in silence", {
  skip_without_python()
  data <- nsw()
  attr(data$treat, "labels") <- c(no = 0, yes = 1)
  expect_warning(dprct:::dprct_call("schema_of_frame", data = data),
    "'treat' is no longer.*levels", class = "dprct_warning"
  )
  expect_no_warning(dprct:::dprct_call("schema_of_frame", data = nsw()))
})

test_that("rows can be taken and changed by base R, and the declared facts stay", {
  skip_without_python()
  data <- data.frame(
    y = c(1, 2, NA, 4), t = c(0, 1, 0, 1), d = as.Date("2024-01-01") + 0:3
  )
  attr(data$y, "label") <- "Outcome"
  attr(data$t, "labels") <- c(no = 0, yes = 1)
  class(data$t) <- c("haven_labelled", "vctrs_vctr", "double")
  data <- declare(data, y = list(bounds = c(0, 9)), t = list(levels = 0:1))
  facts_of <- function(x) {
    found <- dprct:::dprct_call("schema_of_frame", data = x)$toml
    grepl("bounds = \\[0.*levels = \\[0, 1\\]", gsub("\n", " ", found))
  }
  plain <- data
  plain$t <- ifelse(data$t == 1, 1, 0)
  capped <- data
  capped$y <- pmin(as.numeric(data$y), 3)
  for (x in list(
    data, data[2:4, ], head(data, 2), data[order(-data$y), ], na.omit(data),
    rbind(data, data), within(data, y <- ifelse(y > 3, 3, y)), plain, capped
  )) {
    expect_no_warning(expect_true(facts_of(x)))
  }
})

test_that("an error inside a design is R's, and what it returns is checked", {
  skip_without_python()
  rows <- data.frame(id = 1:4)
  mine <- design_custom(function(rows) stop("my own mistake"), "t", shares = 0.5)
  expect_error(assign_arms(mine, rows), "my own mistake", class = "simpleError")
  refused <- tryCatch(
    assign_arms(design_custom(function(rows) 1:3, "t", shares = 0.5), rows), error = identity
  )
  expect_s3_class(refused, "dprct_parameter_error")
  expect_match(deparse(conditionCall(refused))[1L], "function(rows) 1:3", fixed = TRUE)
})

test_that("the Python traceback is there on demand only", {
  skip_without_python()
  refused <- tryCatch(plan(nsw_ate(), epsilon = -1), error = identity)
  expect_no_match(conditionMessage(refused), "Traceback|File \"")
  expect_match(paste(capture.output(last_python_error()), collapse = "\n"), "Traceback")
})

test_that("models cannot be saved for another session", {
  skip_without_python()
  file <- tempfile(fileext = ".rds")
  model <- nsw_ate()
  saveRDS(model, file)
  again <- readRDS(file)
  attr(again, "dprct_live")$session <- "another session"
  expect_error(plan(again, epsilon = 1), class = "dprct_session_error")
})

test_that("an interrupt inside an R function ends the call and leaves R usable", {
  skip_without_python()
  interrupted <- design_custom(function(rows) {
    signalCondition(structure(class = c("interrupt", "condition"), list()))
    rows$id
  }, "t", uses = "id", shares = 0.5)
  caught <- tryCatch(
    assign_arms(interrupted, data.frame(id = 1:2)),
    interrupt = function(e) "interrupted"
  )
  expect_identical(caught, "interrupted")
  expect_identical(nrow(assign_arms(design_complete("t", shares = 0.5), data.frame(id = 1:2))), 2L)
})

test_that("nothing that is kept of a call holds a row", {
  skip_without_python()
  data <- nsw()
  data$secret <- 271828.5
  arguments <- list(
    formula = re78 ~ treat, data = data, assignment = design_of_nsw()
  )
  model <- do.call(private_ate, arguments)
  kept <- list(model, fit(model, epsilon = 1, rng = 1), do.call(ols, arguments[1:2]))
  arguments$effects <- "none such"
  kept$error <- tryCatch(do.call(private_ate, arguments), error = identity)
  expect_s3_class(kept$error, "dprct_error")
  secret <- serialize(271828.5, NULL, xdr = FALSE)
  secret <- utils::tail(secret, 8L)
  holds <- function(x) {
    grepl(rawToChar(as.raw(secret[secret != 0])), rawToChar(bytes_of(x)),
      fixed = TRUE, useBytes = TRUE
    )
  }
  bytes_of <- function(x) {
    bytes <- serialize(x, NULL, xdr = FALSE)
    bytes[bytes != 0]
  }
  expect_true(holds(data))
  for (x in kept) expect_false(holds(x))
})

test_that("no refusal keeps the data that do.call() put into its call", {
  skip_without_python()
  data <- data.frame(y = c(0.123456, 1, 1, 0), t = c(0, 1, 0, 1), m = factor(c("a", "b", "a", "b")))
  asked <- list(
    list(ols, list(y ~ t, data, absorb = "x")), list(ols, list(y ~ t, data, cluster = 1)),
    list("ols", list(y ~ t, data, where = list(a = 1))), list(private_ate, list(y ~ m, data)),
    list(protected, list(data)), list(guarantee, list(data)), list(itt_table, list(data, "y", "t", 1, 2, 3)),
    list(published_laplace, list(c("0.123456", "1"), 1, 1)),
    list(published_variance, list(c("0.123456", "1"), 1)),
    list(published_randomized_response, list(data$y, 1))
  )
  for (one in asked) {
    refused <- tryCatch(do.call(one[[1L]], one[[2L]]), error = identity)
    expect_s3_class(refused, "dprct_error")
    expect_no_match(paste(deparse(unclass(refused)), collapse = ""), "0.123456", fixed = TRUE)
  }
})

test_that("a refusal names the call of its user, not one of the package's own", {
  skip_without_python()
  data <- data.frame(y = c(0, 1, 1, 0), t = c(0, 1, 0, 1))
  called <- function(expr) deparse(conditionCall(tryCatch(expr, error = identity))[[1L]])
  expect_identical(called(ols(y ~ poly(t, 2), data)), "ols")
  expect_identical(called(ols(y ~ t, as.list(data))), "ols")
  expect_identical(called(declare(data, y = 1)), "declare")
  expect_identical(called(read_dta(1)), "read_dta")
  expect_identical(called(private_ate(y ~ t, data, assignment = "simple")), "private_ate")
})

test_that("a function of R is an index, and nobody hears what it says of the rows", {
  skip_without_python()
  facts <- list(y = list(bounds = c(0, 4), missing = "never"), t = list(levels = 0:1, missing = "never"))
  data <- data.frame(y = rep(0:4, 20), t = rep(0:1, 50), x = rep(c(-1, 1, 0, 1), 25))
  data$g <- factor(rep(c("b", "a"), each = 50), c("b", "a"))
  data <- declare(data,
    x = list(levels = -1:1, missing = "never"), g = list(levels = c("a", "b"), missing = "never"),
    facts = facts
  )
  seen <- NULL
  said <- function(rows) {
    message("the smallest is ", min(rows$x))
    warning("the largest is ", max(rows$x))
    seen <<- rows$g
    2 * rows$x + (rows$g == "a")
  }
  expect_silent(model <- private_ate(y ~ t, data,
    assignment = design_simple("t", shares = 0.5), index = said, index_columns = c("x", "g"),
    index_bounds = c(-2, 6)
  ))
  expect_silent(found <- fit(model, epsilon = 1, rng = 1))
  expect_identical(nobs(found), 100L)
  expect_identical(levels(seen), c("b", "a"))
})
