# Written by scripts/registry.py.
by_name <- c(
  "CATE",
  "IPW",
  "PrivateATE",
  "PrivateAdditive",
  "PrivateMoments",
  "published.CATE",
  "published.IPW"
)
