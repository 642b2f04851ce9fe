"""Tables while exchanges are planned: columns of integers, which are arrays of one length."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Subclasses are dataclasses whose fields are the columns."""

    def __getitem__(self, rows: Ints | Mask) -> Self:
        """Some rows, by number or by a mask."""
        return type(self)(*(getattr(self, each.name)[rows] for each in fields(self)))

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    @classmethod
    def none(cls) -> Self:
        """No rows."""
        return cls(*(np.zeros(0, np.int64) for _ in fields(cls)))

    @classmethod
    def joined(cls, tables: Sequence[Self]) -> Self:
        """The rows of all, in this order."""
        return cls(
            *(
                np.concatenate([getattr(each, field.name) for each in tables])
                for field in fields(cls)
            )
        )


def numbered(counts: Ints) -> tuple[Ints, Ints]:
    """For so many entries of each group, their groups and their numbers within these."""
    group = np.repeat(np.arange(len(counts)), counts)
    return group, np.arange(len(group)) - (np.cumsum(counts) - counts)[group]
