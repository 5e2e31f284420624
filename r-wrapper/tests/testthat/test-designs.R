rows <- data.frame(id = 1:40, village = rep(1:4, each = 10), region = rep(1:2, each = 20))

test_that("every design assigns", {
  skip_without_python()
  designs <- list(
    design_simple("t", shares = 0.5), design_complete("t", shares = 0.25),
    design_block("t", block = "village"),
    design_cluster("t", cluster = "village"),
    design_block_cluster("t", block = "region", cluster = "village"),
    design_custom(function(rows) rep(0:1, length.out = nrow(rows)), "t", shares = 0.5)
  )
  for (design in designs) {
    drawn <- assign_arms(design, rows, rng = 1)
    expect_identical(names(drawn), "t")
    expect_identical(nrow(drawn), 40L)
    expect_true(all(drawn$t %in% 0:1))
    expect_output(print(design), "andomisation")
  }
  expect_identical(sum(assign_arms(designs[[2L]], rows, rng = 1)$t), 10)
  both <- design_factorial(list(design_simple("a", shares = 0.5), design_simple("b", shares = 0.5)))
  expect_identical(names(assign_arms(both, rows, rng = 1)), c("a", "b"))
})

test_that("a seed gives the same assignment, and no seed another", {
  skip_without_python()
  design <- design_complete("t", shares = 0.5)
  expect_identical(assign_arms(design, rows, rng = 7), assign_arms(design, rows, rng = 7))
  expect_false(identical(assign_arms(design, rows, 7), assign_arms(design, rows, 8)))
})

test_that("several arms, their counts and codes", {
  skip_without_python()
  three <- design_complete(c("cash", "therapy"), counts = c(10, 20))
  drawn <- assign_arms(three, rows, rng = 1)
  expect_identical(colSums(drawn), c(cash = 10, therapy = 20))
  coded <- design_complete(c(0, 1, 2), shares = c(0.5, 0.25, 0.25), arm = "arm")
  expect_identical(as.vector(table(assign_arms(coded, rows, rng = 1)$arm)), c(20L, 10L, 10L))
})

test_that("shares differ between blocks", {
  skip_without_python()
  design <- design_block("t", shares = list("1" = 0.2, "2" = 0.8), block = "region")
  drawn <- assign_arms(design, rows, rng = 1)
  expect_identical(as.vector(tapply(drawn$t, rows$region, sum)), c(4, 16))
})

test_that("an R function as a design is checked, and sees only the columns it uses", {
  skip_without_python()
  seen <- NULL
  by_village <- design_custom(function(rows) {
    seen <<- names(rows)
    rows$village %% 2
  }, "t", uses = "village", shares = 0.5)
  expect_identical(assign_arms(by_village, rows)$t, rows$village %% 2)
  expect_identical(seen, "village")
  short <- design_custom(function(rows) 0:1, "t", shares = 0.5)
  expect_error(assign_arms(short, rows), class = "dprct_parameter_error")
  odd <- design_custom(function(rows) rep(7, nrow(rows)), "t", shares = 0.5)
  expect_error(assign_arms(odd, rows), class = "dprct_parameter_error")
})

test_that("an error inside an R function comes back as it was signalled", {
  skip_without_python()
  broken <- design_custom(function(rows) {
    stop(structure(class = c("mine", "error", "condition"), list(message = "no", call = NULL)))
  }, "t", shares = 0.5)
  expect_error(assign_arms(broken, rows), "no", class = "mine")
})

test_that("R's random numbers are used and put back", {
  skip_without_python()
  coin <- design_custom(function(rows) rbinom(nrow(rows), 1, 0.5), "t", shares = 0.5)
  set.seed(1)
  expected <- runif(1)
  set.seed(1)
  first <- assign_arms(coin, rows, rng = 3)
  expect_identical(runif(1), expected)
  expect_identical(assign_arms(coin, rows, rng = 3), first)
  expect_false(identical(assign_arms(coin, rows, rng = 4), first))
})

test_that("designs that cannot be are refused", {
  skip_without_python()
  expect_error(design_complete("t", shares = 2), class = "dprct_parameter_error")
  expect_error(design_custom("t", "t"), "give a function", class = "dprct_parameter_error")
  expect_error(design_factorial(list("t")), "list of designs", class = "dprct_parameter_error")
  expect_error(assign_arms("t", rows), "give a design", class = "dprct_parameter_error")
})

test_that("set.seed() governs an assignment without a seed of its own", {
  skip_without_python()
  rows <- data.frame(id = 1:40)
  coin <- design_custom(function(rows) rbinom(nrow(rows), 1, 0.5), "t", shares = 0.5)
  for (design in list(design_complete("t", shares = 0.5), coin)) {
    draw <- function(seed) {
      set.seed(seed)
      list(assign_arms(design, rows), assign_arms(design, rows))
    }
    expect_identical(draw(1), draw(1))
    expect_false(identical(draw(1), draw(2)))
    expect_false(identical(draw(1)[[1L]], draw(1)[[2L]]))
    expect_identical(assign_arms(design, rows, rng = 3), assign_arms(design, rows, rng = 3))
  }
})

test_that("the package masks nothing of base, stats, utils and tidyr", {
  mine <- getNamespaceExports("dprct")
  for (package in c("base", "stats", "utils", "graphics", "methods", "tidyr")) {
    if (!requireNamespace(package, quietly = TRUE)) skip(paste(package, "is not installed"))
    both <- intersect(mine, getNamespaceExports(package))
    if (package == "base") both <- intersect(mine, ls(baseenv(), all.names = TRUE))
    same <- vapply(both, function(name) {
      identical(getExportedValue("dprct", name), getExportedValue(package, name))
    }, NA)
    expect_identical(both[!same], character(), label = package)
  }
})

test_that("it can be attached before or after them, without a word about masked names", {
  skip_if_not_installed("tidyr")
  said <- function(first, second) {
    code <- sprintf("library(%s, quietly = TRUE); library(%s)", first, second)
    paste(system2(file.path(R.home("bin"), "Rscript"), c("-e", shQuote(code)),
      stdout = TRUE, stderr = TRUE
    ), collapse = "\n")
  }
  expect_no_match(said("tidyr", "dprct"), "mask")
  expect_no_match(said("dprct", "tidyr"), "mask")
})

test_that("what is made of treatment is no covariate and no subgroup", {
  skip_without_python()
  facts <- declare(nsw_facts(),
    black = list(levels = 0:1, missing = "never", fate = "modelled", made_of = "treat")
  )
  data <- read_dta(nsw_file(), facts)
  data$re78 <- pmin(data$re78, 40000)
  expect_error(
    private_ate(re78 ~ treat, data, assignment = design_of_nsw(), subgroups = "black"),
    "made of 'treat'", class = "dprct_schema_error"
  )
  expect_error(
    calibrated(re78 ~ treat + black, data,
      treatment = "treat", assignment = design_of_nsw(), covariate_release = "filler"
    ),
    "private_moments", class = "dprct_schema_error"
  )
  expect_error(
    declare(nsw_facts(), black = list(made_of = "threat")), "threat", class = "dprct_column_error"
  )
})
