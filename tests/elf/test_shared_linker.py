"""Many links by one linker: the same as links on their own, whatever the hash seed."""

import random
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tilewright.elf.image import Image
from tilewright.elf.linker import Linker, LinkError
from tilewright.elf.linkmap import map_text
from tilewright.elf.object import Binding, ObjectFile, SectionFlag
from tilewright.elf.relocations import RelocationType
from tilewright.elf.writer import write_object

if TYPE_CHECKING:
    from tests.elf.conftest import ObjectMaker

Maker = type["ObjectMaker"]

CODE = SectionFlag.ALLOC | SectionFlag.EXECINSTR
ABS_32 = RelocationType.ABS_32


def describe(image: Image) -> tuple[object, ...]:
    """Everything that can be seen of an image."""
    return (image.segments, image.symbol_list, map_text(image), write_object(image.to_object()))


class TestSharedLinker:
    """Links that share a linker give the same as links on their own."""

    def library(self, maker: Maker) -> list[ObjectFile]:
        """Kernels that call each other, a hook that a tile may override, one that it must give."""
        files = []
        for number in range(4):
            one = maker(f"library{number}.o")
            for kernel in range(5):
                callees = [f"kernel_{number}_{kernel - 1}"] if kernel else ["hook", "given"]
                if number:
                    callees.append(f"kernel_{number - 1}_{kernel}")
                local = one.define(
                    "state", one.section(f".data.{kernel}", size=12), binding=Binding.LOCAL
                )
                name = one.function(f"kernel_{number}_{kernel}", *callees, local, words=9 + kernel)
                one.stack_size(name, 8, own=True)
            files.append(one.file)
        hook = maker("hook.o")
        hook.define("hook", hook.words(".text.hook", 1, flags=CODE), binding=Binding.WEAK)
        hook.define("end", hook.words(".data.end", 0))
        hook.refer(hook.file.sections[-1], 0, ABS_32, "__image_end")
        return [*files, hook.file]

    def tile(self, maker: Maker, seed: int) -> ObjectFile:
        dice = random.Random(seed)
        names = [f"kernel_{dice.randrange(4)}_{dice.randrange(5)}" for _ in range(3)]
        one = maker(f"tile{seed}.o")
        one.function("_start", *names, words=dice.randint(4, 40))
        if seed % 3 == 0:
            one.function("hook")
        if seed % 4 == 0:
            one.refer(one.file.sections[0], 4, RelocationType.ABS_20, "end")
        if seed % 5 != 2:
            one.function("given", words=dice.randint(1, 4))
        else:
            one.absolute("given", 0x50000 + 4 * seed)
        return one.file

    @pytest.mark.parametrize("as_archive", [False, True])
    def test_same_images(self, maker: Maker, as_archive: bool) -> None:
        library = self.library(maker)
        shared = Linker(archives=library) if as_archive else Linker(library)
        tiles = [self.tile(maker, seed) for seed in (*range(20), *range(20))]
        for tile in tiles:
            fresh = Linker(archives=library) if as_archive else Linker(library)
            image = shared.link([tile])
            assert describe(image) == describe(fresh.link([tile]))
            assert image.contents.keys() == image.layout.addresses.keys()

    def test_library_objects_are_like_objects_placed_first(self, maker: Maker) -> None:
        library = self.library(maker)
        shared = Linker(library)
        for seed in range(20):
            tile = self.tile(maker, seed)
            assert describe(shared.link([tile])) == describe(Linker().link([*library, tile]))

    def test_a_failed_link_leaves_no_trace(self, maker: Maker) -> None:
        library = self.library(maker)
        shared = Linker(library)
        broken = maker("tile.o")
        broken.function("_start", "kernel_0_0", "gone")
        with pytest.raises(LinkError, match="undefined symbol given"):
            shared.link([broken.file])
        tile = self.tile(maker, 1)
        out_of_range = self.tile(maker, 1)
        out_of_range.sections[0].relocations[0].addend = 0x200000
        with pytest.raises(LinkError, match="19_S2 reaches"):
            shared.link([out_of_range])
        assert describe(shared.link([tile])) == describe(Linker(library).link([tile]))

    def test_inputs_stay_as_they_are(self, maker: Maker) -> None:
        library = self.library(maker)
        tile = self.tile(maker, 3)
        before = [write_object(file) for file in (*library, tile)]
        Linker(library).link([tile])
        assert [write_object(file) for file in (*library, tile)] == before


HASHED_PROGRAM = """
import hashlib, random
from tilewright.cli.bench import link as bench
from tilewright.elf.linker import Linker, LinkError
from tilewright.elf.linkmap import map_text
from tilewright.elf.writer import write_object

library = bench.kernel_library()
digest = hashlib.sha256()
linker = Linker(library[:5], archives=library[5:])
for tile in range(8):
    image = linker.link([bench.tile_program(tile)], keep=["kernel_3"])
    digest.update(write_object(image.to_object()))
    digest.update(map_text(image).encode())
try:
    Linker(library[5:]).link([bench.tile_program(0)], keep=["lost", "gone"])
except LinkError as error:
    digest.update(str(error).encode())
print(digest.hexdigest())
"""


def test_results_do_not_depend_on_the_hash_seed() -> None:
    digests = set()
    for seed in ("0", "1", "2"):
        result = subprocess.run(
            [sys.executable, "-c", HASHED_PROGRAM],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(result.stdout)
    assert len(digests) == 1
