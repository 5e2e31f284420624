from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import numpy as np

from papers.cate.voting import voting_people

if TYPE_CHECKING:
    from pathlib import Path


def test_only_people_without_a_letter_are_read(tmp_path: Path) -> None:
    file = tmp_path / "social.csv.gz"
    with gzip.open(file, "wt") as out:
        out.write(
            "sex,yearofbirth,primary2004,messages,primary2006,hhsize\n"
            "female,1966,1,Control,1,2\nmale,1950,0,Hawthorne,1,2\nmale,1980,0,Control,0,3\n"
        )
    people, voted = voting_people(file)
    np.testing.assert_array_equal(people, [[1, 40, 1, 2], [0, 26, 0, 3]])
    np.testing.assert_array_equal(voted, [1, 0])
