"""The only way of strict methods to confidential rows.

Every function here computes an aggregate in exact integer arithmetic and returns it sealed, with
its sensitivity; only the mechanisms of ``dprct.privacy`` can turn it into a release.  Nothing here
raises, warns or loops because of what the rows hold: values were checked in the constructor, and
encoding is total.

The rows stay where they are: every step is an expression of the data frame's own engine, and
because the sums are sums of integers, they do not depend on the order of the rows.
"""
