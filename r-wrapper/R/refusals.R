# A refusal that needs no Python: of class dprct_<leaf>_error, as those that come from there.
refuse <- function(leaf, message, call = sys.call(-1L)) {
  stop_dprct(paste0("dprct_", leaf, "_error"), message, call)
}

print_text <- function(x) {
  cat(x$text, sep = "\n")
  invisible(x)
}
