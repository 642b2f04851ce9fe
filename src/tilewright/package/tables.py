"""Tables: dataclasses of columns, which are read-only arrays of one length, one entry per row."""

from dataclasses import dataclass, fields
from typing import Any, Generic, Self, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

U8: TypeAlias = npt.NDArray[np.uint8]
U32: TypeAlias = npt.NDArray[np.uint32]

NONE = 0xFFFFFFFF
"""In a column of rows of another table: no row."""

NumberT = TypeVar("NumberT", np.uint8, np.uint16, np.uint32)


class Column(Generic[NumberT]):
    """A field that holds numbers, which files have little endian.

    It takes anything that is a list of integers and gives a read-only array. Raises `ValueError`
    for numbers that do not fit, or anything but integers.
    """

    def __init__(self, number: type[NumberT]) -> None:
        self.dtype: np.dtype[NumberT] = np.dtype(number).newbyteorder("<")

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name
        self._where = f"{owner.__name__}.{name}"

    @overload
    def __get__(self, instance: None, owner: type) -> npt.ArrayLike: ...

    @overload
    def __get__(self, instance: object, owner: type) -> npt.NDArray[NumberT]: ...

    def __get__(self, instance: object, owner: type) -> npt.ArrayLike:
        return () if instance is None else instance.__dict__[self._name]

    def __set__(self, instance: object, values: npt.ArrayLike) -> None:
        instance.__dict__[self._name] = _read_only(values, self.dtype, self._where)


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of one length. Subclasses declare their fields as `Column`.

    Raises `ValueError` for columns of unequal length.
    """

    def __post_init__(self) -> None:
        lengths = {name: len(getattr(self, name)) for name in self.columns()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise ValueError(f"columns of {type(self).__name__} differ in length: {shown}")

    @classmethod
    def columns(cls) -> dict[str, np.dtype[Any]]:
        """The types of the columns, by name."""
        return {each.name: vars(cls)[each.name].dtype for each in fields(cls)}

    @property
    def nbytes(self) -> int:
        """The bytes of all columns."""
        return sum(getattr(self, name).nbytes for name in self.columns())

    def __len__(self) -> int:
        return len(getattr(self, next(iter(self.columns()))))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = self.columns()
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment] # arrays have no hash

    def __getitem__(self, rows: Any) -> Self:
        """Some rows: a slice, a mask or an array of their numbers."""
        return type(self)(**{name: getattr(self, name)[rows] for name in self.columns()})

    def sorted_by(self, *names: str) -> Self:
        """The rows ordered by these columns, the first foremost; equal rows keep their order."""
        return self[np.lexsort([getattr(self, name) for name in reversed(names)])]


def rows_of(owners: npt.NDArray[Any], owner: int) -> range:
    """The rows of one owner in an ordered column."""
    if not 0 <= owner <= np.iinfo(owners.dtype).max:
        return range(0)
    value = owners.dtype.type(owner)  # of another type, it would make a copy of the column
    first, last = (int(owners.searchsorted(value, side)) for side in ("left", "right"))
    return range(first, last)


def _read_only(values: npt.ArrayLike, dtype: np.dtype[NumberT], where: str) -> npt.NDArray[NumberT]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{where} has {array.ndim} dimensions, not one")
    if array.dtype != dtype and array.size:
        if array.dtype.kind not in "iub":
            raise ValueError(f"{where} holds {array.dtype}, not integers")
        limit = np.iinfo(dtype).max
        wrong = array[(array < 0) | (array > limit)]
        if wrong.size:
            raise ValueError(f"{where} holds {wrong[0]}, not in 0 to {limit}")
    if not array.flags.writeable:
        return np.ascontiguousarray(array, dtype)
    column = np.array(array, dtype)  # a copy, which nobody else can change
    column.flags.writeable = False
    return column
