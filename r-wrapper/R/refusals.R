# A refusal that needs no Python: of class dprct_<leaf>_error, as those that come from there.
refuse <- function(leaf, message, call = user_call()) {
  stop_dprct(paste0("dprct_", leaf, "_error"), message, call)
}

print_text <- function(x, ...) {
  only_known(..., .also = for_print)
  cat(text_of(x), sep = "\n")
  invisible(x)
}

# Sentences as wide as the console.
say_lines <- function(...) cat(strwrap(c(...), max(40L, getOption("width")) + 1L), sep = "\n")

# The text as wide as options(width) asks, where the result lives in this session; else as saved.
text_of <- function(x) {
  width <- max(40L, getOption("width"))
  lines <- unlist(strsplit(x$text, "\n", fixed = TRUE))
  fits <- !length(lines) || max(nchar(lines)) <= width
  if (fits && width == 80L) return(x$text)
  made <- tryCatch(
    dprct_call("result_text", result = if (is.null(x$result)) x else x$result, width = width),
    dprct_error = function(e) FALSE
  )
  if (is.character(made)) lines <- unlist(strsplit(made, "\n", fixed = TRUE))
  # the columns of a table of another session would be torn apart
  if (inherits(x, laid_out) && !is.null(made)) lines else narrowed(lines, width)
}

laid_out <- c("dprct_estimate", "summary.dprct_estimate", "dprct_result", "dprct_table")

# Lines of words, each going on under its own beginning where it is too wide.
narrowed <- function(lines, width) {
  one <- function(line) {
    if (nchar(line) <= width) return(line)
    start <- regmatches(line, regexpr("^ *([-!] |[^ ]+( [^ ]+)*  +)?", line))
    if (nchar(start) > width / 2) start <- regmatches(line, regexpr("^ *", line))
    words <- strwrap(substring(line, nchar(start) + 1L), width - nchar(start) + 1L)
    paste0(c(start, rep(strrep(" ", nchar(start)), length(words) - 1L)), words)
  }
  unlist(lapply(lines, one))
}

# Refuses what a function with dots does not use: a misspelt argument would vanish in them. Nothing
# that was given is looked at, so that it works before any other argument is there. `.also` are
# names that the function's callers in R pass on.
only_known <- function(..., .also = character()) {
  given <- as.list(substitute(list(...)))[-1L]
  if (!length(given)) return(invisible())
  names <- if (is.null(names(given))) rep("", length(given)) else names(given)
  unknown <- setdiff(names, .also)
  if (!length(unknown)) return(invisible())
  caller <- sys.call(-1L)
  known <- c(setdiff(names(formals(sys.function(-1L))), "..."), .also)
  refuse("parameter", unused(unknown[1L], known), plain_call(caller))
}

# For methods of other packages' generics, through whose dots more is passed than a method knows: what
# has another name is left alone, and a misspelling of one of ours is told of.
tolerate <- function(...) {
  given <- as.list(substitute(list(...)))[-1L]
  if (!length(given)) return(invisible())
  names <- if (is.null(names(given))) rep("", length(given)) else names(given)
  known <- setdiff(names(formals(sys.function(-1L))), "...")
  if (!all(nzchar(names))) {
    refuse("parameter", unused("", known), plain_call(sys.call(-1L)))
  }
  ours <- setdiff(known, c("x", "object", "formula", "data"))
  for (name in if (length(ours)) names) {
    near <- c(nearest(name, ours), ours[endsWith(ours, paste0(".", name))])
    if (length(near)) {
      warning(sprintf("argument '%s' is not used; did you mean '%s'?", name, near[1L]), call. = FALSE)
    }
  }
}

# In the words of R's own error of an argument that a function has not.
unused <- function(name, known) {
  if (!nzchar(name)) {
    return(paste0("unused argument without a name; allowed: ", paste(known, collapse = ", ")))
  }
  near <- nearest(name, known)
  hint <- if (length(near)) {
    paste0("did you mean '", near, "'?")
  } else {
    paste0("allowed: ", paste(known, collapse = ", "))
  }
  paste0("unused argument '", name, "'; ", hint)
}

# The one name among `known` that `name` is a misspelling of; none where there is none.
nearest <- function(name, known) {
  far <- drop(utils::adist(name, known, ignore.case = TRUE))
  utils::head(known[far == min(far) & far <= max(2, nchar(name) / 3)], 1L)
}

# What print() may be given: R passes it on to the elements of a list that it prints.
for_print <- setdiff(names(formals(print.default)), c("x", "..."))

# TRUE or FALSE, where an NA would be taken for one of them.
check_flag <- function(value, name) {
  if (!isTRUE(value) && !isFALSE(value)) {
    refuse("parameter", sprintf("%s is not TRUE or FALSE; give one of them", name), sys.call(-1L))
  }
}

# Of an interval; 95 for 0.95 would make every end NaN.
check_level <- function(level, name = "level") {
  if (!is.numeric(level) || length(level) != 1L || !is.finite(level) || level <= 0 || level >= 1) {
    refuse("parameter", sprintf(
      "%s is not one number between 0 and 1; give one such as %s = 0.95", name, name
    ))
  }
}

# NULL draws a new one; whatever else is not a seed may not pass for it.
check_seed <- function(rng) {
  if (is.null(rng)) return(invisible())
  whole <- is.numeric(rng) && length(rng) == 1L && is.finite(rng) && rng >= 0 && rng == floor(rng)
  if (!whole) {
    what <- if (length(rng) != 1L) {
      paste("of length", length(rng))
    } else if (is.atomic(rng) && is.na(rng)) {
      "NA"
    } else if (is.numeric(rng)) {
      "not a whole number from 0"
    } else {
      class(rng)[1L]
    }
    refuse("parameter",
      sprintf("rng is %s; give one whole number as a seed, or leave rng out", what), sys.call(-1L)
    )
  }
}
