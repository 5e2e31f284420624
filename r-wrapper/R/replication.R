#' The tables of the papers, reproduced
#'
#' Runs the experiments of a paper about these methods again, as `python -m papers` does. They are in
#' the repository of dprct and in no package: R runs in a checkout of it, or `checkout` says where one
#' is. Some tables need data of their authors (`data`); what needs none is simulated.
#'
#' @param paper `"rct"`, "Assessing Utility of Differential Privacy for RCTs", whose 19 tables come with
#'   the printed number beside ours; `"ippw"`, weighting; `"dpsc"`, synthetic control; `"cate"`,
#'   heterogeneous effects.
#' @param folder Where text, tables and draws are kept: an interrupted run goes on from there.
#' @param tables Of `"rct"`: numbers of its tables; all whose data are there by default.
#' @param reps Releases, panels or samples of a setting; by default so many as `docs/papers.md` says.
#' @param data Folder with the authors' data.
#' @param rng A seed of everything that is drawn.
#' @param checkout Folder of the repository; by default the one in which R runs.
#' @return An object of class `dprct_replication`: `tables`, a list of data frames, those of `"rct"` with
#'   `printed` and `ours`; `text`, which `print()` shows; and `folder`.
#' @examples
#' \dontrun{
#' found <- replication("rct", "build/rct", tables = 1:2)
#' head(found$tables$table_01[c("row", "method", "measure", "printed", "ours")])
#' }
#' @export
replication <- function(paper, folder, tables = NULL, reps = NULL, data = NULL, rng = 1,
                        checkout = NULL) {
  papers <- c("rct", "ippw", "dpsc", "cate")
  if (!is.character(paper) || length(paper) != 1L || !paper %in% papers) {
    refuse("parameter", paste0("paper is none of these; allowed: ", paste(papers, collapse = ", ")))
  }
  if (!is.null(tables) && paper != "rct") {
    refuse("parameter", "tables are of \"rct\"; leave tables out")
  }
  check_seed(rng)
  given <- list(
    tables = if (!is.null(tables)) paste(tables, collapse = ","), reps = reps, seed = rng,
    data = if (!is.null(data)) normalizePath(file_name(data))
  )
  given <- Filter(Negate(is.null), given)
  words <- shQuote(vapply(given, format, "", scientific = FALSE))
  folder <- file_name(folder)
  said <- run_papers(checkout_of(checkout), c(
    paper, "--out", shQuote(folder), c(rbind(paste0("--", names(given)), words))
  ))
  files <- list.files(folder, "[.]csv$", full.names = TRUE)
  read <- lapply(files, utils::read.csv, check.names = FALSE)
  names(read) <- sub("[.]csv$", "", basename(files))
  structure(
    list(tables = read, text = paste(said, collapse = "\n"), folder = folder),
    class = "dprct_replication"
  )
}

checkout_of <- function(checkout, here = getwd()) {
  found <- Find(is_checkout, if (is.null(checkout)) c(here, dirname(here)) else file_name(checkout))
  if (is.null(found)) {
    refuse("file", paste(
      "no checkout of dprct is here, and the papers' experiments are in no package; give checkout,",
      "the folder of its repository"
    ))
  }
  normalizePath(found)
}

# A process of its own: the experiments divide their work among several.
run_papers <- function(checkout, words) {
  force(checkout) # it may be refused, which needs no Python
  python <- dprct_config()$executable
  if (is.null(python)) ensure_bridge()
  said <- suppressWarnings(system2(python, c("-m", "papers", words),
    stdout = TRUE, stderr = TRUE, env = c(paste0("PYTHONPATH=", shQuote(checkout)), "LD_LIBRARY_PATH=")
  ))
  if (!is.null(attr(said, "status"))) {
    refuse("parameter", sub("^error: ", "", utils::tail(as.character(said), 1L)))
  }
  said
}

#' @export
print.dprct_replication <- function(x, ...) print_text(x, ...)
