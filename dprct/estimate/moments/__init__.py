"""One release of first and second moments, from which every linear regression follows."""
