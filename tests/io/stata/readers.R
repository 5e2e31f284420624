# Called with one folder.  Writes Stata files with haven and readstata13 into it, and reports what
# these two read in its ours_*.dta, one fact a line: file, reader, column, fact, and the values.

suppressPackageStartupMessages({
  library(haven)
  library(readstata13)
})
folder <- commandArgs(trailingOnly = TRUE)[1]
at <- function(...) file.path(folder, sprintf(...))

# ---- write
answers <- labelled(
  c(1, 2, NA, tagged_na("a"), tagged_na("z")),
  labels = c(no = 1, yes = 2, refused = tagged_na("a")), label = "Answers"
)
numbers <- data.frame(whole = c(1L, -5L, NA, 100L, 32740L), real = c(0.5, NA, -1e300, 1e-300, 0))
texts <- data.frame(name = c("a", "", "bc", "d", "e"), stringsAsFactors = FALSE)
for (version in c(8, 10, 12, 13, 14, 15)) {
  frame <- cbind(data.frame(answer = 1:5), numbers, texts)
  frame$answer <- answers
  frame$day <- as.Date(c("1959-12-31", "1960-01-01", "2026-11-21", NA, "2000-02-29"))
  if (version >= 13) frame$essay <- c(strrep("long ", 500), "", "b", "b", "c")
  write_dta(frame, at("haven_%d.dta", version), version = version, label = "From haven")
}
frame <- cbind(numbers, texts)
attr(frame, "var.labels") <- c("Whole", "Real", "Name")
for (version in c(102, 103, 104, 105, 108, 110, 111, 112, 113, 114, 115, 117, 118, 119)) {
  suppressWarnings(suppressMessages(save.dta13(
    if (version >= 111) frame else transform(frame, real = c(0.5, NA, 2, 3, 0)),
    at("readstata13_%d.dta", version), data.label = "From readstata13", version = version,
    time.stamp = FALSE
  )))
}

extra <- system.file("extdata", package = "readstata13")
for (path in list.files(extra, "[.]dta$")) {
  file.copy(file.path(extra, path), at("extdata_%s", path))
}

# ---- report
lines <- character()
say <- function(file, reader, column, fact, values) {
  values <- as.character(values)
  raw <- !validUTF8(values) # readstata13 leaves the bytes of older releases as they are
  values[raw] <- iconv(values[raw], "CP1252", "UTF-8")
  lines <<- c(lines, paste(c(file, reader, column, fact, enc2utf8(values)), collapse = "\t"))
}
number <- function(x) {
  code <- ifelse(is.na(na_tag(x)), ".", paste0(".", na_tag(x)))
  ifelse(is.na(x), code, sprintf("%.17g", as.double(x)))
}
shown <- function(x) if (is.character(x)) x else number(as.double(unclass(x)))
for (path in list.files(folder, "^ours_", full.names = TRUE)) {
  file <- sub("[.]dta$", "", basename(path))
  frame <- read_dta(path)
  say(file, "haven", "", "label", attr(frame, "label"))
  for (name in names(frame)) {
    x <- frame[[name]]
    say(file, "haven", name, "values", shown(zap_formats(zap_labels(x))))
    say(file, "haven", name, "label", attr(x, "label"))
    say(file, "haven", name, "format", attr(x, "format.stata"))
    codes <- attr(x, "labels")
    if (!is.null(codes)) {
      say(file, "haven", name, "codes", number(as.double(codes)))
      say(file, "haven", name, "texts", names(codes))
    }
  }
  frame <- suppressWarnings(suppressMessages(read.dta13(
    path, convert.factors = FALSE, convert.dates = FALSE, missing.type = TRUE
  )))
  say(file, "readstata13", "", "label", attr(frame, "datalabel"))
  say(file, "readstata13", "", "labels", attr(frame, "var.labels"))
  say(file, "readstata13", "", "formats", attr(frame, "formats"))
  say(file, "readstata13", "", "sets", attr(frame, "val.labels"))
  missing <- attr(frame, "missing")
  for (i in seq_along(frame)) {
    x <- frame[[i]]
    # it takes an empty strL for NA
    values <- if (is.character(x)) ifelse(is.na(x), "", x) else sprintf("%.17g", as.double(x))
    if (!is.character(x)) {
      code <- missing[[i]]
      values[is.na(x)] <- c(".", paste0(".", letters))[code[is.na(x)] + 1]
    }
    say(file, "readstata13", names(frame)[i], "values", values)
  }
  fields <- attr(frame, "expansion.fields")
  say(file, "readstata13", "", "characteristics", vapply(fields, paste, "", collapse = "|"))
}
writeLines(lines, at("report.tsv"), useBytes = TRUE)
