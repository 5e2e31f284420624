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
