"""Cap'n Proto messages as this package uses them: one segment, written at once, read with limits.

Readers collect faults where a part can be named and passed over, and raise `PackageError` where
the message itself is broken.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import capnp
import numpy as np
import numpy.typing as npt

from tilewright.package.blobs import Content
from tilewright.package.faults import FaultList, PackageError
from tilewright.package.tables import Table

HEAD_BYTES = 8
"""The head of a message with one segment: the number of segments less one, and its words."""
WORD = 8
MAGIC_AT, MAGIC_BYTES = 16, 8
"""Where in a message the first number of its root is, which tells files of one kind from others."""
MAX_NAME = 4096
"""Characters of a text."""
MAX_STRINGS = 1 << 18
"""Texts of a table of strings."""
MAX_TABLES = 64 << 20
"""Bytes of a message in a blob."""

_NESTING = 8
"""Pointers deep; the schemas need five."""

TableT = TypeVar("TableT", bound=Table)
EnumT = TypeVar("EnumT", bound=IntEnum)


@cache
def schema(name: str) -> Any:
    """A schema beside this module."""
    return capnp.load(str(Path(__file__).with_name(f"{name}.capnp")))


def magic_bytes(name: str) -> bytes:
    """The magic of files with a schema, as they have it at `MAGIC_AT`."""
    return int(schema(name).magic).to_bytes(MAGIC_BYTES, "little")


def encode(kind: Any, fill: Callable[[Any], None]) -> bytes:
    """A message of one segment whose root is a struct of `kind`, which `fill` fills."""
    message = kind.new_message()
    fill(message)
    # Building spreads over several segments; a copy that has room enough takes one.
    words = int(message.total_size.word_count) + 1
    return bytes(message.copy(num_first_segment_words=words).to_bytes())


def message_bytes(head: bytes, what: str, limit: int) -> int:
    """The length of a message, head included, from its head. Raises `PackageError`."""
    if len(head) < HEAD_BYTES:
        raise PackageError(f"{what} is cut off: it has only {len(head)} bytes")
    more, words = np.frombuffer(head[:HEAD_BYTES], "<u4").tolist()
    size = HEAD_BYTES + WORD * words
    if more != 0:
        raise PackageError(f"{what} is no file of tilewright's: it does not begin like one")
    if size > limit:
        raise PackageError(f"{what} has a message of {size:,} bytes; the limit is {limit:,}")
    return int(size)


def tables_message(content: Content, what: str) -> bytes:
    """The message in a blob. Raises `PackageError` if it is too long."""
    size = content.nbytes if isinstance(content, np.ndarray | memoryview) else len(content)
    if size > MAX_TABLES:
        raise PackageError(f"{what} has {size:,} bytes; the limit is {MAX_TABLES:,}")
    return bytes(content)


@contextmanager
def decoding(kind: Any, data: bytes, what: str, faults: FaultList) -> "Iterator[Reader]":
    """The root of a message. Whatever is wrong with the message is a `PackageError`.

    Everything is read once, so that the message's own size limits what a hostile one can make us
    read.
    """
    if message_bytes(data[:HEAD_BYTES], what, len(data)) != len(data):
        raise PackageError(f"{what} has bytes after the end of its message")
    words = len(data) // WORD
    try:
        with kind.from_bytes(data, traversal_limit_in_words=words, nesting_limit=_NESTING) as root:
            yield Reader(root, "", faults)
    except (capnp.KjException, UnicodeDecodeError) as error:
        raise PackageError(f"{what} is malformed: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """What Cap'n Proto says, without the place in its own source and the stack."""
    line = str(error).splitlines()[0] if str(error) else type(error).__name__
    return line.rpartition("failed: ")[2].rpartition("; ")[2]


class Reader:
    """Reads the fields of a struct; `path` says where the struct is."""

    def __init__(self, struct: Any, path: str, faults: FaultList) -> None:
        self._struct = struct
        self.path = path
        self.faults = faults

    def at(self, name: str) -> str:
        """The path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def number(self, name: str) -> int:
        return int(self._get(name))

    def flag(self, name: str) -> bool:
        return bool(self._get(name))

    def data(self, name: str) -> bytes:
        return bytes(self._get(name))

    def text(self, name: str) -> str:
        return str(self._get(name))

    def member(self, name: str, kind: type[EnumT]) -> EnumT:
        """A value of an enumeration; the first one, and a fault, for one that is unknown."""
        value = int(self._get(name).raw)
        if value in kind.__members__.values():
            return kind(value)
        self.faults.add(self.at(name), f"unknown value {value}")
        return next(iter(kind))

    def child(self, name: str) -> "Reader":
        return Reader(self._get(name), self.at(name), self.faults)

    def optional(self, name: str) -> "Reader | None":
        return self.child(name) if self._struct._has(camel(name)) else None

    def items(self, name: str, limit: int) -> "Iterator[Reader]":
        """The structs of a list; none, and a fault, if there are more than `limit`."""
        for index, item in enumerate(self._list(name, limit)):
            yield Reader(item, f"{self.at(name)}[{index}]", self.faults)

    def texts(self, name: str, limit: int) -> tuple[str, ...]:
        return tuple(map(str, self._list(name, limit)))

    def column(self, name: str, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        data = self.data(name)
        extra = len(data) % dtype.itemsize
        if extra:
            self.faults.add(self.at(name), f"{len(data)} bytes are no whole number of {dtype.name}")
        return np.frombuffer(data, dtype, len(data) // dtype.itemsize)

    def table(self, kind: type[TableT], name: str | None = None) -> TableT:
        """The table of a field, or of this struct; an empty one, and a fault, if it is uneven."""
        reader = self if name is None else self.child(name)
        columns = {each: reader.column(each, dtype) for each, dtype in kind.columns().items()}
        lengths = {each: len(values) for each, values in columns.items()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{each} {length}" for each, length in lengths.items())
            self.faults.add(reader.path, f"the columns differ in length: {shown}")
            return kind()
        return kind(**columns)

    def _get(self, name: str) -> Any:
        return getattr(self._struct, camel(name))

    def _list(self, name: str, limit: int) -> Any:
        found = self._get(name)
        if len(found) <= limit:
            return found
        self.faults.add(self.at(name), f"{len(found):,} entries; the limit is {limit:,}")
        return ()


def put_table(builder: Any, table: Table) -> None:
    """Write the columns of a table to the fields of a struct."""
    for name in table.columns():
        setattr(builder, camel(name), getattr(table, name).tobytes())


@cache
def camel(name: str) -> str:
    """The name of a field in a schema."""
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))
