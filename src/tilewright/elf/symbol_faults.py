"""Messages on symbols that are undefined or defined twice, and on objects that do not match."""

from collections.abc import Iterable, Iterator, Sequence

from tilewright.elf.faults import LinkError, link_error
from tilewright.elf.inputs import Definition, InputFile, InputSection

_MOST_PLACES_SHOWN = 4


def symbol_error(
    files: Sequence[InputFile],
    kept: Sequence[InputSection],
    undefined: Sequence[str],
    overridden: Iterable[str],
) -> LinkError | None:
    """One error on all undefined and all duplicate symbols, `None` if there are none.

    `files` take part in the link; `kept` are the sections whose references count. `overridden`
    names have a value from the caller, so it does not matter how often they are defined.
    """
    faults = [_undefined(name, kept) for name in undefined]
    faults += _duplicates(files, frozenset(overridden))
    return link_error("symbols that cannot be resolved", faults) if faults else None


def check_architectures(files: Iterable[InputFile]) -> int:
    """The architecture of all objects; those that name none fit any. Raises `LinkError`."""
    first: InputFile | None = None
    for file in files:
        if file.architecture == 0:
            continue
        if first is None:
            first = file
        elif file.architecture != first.architecture:
            raise LinkError(
                f"{first.name} is for architecture {first.architecture:#04x}, "
                f"but {file.name} for {file.architecture:#04x}; they cannot be linked together"
            )
    return first.architecture if first else 0


def _undefined(name: str, kept: Sequence[InputSection]) -> str:
    users = [
        str(section)
        for section in kept
        if any(reference.name == name for reference in section.references)
    ]
    if not users:
        return f"undefined symbol {name}, which was asked for as an entry or to be kept"
    return f"undefined symbol {name}, which {_join(users)} {_refer(users)} to"


def _refer(users: Sequence[str]) -> str:
    return "refers" if len(users) == 1 else "refer"


def _duplicates(files: Sequence[InputFile], overridden: frozenset[str]) -> Iterator[str]:
    strong: dict[str, list[Definition]] = {}
    for file in files:
        for definition in file.definitions:
            if not definition.is_weak and definition.symbol.name not in overridden:
                strong.setdefault(definition.symbol.name, []).append(definition)
    for name, definitions in strong.items():
        if len(definitions) > 1 and not _are_one_constant(definitions):
            places = _join([str(definition) for definition in definitions])
            yield f"duplicate symbol {name}, which is defined by {places}"


def _are_one_constant(definitions: Sequence[Definition]) -> bool:
    """Objects may define the same absolute symbol, as a shared header makes them do."""
    if any(definition.section is not None for definition in definitions):
        return False
    value = definitions[0].symbol.value
    return all(definition.symbol.value == value for definition in definitions)


def _join(places: Sequence[str]) -> str:
    shown = list(places[:_MOST_PLACES_SHOWN])
    if len(places) > len(shown):
        shown.append(f"{len(places) - len(shown)} more")
    if len(shown) == 1:
        return shown[0]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"
