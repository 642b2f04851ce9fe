"""Finding and running the vendor's compiler, with a stand-in, and reading what it makes."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tilewright.elf.archive import write_archive
from tilewright.elf.popc import PopcError, compile_with_popc, find_popc, object_in_container
from tilewright.elf.writer import write_object

if TYPE_CHECKING:
    from tests.elf.conftest import ObjectMaker

Maker = type["ObjectMaker"]

VARIABLES = ("TILEWRIGHT_POPC", "POPLAR_SDK_ENABLED", "POPLAR_SDK")


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment in which there is no popc, apart from the tools of a shell."""
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    return monkeypatch


@pytest.fixture
def frames() -> Any:
    return pytest.importorskip("lz4.frame")


@pytest.fixture
def archive(maker: Maker) -> bytes:
    one = maker("kernel.o")
    one.function("kernel")
    return write_archive([("kernel_ipu21.o", write_object(one.file))])


def executable(path: Path, script: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script)
    path.chmod(0o755)
    return path


def container(
    compress: Callable[[bytes], bytes], archive: bytes, metadata: bytes = b"metadata"
) -> bytes:
    """A container whose archive is split into two frames."""
    half = len(archive) // 2
    first = compress(archive[:half]) + compress(archive[half:])
    second = compress(metadata)
    sizes = (len(archive), len(first), len(metadata), len(second))
    return b"GC_EXE_3" + b"".join(size.to_bytes(8, "little") for size in sizes) + first + second


def test_nothing_found_tells_where_it_looked(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nowhere.setenv("POPLAR_SDK", str(tmp_path))
    with pytest.raises(PopcError) as caught:
        find_popc()
    assert str(caught.value).splitlines() == [
        "the compiler popc was not found; looked at:",
        "  $TILEWRIGHT_POPC, which is not set",
        "  $POPLAR_SDK_ENABLED, which is not set",
        f"  $POPLAR_SDK, but {tmp_path}/bin/popc is not an executable file",
        "  PATH, which has no popc",
        "Install the Poplar SDK and enable it, or set TILEWRIGHT_POPC to the path of popc.",
    ]


def test_places_in_order(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    on_path = executable(tmp_path / "path" / "popc")
    nowhere.setenv("PATH", str(on_path.parent))
    assert find_popc() == on_path
    sdk = executable(tmp_path / "sdk" / "bin" / "popc")
    nowhere.setenv("POPLAR_SDK", str(tmp_path / "sdk"))
    assert find_popc() == sdk
    enabled = executable(tmp_path / "enabled" / "bin" / "popc")
    nowhere.setenv("POPLAR_SDK_ENABLED", str(tmp_path / "enabled"))
    assert find_popc() == enabled
    own = executable(tmp_path / "mine")
    nowhere.setenv("TILEWRIGHT_POPC", str(own))
    assert find_popc() == own


def test_compile(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, frames: Any, archive: bytes
) -> None:
    output, arguments = tmp_path / "made.gp", tmp_path / "arguments"
    output.write_bytes(container(frames.compress, archive))
    script = f"""#!/bin/sh
printf '%s\\n' "$@" > {arguments}
for last; do :; done
cp {output} "$last"
"""
    monkeypatch.setenv("TILEWRIGHT_POPC", str(executable(tmp_path / "popc", script)))
    source = tmp_path / "kernel.cpp"
    made = compile_with_popc(
        source, defines={"WIDTH": 4, "NAME": "x"}, include_dirs=[tmp_path / "include"]
    )
    assert [symbol.name for symbol in made.symbols] == ["kernel"]
    assert made.name == f"{source}(kernel_ipu21.o)"
    given = arguments.read_text().splitlines()
    assert given[:-1] == [
        "--target",
        "ipu21",
        "-O2",
        "-DWIDTH=4",
        "-DNAME=x",
        f"-I{tmp_path}/include",
        str(source),
        "-o",
    ]
    assert given[-1].endswith("/out.gp")
    assert not Path(given[-1]).exists()


def test_failure_shows_what_the_compiler_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = "#!/bin/sh\necho 'kernel.cpp:3: no such type' >&2\nexit 3\n"
    monkeypatch.setenv("TILEWRIGHT_POPC", str(executable(tmp_path / "popc", script)))
    with pytest.raises(PopcError, match=r"status 3: .*kernel\.cpp.*\nkernel\.cpp:3: no such type"):
        compile_with_popc(tmp_path / "kernel.cpp")


def test_success_without_output(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILEWRIGHT_POPC", str(executable(tmp_path / "popc")))
    with pytest.raises(PopcError, match="wrote no output"):
        compile_with_popc(tmp_path / "kernel.cpp")


def test_a_file_that_is_no_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = executable(tmp_path / "popc", "#!/nowhere/shell\n")
    monkeypatch.setenv("TILEWRIGHT_POPC", str(path))
    with pytest.raises(PopcError, match="cannot run"):
        compile_with_popc(tmp_path / "kernel.cpp")


def test_missing_lz4_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(PopcError, match=r"pip install 'tilewright\[popc\]'"):
        object_in_container(container(lambda data: data, b"!<arch>\n"), "out.gp")


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (b"no archive", "the container holds no archive"),
        (b"!<arch>\n", "expected one object in the container, found none"),
    ],
)
def test_unexpected_content(frames: Any, archive: bytes, message: str) -> None:
    with pytest.raises(PopcError, match=message):
        object_in_container(container(frames.compress, archive), "out.gp")


def test_two_objects(frames: Any, maker: Maker) -> None:
    member = write_object(maker("one.o").file)
    archive = write_archive([("a.o", member), ("b.o", member)])
    with pytest.raises(PopcError, match=r"found out\.gp\(a\.o\), out\.gp\(b\.o\)"):
        object_in_container(container(frames.compress, archive), "out.gp")


def test_damaged_containers(frames: Any, archive: bytes) -> None:
    good = container(frames.compress, archive)
    size = len(archive)
    wrong_size = good[:8] + (size + 1).to_bytes(8, "little") + good[16:]
    too_small = good[:8] + (size - 1).to_bytes(8, "little") + good[16:]
    for data, message in (
        (b"\x7fELF", "not a vendor container"),
        (good[:20], "cut off"),
        (good[:-1], "cut off"),
        (wrong_size, f"the archive has {size} bytes, expected {size + 1}"),
        (too_small, f"the archive has {size} bytes, expected {size - 1}"),
        (good[:8] + b"\xff" * 8 + good[16:], "claims an archive of"),
        (good[:40] + bytes(len(good) - 40), "damaged"),
    ):
        with pytest.raises(PopcError, match=message):
            object_in_container(data, "out.gp")
