# State of the session. Python reads `frames`, the calls in progress, through rpy2.
the <- new.env(parent = emptyenv())
the$frames <- new.env(parent = emptyenv())
the$calls <- 0
the$run <- NULL
the$last_error <- NULL
the$refused <- NULL

protocol <- "1"

# Packages with functions of our names: whoever attaches one later gets its function under the name.
neighbours <- c("haven", "future", "arrow", "effects")

.onLoad <- function(libname, pkgname) {
  # by which marginaleffects lets a class in that is not its own
  own <- union(getOption("marginaleffects_model_classes"), "dprct_estimate")
  options(marginaleffects_model_classes = own)
  for (package in neighbours) {
    setHook(packageEvent(package, "attach"), say_masked)
  }
}

say_masked <- function(package, ...) {
  if (!"package:dprct" %in% search()) return(invisible())
  both <- intersect(getNamespaceExports("dprct"), getNamespaceExports(package))
  theirs <- both[!vapply(both, function(name) {
    identical(getExportedValue("dprct", name), getExportedValue(package, name))
  }, NA)]
  if (length(theirs)) {
    packageStartupMessage(
      package, ", attached after dprct, has ", paste0(sort(theirs), "()", collapse = ", "),
      " of its own: write dprct::", sort(theirs)[1L], "(), or attach dprct last"
    )
  }
}
