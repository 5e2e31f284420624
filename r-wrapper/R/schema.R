#' Read and write Stata files
#'
#' `read_dta()` reads a `.dta` file of any release without loss: value labels, variable labels,
#' display formats, the missing codes `.a` to `.z` and characteristics are kept. `write_dta()`
#' writes one, bit for bit where nothing was changed; what does not fit is refused, never coerced.
#'
#' Labelled columns are `haven_labelled`, `%td` columns are `Date`, `%tc` columns `POSIXct`, and
#' the missing codes are tagged `NA`s as in \pkg{haven}. Everything else of the file is in the
#' data frame's schema, which [schema()] returns and which [write_dta()] uses.
#'
#' \pkg{haven} has functions of the same two names, which know no schema: attach \pkg{dprct} after it, or
#' write `dprct::read_dta()`. So it is with [plan()] and \pkg{future}, and with [schema()] and
#' \pkg{arrow}; whichever of them is attached after \pkg{dprct} says so. [read()] is ours alone.
#'
#' @param path Name of the file.
#' @param schema A [schema()] that was declared (and perhaps sealed) before the data were read.
#' @param data A data frame, tibble or data.table, or a release.
#' @param version Release of the format, 102 to 119; by default the one that was
#'   read, else 118.
#' @param ... Not used.
#' @return `read_dta()`: a data frame. `write_dta()`: for a data frame, `path`; for a release, its
#'   certificate; both invisibly.
#' @examples
#' file <- system.file("extdata", "nsw_mixtape.dta", package = "dprct")
#' if (dprct_available()) {
#'   nsw <- read_dta(file)
#'   head(nsw)
#'   copy <- tempfile(fileext = ".dta")
#'   write_dta(nsw, copy)
#'   compare_data(file, copy)
#' }
#' @export
read_dta <- function(path, schema = NULL) {
  dprct_call("read_dta", path = file_name(path), schema = schema)
}

#' Read a data file of any format
#'
#' @param path A data frame, or the name of a file: Stata's `.dta`, SPSS's `.sav`, `.zsav` and `.por`, SAS's `.sas7bdat` and
#'   `.xpt`, R's `.rds` and `.rda`, `.csv` or `.parquet`.
#' @param names `"stata"` replaces names that Stata lacks, such as `inc.total` or `int`, by such as
#'   `inc_total` and `int_`; a protected file and its certificate state which. `"same"` leaves all.
#' @return A data frame with its [schema()], as [read_dta()] returns it.
#' @examples
#' if (dprct_available()) {
#'   file <- tempfile(fileext = ".csv")
#'   write.csv(data.frame(treat = 0:1, y = c(2.5, 3)), file, row.names = FALSE)
#'   read(file)
#' }
#' @export
read <- function(path, names = "same") {
  if (!is.data.frame(path)) return(dprct_call("read", path = file_name(path), names = names))
  if (!identical(names, "stata")) {
    refuse("parameter", "path is a data frame; give names = \"stata\", or the name of a file")
  }
  dprct_call("named", data = frame_of(path))
}

#' @rdname read_dta
#' @export
write_dta <- function(data, path, schema = NULL, version = NULL, ...) UseMethod("write_dta")

#' @rdname read_dta
#' @export
write_dta.default <- function(data, path, schema = NULL, version = NULL, ...) {
  only_known(...)
  dprct_call("write_dta",
    data = frame_of(data, schema), path = file_name(path), version = version
  )
  invisible(path)
}

#' @rdname read_dta
#' @export
write_dta.dprct_release <- function(data, path, ...) {
  only_known(...)
  certificate <- dprct_call("release_write", release = data, path = file_name(path))
  invisible(certificate)
}

#' The schema of a data set: everything about it that is public
#'
#' `schema()` returns the schema of a `.dta` file (from its header; the data are not read), of a
#' `.toml` file that [write_schema()] made, of a data frame from [read_dta()], or the column types
#' of any other data frame. [declare()] adds facts to it.
#'
#' @param x Name of a `.dta` or `.toml` file, a data frame, or a release.
#' @param object A schema.
#' @param path Name of the file.
#' @param by Who declares the public facts; certificates name them.
#' @param ... Not used.
#' @return An object of class `dprct_schema`, which prints what is declared of each column.
#'   `write_schema()`: `path`, invisibly. `as.data.frame()`, and \pkg{tibble}'s `as_tibble()`: a row for
#'   each column with its role, bounds (`low`, `high`), levels, missing codes and bins.
#' @examples
#' file <- system.file("extdata", "nsw_mixtape.dta", package = "dprct")
#' if (dprct_available()) {
#'   facts <- schema(file)
#'   facts <- declare(facts, re78 = list(bounds = c(0, 40000)), treat = list(levels = 0:1))
#'   as.data.frame(facts)[c("name", "low", "high", "levels")]
#'   facts <- seal(facts, by = "me")
#'   write_schema(facts, tempfile(fileext = ".toml"))
#' }
#' @export
schema <- function(x, ...) UseMethod("schema")

#' @export
schema.character <- function(x, ...) {
  only_known(...)
  dprct_call("schema_read", path = file_name(x))
}

#' @export
schema.data.frame <- function(x, ...) {
  only_known(...)
  known <- attr(x, "dprct_schema", exact = TRUE)
  if (is.null(known)) dprct_call("schema_of_frame", data = typed(frame_of(x))) else known
}

#' @export
schema.dprct_schema <- function(x, ...) {
  only_known(...)
  x
}

#' @export
schema.dprct_release <- function(x, ...) {
  only_known(...)
  schema(x$protected)
}

#' @export
schema.default <- function(x, ...) {
  only_known(...)
  refuse("parameter",
    paste0("x is ", class(x)[1L], "; give the name of a .dta or .toml file, or a data frame")
  )
}

#' @rdname schema
#' @param row.names,optional As for [as.data.frame()].
#' @export
as.data.frame.dprct_schema <- function(x, row.names = NULL, optional = FALSE, ...) {
  only_known(..., .also = "stringsAsFactors")
  as_given(dprct_call("schema_facts", schema = x), row.names)
}

#' @rdname schema
#' @exportS3Method tibble::as_tibble
as_tibble.dprct_schema <- function(x, ...) {
  tolerate(...)
  tibble::as_tibble(as.data.frame(x), ...)
}

#' @rdname schema
#' @export
seal <- function(object, by = "") {
  dprct_call("schema_seal", schema = check_schema(object), by = by)
}

#' @rdname schema
#' @export
write_schema <- function(object, path) {
  dprct_call("schema_save", schema = check_schema(object), path = file_name(path))
  invisible(path)
}

check_schema <- function(object) {
  if (!inherits(object, "dprct_schema")) {
    refuse("parameter", paste0(
      "object is ", class(object)[1L], "; give a schema, as schema() and declare() return"
    ), sys.call(-1L))
  }
  object
}

#' Declare public facts about columns
#'
#' Facts are declared from knowledge of the questionnaire, not from a look at the data: a bound
#' that was found in the data is a leak.
#'
#' @param .schema A [schema()], or a data frame, whose schema is then declared: all columns that it has
#'   by then, also those that were added or renamed since.
#' @param ... One argument per column, a list of facts: `bounds` (two numbers), `levels`, `bins`,
#'   `decimals`, `integer`, `missing` (`"never"`, or the missing codes that may occur: `NA` is `"."`,
#'   and `tagged_na("a")` of \pkg{haven} `".a"`), `role`,
#'   `fate` (`"modelled"`, `"filler"`, `"withheld"`, `"key"`, `"public"`, `"drop"`), `derived`,
#'   `made_of` (names of other columns from which it is computed, if no expression says how).
#' @param facts The same as a named list, for columns whose names are arguments here, such as
#'   `unit`.
#' @param dataset_id Name under which ledgers know the data set.
#' @param unit Who one record is, such as `"person"`, or a list of `name`, `id`, `max_rows`.
#' @param confirm_header `TRUE` confirms every fact of the file's header as public.
#' @param rest The fate of every column that has none.
#' @return What `.schema` is, with the facts.
#' @inherit schema examples
#' @export
declare <- function(.schema, ..., facts = list(), dataset_id = NULL, unit = NULL,
                    confirm_header = FALSE, rest = NULL) {
  facts <- c(list(...), facts)
  check_facts(facts)
  facts <- lapply(facts, crossing)
  if (is.character(unit) && length(unit) == 1L) unit <- list(name = unit)
  if (!is.null(unit) && (!is.list(unit) || is.null(names(unit)))) {
    refuse("parameter", paste(
      "unit is no text and no named list; give \"pupil\", or",
      "list(name = \"pupil\", id = \"pupil_id\", max_rows = 1)"
    ))
  }
  declared <- dprct_call("schema_declare",
    schema = if (is.data.frame(.schema)) schema_now(.schema) else schema(.schema),
    facts = facts, dataset_id = dataset_id,
    unit = unit,
    confirm_header = confirm_header, rest = rest
  )
  if (is.data.frame(.schema)) with_schema(.schema, declared) else declared
}

# A column's facts as they cross: times in milliseconds since 1960, NA as the missing code that it is.
crossing <- function(fact) {
  for (key in intersect(c("bounds", "levels"), names(fact))) {
    if (inherits(fact[[key]], "POSIXt")) {
      fact[[key]] <- list(time = (as.numeric(as.POSIXct(fact[[key]])) + 3653 * 86400) * 1000)
    }
  }
  if ("missing" %in% names(fact)) fact$missing <- missing_codes(fact$missing)
  fact
}

missing_codes <- function(x) {
  if (is.character(x)) return(replace(x, is.na(x), "."))
  if (!is.atomic(x) || !length(x) || !all(is.na(x))) return(x)
  vapply(as.double(x), function(na) {
    letter <- writeBin(na, raw(), endian = "little")[5L] # where haven's tagged_na() has it
    if (letter == 0) "." else paste0(".", rawToChar(letter))
  }, "")
}

# The schema of a data frame as it is now: what came with it says nothing of columns that are new or
# have another name, and still has those that are gone.
schema_now <- function(data) {
  known <- attr(data, "dprct_schema", exact = TRUE)
  if (is.null(known) || identical(names(data), as.character(known$columns))) return(schema(data))
  dprct_call("schema_of_frame", data = typed(frame_of(data)))
}

# A frame for its types alone: 64-bit integers that no double holds are of no matter there.
typed <- function(data) {
  is_long <- vapply(unclass(data), inherits, NA, what = "integer64")
  for (name in names(data)[is_long]) {
    label <- attr(data[[name]], "label", exact = TRUE)
    data[[name]] <- structure(numeric(nrow(data)), class = "integer64", label = label)
  }
  data
}

# A data frame that knows its schema. Tibbles and data tables keep it by themselves; plain data
# frames get a class whose methods do.
with_schema <- function(data, schema) {
  if (is.null(schema) || !is.data.frame(data)) {
    return(data)
  }
  attr(data, "dprct_schema") <- schema
  if (identical(class(data), "data.frame")) class(data) <- c("dprct_data", "data.frame")
  data
}

#' @export
`[.dprct_data` <- function(x, ...) {
  with_schema(NextMethod(), attr(x, "dprct_schema", exact = TRUE))
}

#' @export
transform.dprct_data <- function(`_data`, ...) {
  with_schema(NextMethod(), attr(`_data`, "dprct_schema", exact = TRUE))
}

#' @export
merge.dprct_data <- function(x, y, ...) {
  with_schema(NextMethod(), attr(x, "dprct_schema", exact = TRUE))
}

#' @export
cbind.dprct_data <- function(...) {
  schemas <- lapply(list(...), attr, which = "dprct_schema", exact = TRUE)
  schema <- Find(Negate(is.null), schemas)
  with_schema(cbind.data.frame(...), schema)
}

check_facts <- function(facts) {
  if (length(facts) && (is.null(names(facts)) || !all(nzchar(names(facts))))) {
    refuse("schema",
      "a fact without a column; give each as column = list(bounds = c(0, 100))"
    )
  }
  bare <- names(facts)[!vapply(facts, is.list, NA)]
  if (length(bare)) {
    near <- nearest(bare[1L], c("facts", "dataset_id", "unit", "confirm_header", "rest"))
    refuse("schema", paste0(
      sprintf(
        "column '%s': declared as %s; give a list, such as %s = list(bounds = c(0, 100)) or %s",
        bare[1L], class(facts[[bare[1L]]])[1L], bare[1L], "list(levels = 0:1)"
      ),
      if (length(near)) paste0("; or did you mean the argument '", near, "'?")
    ))
  }
}

#' Compare two data sets, facet by facet
#'
#' @param a,b Names of files, or data frames with a schema (see [read_dta()]).
#' @param certificate Name of a certificate that permits differences; by default the one next to
#'   `b`, if there is one.
#' @return An object of class `dprct_comparison`: `identical`, and `differences`, a data frame with
#'   `facet`, `column`, `detail`, `permitted`, `reason`. Values are counted, never shown.
#' @inherit read_dta examples
#' @export
compare_data <- function(a, b, certificate = NULL) {
  dprct_call("compare",
    a = side(a), b = side(b), certificate = certificate
  )
}

#' @export
print.dprct_comparison <- function(x, ...) print_text(x, ...)

side <- function(x) if (is.character(x)) file_name(x) else frame_of(x)

# The data frame for the crossing, with the schema that is to be used: the one given, else the one
# it was read with, else none, and then Python takes the types of its columns. With `used`, only
# these columns cross, and the one that says whose a row is.
frame_of <- function(data, schema = NULL, used = NULL) {
  if (inherits(data, "dprct_release")) {
    data <- data$protected
  }
  if (!is.data.frame(data)) {
    refuse("parameter", paste0(
      "data is ", class(data)[1L], "; give a data frame, a tibble or a data.table"
    ))
  }
  if (!is.null(schema)) {
    if (!inherits(schema, "dprct_schema")) schema <- dprct::schema(schema)
    data <- with_schema(data, schema)
  }
  if (is.null(used) || !any(names(data) %in% used)) data else part_of(data, used)
}

# A part without copies: no method of `[` is asked, for it may drop what is declared.
part_of <- function(data, used) {
  given <- attributes(data)
  used <- c(used, given$dprct_schema$unit_id)
  part <- unclass(data)[which(given$names %in% used)]
  kept <- given[intersect(names(given), c("row.names", "class", "label", "dprct_schema"))]
  attributes(part) <- c(list(names = given$names[given$names %in% used], dprct_part = TRUE), kept)
  part
}

# The names that a formula and the options of a call hold, wherever they stand in them.
named_in <- function(formula, ...) {
  words <- unlist(c(list(...), lapply(list(...), all_names)), use.names = FALSE)
  words <- words[vapply(words, is.character, NA)]
  c(if (inherits(formula, "formula")) all.vars(formula) else text_names(formula), words)
}

all_names <- function(x) {
  if (is.list(x) && !is.data.frame(x)) c(names(x), lapply(x, all_names)) else names(x)
}

# Words of a formula in text, in backquotes or not.
text_names <- function(x) {
  if (!is.character(x)) return(character())
  unlist(c(
    regmatches(x, gregexpr("[[:alpha:]_.][[:alnum:]_.]*", x)),
    lapply(regmatches(x, gregexpr("`[^`]+`", x)), function(q) gsub("`", "", q))
  ))
}

file_name <- function(path) {
  if (!is.character(path) || length(path) != 1L || is.na(path)) {
    refuse("parameter", "path is not one name; give the name of a file")
  }
  path.expand(path)
}
