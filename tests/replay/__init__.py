"""The replay auditor: the same released numbers on two neighbours, and everything visible beside.

- ``recording``: a noise source that records a transcript, or forces it on a neighbour
- ``losses``: what a transcript tells apart, by the exact laws of the mechanisms
- ``visible``: everything that a reader of a result can see
- ``auditor``: one fit on D, its transcript forced on D', and what that finds
- ``neighbours``: pairs of legal tables that differ in one unit
- ``cases``: every strict method with every option
"""
