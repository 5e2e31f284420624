"""From a study file to the files that are published."""
