"""The papers' algorithms as published, each with the guarantee that really holds; often none.

Nothing here is needed to protect anybody: it is here so that results can be compared with the
literature.  The strict forms are at the top level of the package.
"""

from dprct.published.histogram import MVHistogram

__all__ = ["MVHistogram"]
