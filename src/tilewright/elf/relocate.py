"""Relocation of placed sections: the value of each reference, written into the section's bytes."""

from collections.abc import Callable, Iterable, Mapping

from tilewright.elf.faults import LinkError, link_error
from tilewright.elf.inputs import Definition, InputSection, Reference
from tilewright.elf.relocations import RelocationError, relocation_name

_MOST_FAULTS_SHOWN = 20


class Values:
    """The addresses that references stand for, once sections are placed."""

    def __init__(
        self,
        addresses: Mapping[InputSection, int],
        definition: Callable[[str], Definition | None],
        supplied: Mapping[str, int],
    ) -> None:
        """`definition` gives what a name takes; `supplied` has names that the linker defines.

        Other names are undefined weak ones: 0.
        """
        self.addresses = addresses
        self._definition = definition
        self._supplied = supplied
        self._names: dict[str, int | None] = {}

    def of_reference(self, reference: Reference) -> int | None:
        """The value of its symbol; `None` if that lies in a section that is not loaded."""
        if reference.name:
            return self.of_name(reference.name)
        if reference.section is None:
            return reference.symbol.value
        base = self.addresses.get(reference.section)
        return None if base is None else base + reference.symbol.value

    def of_name(self, name: str) -> int | None:
        """The value of a global name; `None` if it lies in a section that is not loaded."""
        if name not in self._names:
            self._names[name] = self._find(name)
        return self._names[name]

    def _find(self, name: str) -> int | None:
        definition = self._definition(name)
        if definition is None:
            return self._supplied.get(name, 0)
        if definition.section is None:
            return definition.symbol.value
        base = self.addresses.get(definition.section)
        return None if base is None else base + definition.symbol.value


def relocate(
    each: InputSection, data: bytearray, references: Iterable[Reference], values: Values
) -> list[str]:
    """Apply `references` to `data`, the content of the section `each`; returns the faults."""
    faults = []
    for reference in references:
        try:
            _apply(reference, data, values)
        except RelocationError as error:
            faults.append(_describe(each, reference, values, str(error)))
    return faults


def relocation_error(faults: list[str]) -> LinkError:
    """The error for all faults of a link."""
    return link_error("relocations that cannot be applied", faults, _MOST_FAULTS_SHOWN)


def _apply(reference: Reference, data: bytearray, values: Values) -> None:
    rule = reference.rule
    if rule is None:
        raise RelocationError(f"there is no relocation {relocation_name(reference.type)}")
    if not 0 <= reference.offset <= len(data) - rule.width:
        raise RelocationError(
            f"{rule.name} changes {rule.width} bytes, which are outside the section's {len(data)}"
        )
    value = values.of_reference(reference)
    if value is None:
        raise RelocationError(f"{rule.name} of a symbol in a section that is not loaded")
    rule.apply(data, reference.offset, value + reference.addend)


def _describe(each: InputSection, reference: Reference, values: Values, reason: str) -> str:
    place = f"{each.file_name}: {each.section.name}+{reference.offset:#x}"
    base = values.addresses.get(each)
    if base is not None and reference.offset >= 0:
        place += f" (at {base + reference.offset:#x})"
    addend = f"{reference.addend:+#x}" if reference.addend else ""
    value = values.of_reference(reference)
    target = "" if value is None else f", which is at {value:#x}"
    return f"{place}: {reason}, for {reference}{addend}{target}"
