# A study file beside a copy of the data; `...` are lines in the place of others.
study_in <- function(folder = tempfile(), release = c("method = 'mv_histogram'", "epsilon = 1.0")) {
  dir.create(folder)
  file.copy(nsw_file(), file.path(folder, "nsw.dta"))
  columns <- names(read_dta(nsw_file()))
  modelled <- c("treat", "black")
  facts <- lapply(columns, function(name) {
    c(
      sprintf("[columns.%s]", name),
      if (name %in% modelled) {
        c("levels = [0, 1]", "missing = 'never'", "fate = 'modelled'")
      } else {
        "fate = 'drop'"
      }
    )
  })
  writeLines(c(
    "version = 1", "data = 'nsw.dta'", "dataset_id = 'nsw'", "[release]", release,
    "[budget]", "epsilon = 1.5", "[header]", "confirm = true", unlist(facts)
  ), file.path(folder, "study.toml"))
  study(file.path(folder, "study.toml"))
}

test_that("a study is checked, planned, protected, verified, and its ledger read", {
  skip_without_python()
  trial <- study_in()
  expect_s3_class(trial, "dprct_study")
  expect_output(print(trial), "data set 'nsw'")
  expect_true(check(trial)$complete)
  expect_output(print(check(trial)), "nothing is open")
  expect_error(ledger(trial), "no ledger yet", class = "dprct_ledger_error")
  planned <- plan(trial)
  expect_s3_class(planned, "dprct_plan")
  expect_match(planned$approval, "^[0-9a-f]{64}$")
  expect_error(protect(trial, approved = strrep("0", 64)), "not the one that was approved",
    class = "dprct_confirmation_error"
  )
  expect_error(ledger(trial), class = "dprct_ledger_error") # nothing was charged
  release <- protect(trial, approved = planned$approval)
  expect_s3_class(release, "dprct_release")
  expect_true(guarantee(release)$holds)
  expect_identical(release$files[1L], trial$output)
  expect_true(all(file.exists(release$files)))
  expect_true(verify(trial)$verified)
  expect_equal(nrow(read_dta(trial$output)), nrow(protected(release)))
  spent <- summary(ledger(trial))
  expect_equal(spent$remaining$epsilon, 0.5)
  expect_identical(nrow(spent$ledger), 1L)
  expect_false(check(trial)$complete)
  expect_error(protect(trial), "0.5", class = "dprct_budget_error")
  expect_equal(summary(ledger(trial))$spent$epsilon, 1)
})

test_that("a release that was paid for is written again without another charge", {
  skip_without_python()
  trial <- study_in()
  protect(trial)
  entry <- summary(ledger(trial))$ledger$entry
  again <- study(trial$path, output = file.path(dirname(trial$path), "again.dta"))
  made <- protect(again, resume = entry)
  expect_identical(basename(made$files[1L]), "again.dta")
  expect_true(verify(again)$verified)
  expect_equal(summary(ledger(trial))$spent$epsilon, 1)
})

test_that("what a study may not do is refused, and a study can be saved", {
  skip_without_python()
  trial <- study_in(release = c("method = 'published_mv_histogram'", "epsilon = 1.0"))
  expect_error(protect(trial), "accept_no_guarantee = TRUE", class = "dprct_confirmation_error")
  expect_error(plan(trial, epsilon = 2), "says its own epsilon", class = "dprct_parameter_error")
  expect_error(check("study.toml"), "give a study", class = "dprct_parameter_error")
  expect_error(study(tempfile(fileext = ".toml")), class = "dprct_file_error")
  file <- tempfile(fileext = ".rds")
  saveRDS(trial, file)
  expect_identical(check(readRDS(file))$problems, check(trial)$problems)
})

test_that("files of other formats are read with their schema", {
  skip_without_python()
  file <- tempfile(fileext = ".csv")
  write.csv(data.frame(treat = 0:1, y = c(2.5, 3)), file, row.names = FALSE)
  data <- read(file)
  expect_equal(data$y, c(2.5, 3))
  expect_s3_class(schema(data), "dprct_schema")
  expect_error(read(tempfile(fileext = ".xyz")), class = "dprct_error")
})

test_that("closeness to confidential rows is told to their holder, with a warning", {
  skip_without_python()
  data <- nsw()
  expect_warning(found <- risk(data, data, keys = c("age", "educ")), class = "dprct_warning")
  expect_identical(as.data.frame(found)$equal, 1)
  expect_output(print(found), "CONFIDENTIAL")
})

test_that("a package has the protected file in place of the confidential one", {
  skip_without_python()
  folder <- tempfile()
  dir.create(file.path(folder, "rep"), recursive = TRUE)
  file.copy(nsw_file(), file.path(folder, "rep", "nsw.dta"))
  writeLines(c("use nsw, clear", "reg re78 treat, robust"), file.path(folder, "rep", "tables.do"))
  columns <- setdiff(names(read_dta(nsw_file())), c("treat", "black"))
  writeLines(c(
    "version = 1", "data = 'rep/nsw.dta'", "dataset_id = 'nsw'",
    "[release]", "method = 'mv_histogram'", "epsilon = 1.0", "[header]", "confirm = true",
    "[package]", "folder = 'rep'",
    sprintf("[columns.%s]\nfate = 'withheld'", columns),
    sprintf("[columns.%s]\nlevels = [0, 1]\nmissing = 'never'\nfate = 'modelled'", c("treat", "black"))
  ), file.path(folder, "study.toml"))
  trial <- study(file.path(folder, "study.toml"))
  expect_error(package(trial, approved = strrep("0", 64)), class = "dprct_confirmation_error")
  expect_error(package(trial, folder = file.path(folder, "none", "there")), "does not exist",
    class = "dprct_file_error"
  )
  made <- package(trial, approved = plan(trial)$approval)
  expect_s3_class(made, "dprct_package")
  expect_output(print(made), "data set 'nsw'")
  expect_identical(made$regressions$verdict, "cannot run") # re78 is withheld
  expect_true(file.exists(file.path(made$folder, "nsw.dta")))
  expect_identical(unlist(made$copied), "tables.do")
  checked <- check(trial)
  expect_identical(checked$regressions$verdict, "cannot run")
  expect_output(print(checked), "regressions of the do-files")
  other <- file.path(folder, "other.do")
  writeLines(c("use nsw, clear", "reg black treat", "reg black treat, robust"), other)
  expect_identical(nrow(check(trial, do = other)$regressions), 2L)
  expect_error(check(trial, do = file.path(folder, "none.do")), class = "dprct_file_error")
  received <- verify(made)
  expect_true(received$verified)
  expect_identical(received, verify(made$folder))
  expect_identical(received$regressions$verdict, "cannot run")
  expect_output(print(received), "every file of .* is as it was written")
  expect_error(verify(made, certificate = "x.json"), "its own", class = "dprct_parameter_error")
  cat("* changed", file = file.path(made$folder, "tables.do"), append = TRUE)
  received <- verify(made)
  expect_false(received$verified)
  expect_output(print(received), "is not the package as it was written")
  expect_error(verify(folder), "without the", class = "dprct_file_error")
  expect_identical(package(trial, folder = file.path(folder, "again"))$charged, 0L)
  expect_equal(summary(ledger(trial))$spent$epsilon, 1)
  expect_error(package("study.toml"), class = "dprct_parameter_error")
})
