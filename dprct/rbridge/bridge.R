# What only R can do for the bridge. Evaluated once, in an environment of its own above base.
# Functions that may fail, or run a user's code, are called through run_safely().

# ---- calls --------------------------------------------------------------------------------------

# The value of f(args), or the condition that stopped it; what it signalled on the way is kept, for
# handlers of the caller are out of reach while Python is in between.
run_safely <- function(f, args) {
  warned <- said <- list()
  names <- if (length(args)) paste0("arg", seq_along(args)) else character()
  frame <- list2env(structure(unname(args), names = names), parent = baseenv())
  frame$fun <- f
  # names instead of values, so that a call stack is short
  call <- as.call(c(quote(fun), structure(lapply(names, as.name), names = base::names(args))))
  out <- tryCatch(
    list(status = "ok", value = withCallingHandlers(
      allowInterrupts(eval(call, frame)),
      warning = function(w) {
        warned[[length(warned) + 1L]] <<- w
        invokeRestart("muffleWarning")
      },
      message = function(m) {
        said[[length(said) + 1L]] <<- m
        invokeRestart("muffleMessage")
      })),
    error = function(e) list(status = "error", value = e),
    interrupt = function(e) list(status = "interrupt", value = e))
  out$text <- if (out$status == "error") conditionMessage(out$value) else ""
  c(out, list(warnings = warned, messages = said))
}

# R's random numbers of one call: from `seed`, and afterwards as if nothing had been drawn.
run_seeded <- function(f, args, seed) {
  global <- globalenv()
  old <- global$.Random.seed
  on.exit({
    if (is.null(old)) rm(".Random.seed", envir = global) else global$.Random.seed <- old
    RNGkind() # loads it: reticulate writes the loaded state back when it returns
  })
  set.seed(seed)
  do.call(f, args, quote = TRUE)
}

say <- function(text, err) cat(text, file = if (err) stderr() else stdout())

# ---- text ---------------------------------------------------------------------------------------

# Each distinct text once, all in one buffer, each ended by a byte that none of them holds.
pack_text <- function(x) {
  x <- as.vector(x)
  distinct <- unique(x)
  distinct <- distinct[!is.na(distinct)]
  bytes <- Encoding(distinct) == "bytes"
  plain <- distinct
  plain[!bytes] <- enc2utf8(distinct[!bytes])
  if (!all(validUTF8(plain[!bytes]))) return(list(error = "text that is not valid UTF-8"))
  if (any(bytes)) {
    return(list(error = "", codes = match(x, distinct), raw = lapply(plain, charToRaw), bytes = bytes))
  }
  for (end in c("\x1f", "\x1e", "\x1d", "\x1c", "\x01", "\x02", "\x03", "\x04")) {
    if (!any(grepl(end, plain, fixed = TRUE, useBytes = TRUE))) {
      return(list(error = "", codes = match(x, distinct), n = length(plain), end = charToRaw(end),
                  buffer = charToRaw(paste(plain, collapse = end))))
    }
  }
  list(error = "", codes = match(x, distinct), raw = lapply(plain, charToRaw), bytes = bytes)
}

unpack_text <- function(buffer, end, codes) {
  x <- strsplit(rawToChar(buffer), rawToChar(end), fixed = TRUE, useBytes = TRUE)[[1L]]
  Encoding(x) <- "UTF-8"
  x[codes]
}

unpack_raw <- function(raw, bytes, codes) {
  x <- vapply(raw, rawToChar, "")
  Encoding(x) <- ifelse(bytes, "bytes", "UTF-8")
  x[codes]
}

# ---- a column of R: a double or a text, and what R knows of it ----------------------------------

day_shift <- 3653 # 1 January 1960 to 1 January 1970
ms_shift <- day_shift * 86400000

# On numbers only: the payload of a missing value is its letter.
known <- function(x, f) {
  ok <- which(!is.na(x))
  x[ok] <- f(x[ok])
  x
}

from_integer64 <- function(x) {
  words <- readBin(writeBin(as.vector(unclass(x)), raw()), "integer", 2L * length(x), size = 4L)
  odd <- seq.int(1L, by = 2L, length.out = length(x))
  little <- .Platform$endian == "little"
  low <- as.double(words[if (little) odd else odd + 1L])
  high <- as.double(words[if (little) odd + 1L else odd])
  high[is.na(high)] <- -2147483648
  low[is.na(low)] <- -2147483648
  low <- ifelse(low < 0, low + 4294967296, low)
  missing <- high == -2147483648 & low == 0
  out <- high * 4294967296 + low
  out[missing] <- NA
  out
}

to_integer64 <- function(x) {
  missing <- is.na(x)
  high <- floor(x / 4294967296)
  low <- x - high * 4294967296
  low <- ifelse(low >= 2147483648, low - 4294967296, low)
  high[missing] <- NA # NA_integer_ is the word of integer64's NA
  low[missing] <- 0
  low[low == -2147483648] <- NA
  words <- rbind(as.integer(low), as.integer(high))
  if (.Platform$endian != "little") words <- words[2:1, , drop = FALSE]
  readBin(writeBin(as.vector(words), raw()), "double", length(x))
}

kind_of <- function(x) {
  if (is.factor(x)) return("factor")
  if (inherits(x, "Date")) return("date")
  if (inherits(x, "POSIXct")) return("time")
  if (inherits(x, "integer64")) return("integer64")
  typeof(x)
}

refusal <- function(x) {
  if (isS4(x)) return("an S4 object")
  if (is.data.frame(x)) return("a data frame")
  if (is.list(x)) return("a list")
  if (!is.atomic(x) || is.null(x)) return(paste("a", typeof(x)))
  if (typeof(x) %in% c("complex", "raw")) return(paste("a vector of type", typeof(x)))
  d <- dim(x)
  if (length(d) && !(length(d) == 2L && d[2L] == 1L)) return(paste("a matrix of", d[2L], "columns"))
  if (!is.null(attr(x, "na_range"))) return("a labelled vector with a range of user-missing values")
  ""
}

# 2^53 is also what its neighbour is rounded to
beyond_doubles <- function(x) {
  inherits(x, "integer64") && any(abs(from_integer64(x)) >= 2^53, na.rm = TRUE)
}

take_column <- function(x) {
  if (inherits(x, "POSIXlt")) x <- as.POSIXct(x)
  error <- refusal(x)
  if (nzchar(error)) return(list(error = error))
  a <- attributes(x)
  kept <- a[setdiff(names(a), c("names", "dim", "dimnames", "tsp"))]
  if ("tsp" %in% names(a)) kept$class <- setdiff(kept$class, c("ts", "mts"))
  if (!length(kept$class)) kept$class <- NULL
  out <- list(error = "", rounded = beyond_doubles(x), kind = kind_of(x), label = one_text(a[["label"]]),
              format = one_text(a[["format.stata"]]), zone = one_text(a[["tzone"]][1L]),
              like = list(kind = kind_of(x), type = typeof(x), attributes = kept))
  if (is.character(x)) return(c(out, list(text = pack_text(x), labelled = !is.null(a[["labels"]]))))
  out$data <- as_numbers(x, out$kind)
  if (out$kind == "factor") {
    out$label_values <- as.double(seq_along(levels(x)))
    out$label_texts <- enc2utf8(levels(x))
  } else if (!is.null(a[["labels"]])) {
    out$label_values <- as.double(unclass(a[["labels"]]))
    out$label_texts <- enc2utf8(as.character(names(a[["labels"]])))
  }
  if (!is.null(a[["na_values"]])) out$na_values <- as.double(a[["na_values"]])
  out
}

as_numbers <- function(x, kind) {
  if (kind == "integer64") return(from_integer64(x))
  levels <- levels(x)
  if (typeof(x) == "double") {
    attributes(x) <- NULL # not as.double(), which may dispatch
  } else {
    attributes(x) <- NULL
    x <- as.double(x)
  }
  switch(kind,
    factor = {
      if (anyNA(levels)) x[x %in% which(is.na(levels))] <- NA # addNA(): missing is a level
      x
    },
    date = known(x, function(d) d + day_shift),
    time = known(x, function(s) s * 1000 + ms_shift),
    x)
}

one_text <- function(x) {
  if (is.character(x) && length(x) == 1L && !is.na(x) && validUTF8(enc2utf8(x))) enc2utf8(x) else ""
}

take_frame <- function(x) {
  a <- attributes(x)
  dropped <- c("names", "row.names", ".internal.selfref", "groups", "sorted", "index", "dprct_part")
  kept <- a[setdiff(names(a), dropped)]
  kept$class <- setdiff(kept$class, c("grouped_df", "rowwise_df"))
  columns <- lapply(unclass(x), take_column)
  names <- enc2utf8(as.character(names(x)))
  like <- lapply(columns, `[[`, "like")
  list(names = names, rows = .row_names_info(x, 2L), columns = columns,
       schema = a[["dprct_schema"]], part = isTRUE(a[["dprct_part"]]), file_label = one_text(a[["label"]]),
       like = list(columns = structure(like, names = names), attributes = kept))
}

# ---- back ---------------------------------------------------------------------------------------

whole_within <- function(x, low, high) {
  x <- x[!is.na(x)]
  all(is.finite(x)) && all(x == floor(x)) && all(x >= low & x <= high)
}

# A column as R had it, where its values still allow that; NULL where they do not.
as_before <- function(data, like) {
  a <- like$attributes
  if (is.character(data)) {
    if (like$type != "character") return(NULL)
    attributes(data) <- a
    return(data)
  }
  if (like$type == "character") return(NULL)
  data <- switch(like$kind,
    factor = {
      if (!whole_within(data, 1, length(a$levels))) return(NULL)
      level <- which(is.na(a$levels))
      if (length(level)) data[is.na(data)] <- level[1L]
      data
    },
    date = known(data, function(d) d - day_shift),
    time = known(data, function(ms) (ms - ms_shift) / 1000),
    integer64 = to_integer64(data),
    data)
  if (like$type == "integer") {
    if (!whole_within(data, -.Machine$integer.max, .Machine$integer.max)) return(NULL)
    data <- as.integer(data)
  } else if (like$type == "logical") {
    if (!whole_within(data, 0, 1)) return(NULL)
    data <- as.logical(data)
  }
  attributes(data) <- a
  data
}

# A column as haven would have read it from a file of Stata's.
as_haven <- function(data, fact) {
  if (is.double(data) && fact$date == "d") {
    data <- structure(known(data, function(d) d - day_shift), class = "Date")
  } else if (is.double(data) && fact$date == "c") {
    data <- structure(known(data, function(ms) (ms - ms_shift) / 1000),
                      class = c("POSIXct", "POSIXt"), tzone = "UTC")
  } else if (is.double(data) && length(fact$label_values)) {
    attr(data, "labels") <- structure(fact$label_values, names = fact$label_texts)
    class(data) <- c("haven_labelled", "vctrs_vctr", "double")
  }
  if (nzchar(fact$label)) attr(data, "label") <- fact$label
  if (nzchar(fact$format)) attr(data, "format.stata") <- fact$format
  data
}

# What a released file may have of the looks of the confidential one: how its columns are kept, and
# levels and labels that the release itself states. Any other attribute may hold data.
released_like <- function(like, names, facts) {
  columns <- Map(released_column, like$columns[names], facts)
  classes <- c("data.table", "tbl_df", "tbl", "data.frame")
  list(columns = structure(columns, names = names),
       attributes = list(class = intersect(like$attributes$class, classes)))
}

released_column <- function(old, fact) {
  a <- old$attributes
  classes <- c("factor", "ordered", "Date", "POSIXct", "POSIXt", "difftime", "integer64",
               "haven_labelled", "vctrs_vctr", "double", "integer")
  stated <- function(values, texts) {
    identical(as.double(values), fact$label_values) && identical(enc2utf8(texts), fact$label_texts)
  }
  if (is.null(old) || !all(a$class %in% classes) || !is.null(a$na_values)) return(NULL)
  if (old$kind == "factor" && !stated(seq_along(a$levels), a$levels)) return(NULL)
  if (!is.null(a$labels) && !stated(unclass(a$labels), names(a$labels))) return(NULL)
  kept <- a[intersect(names(a), c("class", "levels", "labels", "tzone", "units"))]
  if (nzchar(fact$label)) kept$label <- fact$label
  ours <- old$kind %in% c("date", "time") && is.null(a$format.stata) # Stata needs one, R does not
  if (nzchar(fact$format) && !ours) kept$format.stata <- fact$format
  list(kind = old$kind, type = old$type, attributes = kept)
}

make_frame <- function(columns, names, rows, facts, like, released, schema, label) {
  if (released) like <- released_like(like, names, facts)
  for (i in seq_along(columns)) {
    old <- if (is.null(like)) NULL else like$columns[[names[i]]]
    new <- if (!is.null(old)) as_before(columns[[i]], old)
    columns[[i]] <- if (is.null(new)) as_haven(columns[[i]], facts[[i]]) else new
  }
  attributes(columns) <- if (is.null(like)) list(class = "data.frame") else like$attributes
  if (!is.null(like) && is.null(schema)) schema <- like$attributes$dprct_schema
  names(columns) <- names
  attr(columns, "row.names") <- .set_row_names(rows)
  if (nzchar(label) && is.null(attr(columns, "label"))) attr(columns, "label") <- label
  if (!is.null(schema)) {
    attr(columns, "dprct_schema") <- schema
    # of the R package, which keeps the schema through the row operations of base R
    if (identical(class(columns), "data.frame")) class(columns) <- c("dprct_data", "data.frame")
  }
  if (inherits(columns, "data.table") && requireNamespace("data.table", quietly = TRUE)) {
    columns <- data.table::alloc.col(columns)
  }
  columns
}

# ---- other values -------------------------------------------------------------------------------

plain_frame <- function(columns, names, rows, row_names) {
  names(columns) <- names
  attr(columns, "row.names") <- if (is.null(row_names)) .set_row_names(rows) else row_names
  class(columns) <- "data.frame"
  columns
}

plain_factor <- function(codes, levels, ordered) {
  structure(codes, levels = levels, class = c(if (ordered) "ordered", "factor"))
}

plain_matrix <- function(data, shape, rows, columns) {
  dim(data) <- shape
  if (!is.null(rows) || !is.null(columns)) dimnames(data) <- list(rows, columns)
  data
}

with_names <- function(x, names) {
  names(x) <- names
  x
}

record <- function(fields, classes, live) {
  class(fields) <- classes
  if (!is.null(live)) attr(fields, "dprct_live") <- live
  fields
}

# A finalizer must not run Python: it leaves the id where the next call finds it.
live_object <- function(id, session, dropped) {
  live <- new.env(parent = emptyenv())
  live$id <- id
  live$session <- session
  reg.finalizer(live, function(e) dropped[[e$id]] <- TRUE)
  live
}

take_dropped <- function(dropped) {
  ids <- ls(dropped, all.names = TRUE)
  rm(list = ids, envir = dropped)
  ids
}
