test_that("the papers' experiments are refused in words where they are not, or are none", {
  away <- tempfile()
  dir.create(away)
  expect_error(replication("x", away), "allowed: rct, ippw", class = "dprct_parameter_error")
  expect_error(replication("dpsc", away, tables = 1), "tables are of", class = "dprct_parameter_error")
  expect_error(replication("rct", away, rng = -1), "rng is not", class = "dprct_parameter_error")
  expect_error(replication("rct", away, checkout = away), "no checkout of dprct",
    class = "dprct_file_error"
  )
  old <- setwd(away)
  on.exit(setwd(old))
  expect_error(replication("rct", away), "no checkout of dprct", class = "dprct_file_error")
})
