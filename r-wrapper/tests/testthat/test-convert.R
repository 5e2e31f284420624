there_and_back <- function(x) dprct:::dprct_call("identity", x = x)

all_kinds <- function() {
  data <- data.frame(
    num = c(NA, 1.5, -Inf, 0), int = c(NA, 2:4), lgl = c(TRUE, FALSE, NA, TRUE),
    chr = c("a", "\u00e9t\u00e9", "", "a"),
    fac = factor(c("lo", "hi", NA, "lo"), levels = c("lo", "mid", "hi")),
    ord = factor(c("p", "q", "p", "q"), ordered = TRUE),
    date = as.Date("2024-02-28") + 0:3,
    time = as.POSIXct("2024-03-30 23:30:00", tz = "UTC") + 3600 * 0:3
  )
  data$units <- as.difftime(c(NA, 2:4), units = "hours")
  data$missing_level <- addNA(factor(c("b", NA, "a", NA)))
  attr(data$num, "label") <- "Outcome"
  attr(data, "note") <- "of the frame"
  data
}

test_that("columns of base R come back identical", {
  skip_without_python()
  expect_identical(there_and_back(all_kinds()), all_kinds())
})

test_that("labels, tags and user-missing values of haven come back identical", {
  skip_without_python()
  skip_if_not_installed("haven")
  data <- data.frame(id = 1:3)
  data$labelled <- haven::labelled(c(1, 2, NA), c(No = 1, Yes = 2), "Treated?")
  data$integers <- haven::labelled(c(1L, 2L, NA), c(No = 1L))
  data$tags <- haven::labelled(
    c(1, haven::tagged_na("a"), haven::tagged_na("z")),
    c(refused = haven::tagged_na("a"))
  )
  data$spss <- haven::labelled_spss(c(1, 2, 99), c(miss = 99), na_values = 99)
  back <- there_and_back(data)
  expect_identical(back, data)
  expect_identical(haven::na_tag(back$tags), c(NA, "a", "z"))
})

test_that("64-bit integers are exact", {
  skip_without_python()
  skip_if_not_installed("bit64")
  data <- data.frame(id = 1:3)
  data$big <- bit64::as.integer64(c("9007199254740991", NA, "-5"))
  expect_identical(there_and_back(data), data)
})

test_that("tibbles and data.tables stay what they are", {
  skip_without_python()
  skip_if_not_installed("tibble")
  expect_identical(there_and_back(tibble::as_tibble(iris)), tibble::as_tibble(iris))
  skip_if_not_installed("data.table")
  table <- there_and_back(data.table::as.data.table(iris))
  expect_s3_class(table, "data.table")
  expect_equal(table, data.table::as.data.table(iris))
})

test_that("values come back identical", {
  skip_without_python()
  for (x in list(
    NULL, TRUE, 1L, 1.5, NaN, "\u4e2d", c(1.5, NA), c(1L, 2L), letters, matrix(c(1, 2, 3, 4), 2),
    list(a = 1, b = "x"), 2^40, as.Date("2024-01-01"), c(TRUE, NA)
  )) {
    expect_identical(there_and_back(x), x)
  }
})

test_that("what is lost is said", {
  skip_without_python()
  data <- data.frame(time = as.POSIXct("2024-03-30 12:00:00", tz = "Europe/Berlin"))
  expect_warning(back <- there_and_back(data), "time zone", class = "dprct_warning")
  expect_identical(back, data)
})

test_that("calls with functions, empty arguments and NULL are kept as calls", {
  plain <- dprct:::plain_call
  kept <- quote(f(function() g(1), NULL, x[, 1]))
  expect_identical(plain(kept), kept)
  closure <- deparse(plain(quote(f(function(rows, n = 3) rbinom(n, 1, 0.5)))))
  expect_identical(closure, "f(function(rows, n = 3) rbinom(n, 1, 0.5))")
  expect_identical(plain(as.call(list(quote(f), iris))), quote(f(...)))
})

test_that("row operations of base R keep what was declared", {
  skip_without_python()
  data <- read_dta(nsw_file(), nsw_facts())
  keeps <- function(x) identical(schema(x)$toml, schema(data)$toml)
  expect_s3_class(data, c("dprct_data", "data.frame"), exact = TRUE)
  other <- data.frame(data_id = "Dehejia-Wahba Sample", extra = 1)
  made <- list(
    data[data$age > 20, ], head(data), subset(data, age > 20), data[order(data$age), ],
    na.omit(data), merge(data, other), transform(data, z = age^2), data[c("re78", "treat")],
    within(data, z <- 1), rbind(data, data), cbind(data, z = 1), tibble::as_tibble(data),
    data.table::as.data.table(data)[data$age > 20, ]
  )
  for (x in made) expect_true(keeps(x))
  expect_identical(class(data[, "age"]), class(data$age))
  clipped <- transform(data, re78 = ifelse(re78 > 40000, 40000, re78))
  expect_s3_class(nsw_ate(subset(clipped, age > 0)), "dprct_model")
})

test_that("facts are declared in R's own values: labels, dates, logicals", {
  skip_without_python()
  set.seed(1)
  days <- as.Date("2020-01-01") + 0:199
  data <- data.frame(
    arm = factor(rep(c("control", "therapy"), 100)), when = days, ok = rep(c(TRUE, FALSE), 100)
  )
  facts <- declare(schema(data),
    arm = list(levels = c("control", "therapy"), missing = "never"),
    when = list(bounds = range(as.Date(c("2020-01-01", "2020-12-31"))), bins = 4, missing = "never"),
    ok = list(levels = c(FALSE, TRUE), missing = "never")
  )
  model <- marginals(columns = names(data), data = data, schema = facts)
  out <- protected(fit(model, epsilon = 4, rng = 1))
  expect_identical(levels(out$arm), levels(data$arm))
  expect_s3_class(out$when, "Date")
  expect_true(all(out$when >= as.Date("2020-01-01") & out$when <= as.Date("2020-12-31")))
  expect_type(out$ok, "logical")
  expect_error(declare(schema(data), arm = list(levels = "other")), "no label 'other'",
    class = "dprct_schema_error"
  )
})
