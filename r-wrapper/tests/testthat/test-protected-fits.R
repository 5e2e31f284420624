test_that("a fit on a release or its table carries the guarantee, and says what was released", {
  skip_without_python()
  rows <- data.frame(income = rep(c(10, 14, 11, 17), 100), treated = rep(0:1, 200))
  facts <- declare(schema(rows),
    income = list(bounds = c(0, 40), missing = "never"),
    treated = list(levels = 0:1, missing = "never")
  )
  model <- calibrated(income ~ treated, rows, facts,
    treatment = "treated", assignment = design_complete("treated", shares = 0.5)
  )
  release <- fit(model, epsilon = 3)
  file <- tempfile("jobs_protected", fileext = ".dta")
  write_dta(release, file)
  saved <- tempfile(fileext = ".rds")
  saveRDS(protected(release), saved)
  for (data in list(release, protected(release), read_dta(file), readRDS(saved))) {
    found <- ols(income ~ treated, data)
    expect_true(guarantee(found)$holds)
    expect_identical(guarantee(found)$sentence, guarantee(release)$sentence)
    expect_match(unlist(found$notes), "Calibrated: the errors of treated", all = FALSE)
    table <- itt_table(data, outcomes = "income", arms = "treated")
    expect_match(table$text, "Pure differential privacy with epsilon=3", fixed = TRUE)
  }
  moved <- protected(release)
  moved$income <- moved$income + 1
  found <- ols(income ~ treated, moved)
  expect_false(guarantee(found)$holds)
  expect_match(guarantee(found)$sentence, "does not describe the column income")
  turned <- ols(income ~ treated, protected(release)[400:1, ])
  expect_match(guarantee(turned)$sentence, "left out or reordered")
  part <- ols(income ~ treated, release, subset = seq_len(300))
  expect_false(guarantee(part)$holds)
})

test_that("what the label of a file says is heard where the rest was dropped", {
  skip_without_python()
  rows <- data.frame(y = c(1, 3, 2, 5), t = c(0, 1, 0, 1))
  attr(rows, "label") <- "NO DP GUARANTEE: see the notes"
  expect_match(guarantee(ols(y ~ t, rows))$sentence, "notes say: NO DP GUARANTEE", fixed = TRUE)
})

test_that("text follows options(width)", {
  skip_without_python()
  rows <- data.frame(y = c(1, 3, 2, 5, 4, 6), t = rep(0:1, 3), u = rep(0:1, each = 3))
  table <- itt_table(rows, outcomes = c("An outcome with a long name of many words" = "y"),
    arms = c("Treatment by a name that is long" = "t")
  )
  old <- options(width = 60)
  on.exit(options(old))
  for (shown in list(table, summary(ols(y ~ t + u, rows)))) {
    expect_lte(max(nchar(capture.output(print(shown)))), 60)
  }
})

test_that("an accountant in memory says that it ends with the session", {
  skip_without_python()
  expect_output(print(accountant(epsilon = 1)), "In memory only")
  kept <- accountant(epsilon = 1, path = tempfile(fileext = ".json"), dataset_id = "trial")
  expect_false(any(grepl("In memory", capture.output(print(kept)))))
})

test_that("fits of a release have the law of its effects at every level", {
  skip_without_python()
  release <- fit(nsw_calibrated(), epsilon = 1, rng = 1)
  found <- ols(re78 ~ treat, release)
  mine <- tidy(found, conf.int = TRUE, conf.level = 0.99)
  theirs <- tidy(release, conf.int = TRUE, conf.level = 0.99)
  columns <- c("estimate", "p.value", "conf.low", "conf.high")
  expect_equal(
    unlist(mine[mine$term == "treat", columns]), unlist(theirs[theirs$term == "treat", columns]),
    tolerance = 1e-6
  )
  bare <- ols(re78 ~ treat, protected(release))
  expect_warning(confint(bare, level = 0.99), "95 % only")
  expect_silent(confint(bare))
})
