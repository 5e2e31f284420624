test_that("the private variance and range are those of Python", {
  skip_without_python()
  x <- qnorm(ppoints(1000), 20, 2)
  expect_identical(published_variance(rep(c(0, 2.5), 500), epsilon = 4, rng = 1), 4^(1 + 2))
  ends <- published_range(x, sd = 2, epsilon = 1, rng = 1)
  expect_equal(mean(ends), 20)
  expect_equal(diff(ends), 2 * 4 * 2 * sqrt(log(1000 / 0.05)))
  wide <- published_range(x, 2, 1, alpha = 0.01, noise_on = "every bin", rng = 2)
  expect_equal(diff(wide), 2 * 4 * 2 * sqrt(log(1000 / 0.01)))
})

test_that("samples and options that are not allowed are refused", {
  skip_without_python()
  expect_error(published_variance("a", 1), "no numeric vector", class = "dprct_parameter_error")
  expect_error(published_variance(c(1, NA), 1), "no finite number", class = "dprct_parameter_error")
  expect_error(published_range(1:9, 1, 1, alfa = 0.1), "alfa", class = "dprct_parameter_error")
  expect_error(published_range(1:9, sd = 0, epsilon = 1), "above 0", class = "dprct_error")
})
