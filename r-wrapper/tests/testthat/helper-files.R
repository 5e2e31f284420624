# A file name that is forgotten with the session.
new_file <- function(ending) tempfile(fileext = ending)
