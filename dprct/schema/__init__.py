"""Public facts about a table: what they are, how they are declared, checked and saved."""

from dprct.schema.columns import Column, FileFacts, Unit
from dprct.schema.schema import Schema
from dprct.schema.seal import Seal

__all__ = ["Column", "FileFacts", "Schema", "Seal", "Unit"]
