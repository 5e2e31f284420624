test_that("a file comes back as it was, bit for bit", {
  skip_without_python()
  copy <- new_file(".dta")
  data <- read_dta(nsw_file())
  write_dta(data, copy)
  found <- compare_data(nsw_file(), copy)
  expect_true(found$identical)
  expect_identical(nrow(found$differences), 0L)
  expect_identical(unname(tools::md5sum(copy)), unname(tools::md5sum(nsw_file())))
  expect_output(print(found), "identical")
})

test_that("compare_data lists what was changed", {
  skip_without_python()
  data <- read_dta(nsw_file())
  changed <- data
  changed$age[1:3] <- changed$age[1:3] + 1
  found <- compare_data(data, changed)
  expect_false(found$identical)
  expect_identical(found$differences$column, "age")
})

test_that("haven reads what write_dta writes, and the reverse", {
  skip_without_python()
  skip_if_not_installed("haven")
  made <- data.frame(id = 1:4)
  made$q <- haven::labelled(c(1, 2, haven::tagged_na("a"), NA),
    labels = c(no = 1, yes = 2, refused = haven::tagged_na("a")), label = "A question"
  )
  made$day <- as.Date(c("2020-01-01", NA, "1960-01-01", "2021-12-31"))
  made$word <- c("a", "", "\u00e9", "zz")
  ours <- new_file(".dta")
  write_dta(made, ours)
  theirs <- as.data.frame(haven::read_dta(ours))
  expect_equal(as.numeric(theirs$q), as.numeric(made$q))
  expect_identical(haven::na_tag(theirs$q), haven::na_tag(made$q))
  expect_identical(attr(theirs$q, "labels")[["yes"]], 2)
  expect_identical(attr(theirs$q, "label"), "A question")
  expect_equal(theirs$day, made$day, ignore_attr = TRUE)
  expect_identical(as.character(theirs$word), made$word)
  back <- read_dta(ours)
  expect_s3_class(back$q, "haven_labelled")
  expect_identical(haven::na_tag(back$q), haven::na_tag(made$q))
  expect_s3_class(back$day, "Date")
  expect_identical(as.character(back$word), made$word)
})

test_that("factors, logicals, tibbles and data.tables are written", {
  skip_without_python()
  made <- data.frame(g = factor(c("b", "a", NA)), l = c(TRUE, NA, FALSE), x = c(1.5, NA, -2))
  frames <- list(made)
  if (requireNamespace("tibble", quietly = TRUE)) frames$tibble <- tibble::as_tibble(made)
  if (requireNamespace("data.table", quietly = TRUE)) {
    frames$table <- data.table::as.data.table(made)
  }
  for (frame in frames) {
    file <- new_file(".dta")
    write_dta(frame, file)
    back <- read_dta(file)
    expect_equal(as.numeric(back$g), c(2, 1, NA))
    expect_equal(names(attr(back$g, "labels")), c("a", "b"))
    expect_equal(as.numeric(back$l), c(1, NA, 0))
    expect_identical(as.numeric(back$x), made$x)
  }
})

test_that("schemas are read, declared, sealed, saved and read again", {
  skip_without_python()
  facts <- schema(nsw_file())
  expect_s3_class(facts, "dprct_schema")
  expect_output(print(facts), "re78")
  toml <- new_file(".toml")
  sealed <- seal(nsw_facts(), by = "custodian")
  expect_output(print(sealed), "declared\\s+by custodian")
  write_schema(sealed, toml)
  expect_identical(schema(toml)$text, sealed$text)
  data <- declare(read_dta(nsw_file()), age = list(bounds = c(16, 60), bins = 4))
  expect_s3_class(data, "data.frame")
  expect_match(schema(data)$toml, "16", fixed = TRUE)
})

test_that("a saved schema works in another session", {
  skip_without_python()
  file <- new_file(".rds")
  saveRDS(nsw_facts(), file)
  expect_identical(schema(readRDS(file))$text, nsw_facts()$text)
  expect_identical(nrow(read_dta(nsw_file(), readRDS(file))), 445L)
})

test_that("facts in another form are refused", {
  skip_without_python()
  expect_error(declare(schema(nsw_file()), age = c(16, 60)), "list\\(bounds",
    class = "dprct_schema_error"
  )
  expect_error(declare(schema(nsw_file()), list(bounds = 1:2)), "without a column",
    class = "dprct_schema_error"
  )
  expect_error(declare(schema(nsw_file()), aeg = list(bounds = c(16, 60))), "age",
    class = "dprct_column_error"
  )
  expect_error(schema(42), "give the name", class = "dprct_parameter_error")
  expect_error(schema("a.csv"), "\\.dta", class = "dprct_parameter_error")
  expect_error(read_dta("no_such_file.dta"), class = "dprct_file_error")
  expect_error(read_dta(c("a", "b")), class = "dprct_parameter_error")
})

test_that("names that Stata lacks are replaced, in files and data frames", {
  skip_without_python()
  odd <- data.frame(inc.total = c(1, 2), `int` = c(0, 1), check.names = FALSE)
  file <- tempfile(fileext = ".csv")
  utils::write.csv(odd, file, row.names = FALSE)
  expect_named(read(file), c("inc.total", "int"))
  expect_named(read(file, names = "stata"), c("inc_total", "int_"))
  named <- read(odd, names = "stata")
  expect_named(named, c("inc_total", "int_"))
  expect_error(read(odd), "names = \"stata\"")
  target <- tempfile(fileext = ".dta")
  write_dta(named, target)
  expect_named(read_dta(target), c("inc_total", "int_"))
  expect_error(write_dta(odd, tempfile(fileext = ".dta")), "inc.total")
})
