test_that("columns that are new or renamed can be declared", {
  skip_without_python()
  data <- declare(nsw(), dataset_id = "nsw")
  made <- list(
    assigned = local({ d <- data; d$old <- as.integer(d$age > 30); d }),
    transformed = transform(data, old = as.integer(age > 30))
  )
  if (requireNamespace("dplyr", quietly = TRUE)) {
    made$mutated <- dplyr::mutate(data, old = as.integer(age > 30))
    made$renamed <- dplyr::rename(data, old = nodegree)
  }
  for (how in names(made)) {
    facts <- schema(declare(made[[how]], old = list(levels = 0:1, missing = "never")))
    table <- as.data.frame(facts)
    expect_identical(table$name, names(made[[how]]), label = how)
    expect_identical(table$levels[table$name == "old"], "0, 1", label = how)
    # what was declared before stands
    expect_identical(table$high[table$name == "re78"], 40000, label = how)
  }
  expect_error(declare(data, odl = list(levels = 0:1)), "odl", class = "dprct_error")
})

test_that("a new column is used by a model once it is declared", {
  skip_without_python()
  data <- nsw()
  data$old <- as.integer(data$age > 30)
  data <- declare(data, old = list(bounds = 0:1, missing = "never"))
  expect_s3_class(private_ate(old ~ treat, data, assignment = design_of_nsw()), "dprct_model")
})

test_that("times, dates and missing codes are declared as R has them", {
  skip_without_python()
  days <- as.Date(c("2020-01-01", "2021-06-30"))
  times <- as.POSIXct(days, tz = "UTC")
  s <- schema(data.frame(y = c(1, NA), day = days, at = times))
  facts <- as.data.frame(declare(s, day = list(bounds = times), at = list(bounds = times)))
  expect_equal(as.Date(facts$low[2:3] / c(1, 86400000), origin = "1960-01-01"), days[c(1, 1)])
  expect_output(print(declare(s, day = list(bounds = days))), "2020-01-01 to 2021-06-30")
  expect_error(declare(s, day = list(bounds = rev(days))), "2021-06-30 and 2020-01-01 are reversed",
    class = "dprct_schema_error"
  )
  expect_error(declare(s, y = list(bounds = times)), "holds no times", class = "dprct_schema_error")
  tagged <- readBin(as.raw(c(0xa2, 7, 0, 0, 0x61, 0, 0xf8, 0x7f)), "double", endian = "little")
  for (code in list(NA, ".", c(NA_real_, tagged))) {
    missing <- as.data.frame(declare(s, y = list(missing = code)))$missing[1L]
    expect_identical(missing, if (length(code) == 2L) "., .a" else ".")
  }
  expect_error(declare(s, y = list(missing = "NA")), "missing = 'NA'", class = "dprct_schema_error")
})
