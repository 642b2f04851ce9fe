"""The C preprocessor for `.S` files: pcpp, taught to leave plain lines alone.

`$` is no identifier character, so `#define OUT m4` turns `$OUT` into `$m4`. pcpp reads one token at
a time, which is slow, and most lines of a kernel hold nothing for it. So runs of text between
directives reach it as single opaque tokens; only when such a run is about to be expanded, with the
macros of that very moment known, are the lines that mention one split into tokens.
"""

import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import pcpp

from tilewright.elf.asm.diagnostics import Diagnostics, Place
from tilewright.elf.asm.source import (
    STRING,
    Line,
    Origin,
    UnterminatedComment,
    blank_comments,
    blank_hash_comment,
)
from tilewright.target.geometry import ARCHITECTURE_VERSION

INCLUDE_FOLDER = Path(str(resources.files("tilewright.elf").joinpath("include")))
"""Our own headers, searched after the user's folders."""

_EXPECTED_FILE = '#include expects "file" or <file>'

PREDEFINED = {"__IPU__": "1", "__IPU_ARCH_VERSION__": str(ARCHITECTURE_VERSION)}

_DIRECTIVE = re.compile(r"\s*#")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_DYNAMIC_MACROS = frozenset({"__LINE__", "__FILE__", "__COUNTER__"})
_RAW = "TILEWRIGHT_RAW"
_ODD_BREAKS = re.compile(rf"{STRING}|[\v\f\x1c-\x1e\x85\u2028\u2029]")
"""What Python takes for the end of a line, and editors do not."""
_BRACKETS = re.compile(rf"{STRING}|'(?:\\.|[^'\\\n])*'|[()]")

_DEPTH = {"(": 1, ")": -1}

MAX_INCLUDE_DEPTH = 100
"""Files included inside each other; more means that one includes itself."""


def preprocess(
    text: str,
    name: str,
    include_folders: Sequence[Path],
    defines: Mapping[str, str],
    diagnostics: Diagnostics,
) -> list[Line]:
    """The lines of `text` after preprocessing, empty ones left out.

    `name` is the file's path, for messages and for includes beside it. Faults go to `diagnostics`.
    """
    preprocessor = _Preprocessor(name, diagnostics)
    for folder in (*include_folders, INCLUDE_FOLDER):
        preprocessor.add_path(str(folder))
    for macro, value in {**PREDEFINED, **defines}.items():
        preprocessor.define(f"{macro} {value}")
    return preprocessor.lines(text)


class _Preprocessor(pcpp.Preprocessor):
    """pcpp with opaque runs, faults as diagnostics, and knowledge of who included what."""

    def __init__(self, name: str, diagnostics: Diagnostics) -> None:
        super().__init__()
        self._name = name
        self._diagnostics = diagnostics
        self._texts: dict[str, list[str]] = {}
        self._includers: dict[str, Line] = {}
        self.rewrite_paths: list[tuple[str, str]] = []  # files keep their names
        for moment in ("__DATE__", "__TIME__"):  # builds are deterministic
            self.undef(moment)

    def lines(self, text: str) -> list[Line]:
        source = os.path.abspath(self._name)
        self.parse(self._read(source, text), self._name)
        try:
            return [line for line in self._output_lines() if not line.text.isspace()]
        except (IndexError, AttributeError, TypeError):  # how pcpp meets a directive cut short
            self._report_directive(f"malformed #{self.lastdirective.value}")
            return []

    # -- reading ------------------------------------------------------------------------------

    def add_path(self, path: str) -> None:
        """Search a folder. pcpp would also rename all files in it, under which we know texts."""
        self.path.append(path)

    def _read(self, path: str, text: str) -> str:
        text = _ODD_BREAKS.sub(lambda match: match[0] if match[0][0] == '"' else " ", text)
        self._texts[path] = text.splitlines()
        try:
            return blank_comments(text, hash_starts_comment=False)
        except UnterminatedComment as error:
            self.on_error(path, error.number, "this comment has no end (*/)")
            return ""

    def on_file_open(self, is_system_include: bool, includepath: str) -> io.StringIO:
        if self.include_depth > MAX_INCLUDE_DEPTH:
            line = self._line(self.lastdirective.source, self.lastdirective.lineno)
            message = f"includes are nested more than {MAX_INCLUDE_DEPTH} deep; is this endless?"
            self._diagnostics.fatal(message, Place(line, *_extent(line.text)))
        with open(includepath, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
        directive = self.lastdirective
        self._includers[includepath] = self._line(directive.source, directive.lineno)
        return io.StringIO(self._read(includepath, text))

    def group_lines(self, input: str, abssource: str) -> Iterator[list[Any]]:
        """Directives as tokens; each run of other lines as one opaque token."""
        run: list[str] = []
        lines = input.splitlines()
        number = 0
        while number < len(lines):
            if not _DIRECTIVE.match(lines[number]):
                run.append(lines[number])
                number += 1
                continue
            if run:
                yield [self._raw("\n".join(run) + "\n", abssource, number - len(run) + 1)]
                run = []
            end = number + 1
            while lines[end - 1].rstrip().endswith("\\") and end < len(lines):
                end += 1
            directive = "\n".join(lines[number:end])
            yield self._tokens(directive + "\n", abssource, number + 1)
            number = end
        if run:
            yield [self._raw("\n".join(run) + "\n", abssource, number - len(run) + 1)]

    def _tokens(self, text: str, source: str, number: int) -> list[Any]:
        """All lines of `text` as one list of tokens: a continued directive is one line."""
        tokens = []
        for line in super().group_lines(text, source):
            for token in line:
                token.lineno += number - 1
            tokens.extend(line)
        return tokens

    def _raw(self, text: str, source: str, number: int) -> Any:
        token = pcpp.parser.lex.LexToken()
        token.type, token.value, token.source, token.lineno = _RAW, text, source, number
        token.lexpos = 0
        return token

    # -- directives ---------------------------------------------------------------------------

    def define(self, tokens: Any) -> None:
        if not isinstance(tokens, str) and tokens and tokens[0].type != self.t_ID:
            self._report_directive("#define needs a name")
            return
        super().define(tokens)

    def include(self, tokens: list[Any], original_line: list[Any]) -> Iterator[Any]:
        if not tokens:
            self._report_directive(_EXPECTED_FILE)
            return
        yield from super().include(tokens, original_line)

    def evalexpr(self, tokens: list[Any]) -> tuple[int, list[Any] | None]:
        if not tokens:
            self._report_directive(f"#{self.lastdirective.value} needs an expression")
            return 0, None
        value: tuple[int, list[Any] | None] = super().evalexpr(tokens)
        return value

    # -- expanding ----------------------------------------------------------------------------

    def expand_macros(self, tokens: list[Any], expanding_from: Sequence[str] = ()) -> list[Any]:
        # It changes and returns the list that it is given.
        expand: Callable[[list[Any], list[str]], list[Any]] = super().expand_macros
        if not any(token.type == _RAW for token in tokens):
            return expand(tokens, list(expanding_from))
        names = self.macros.keys() | _DYNAMIC_MACROS
        expanded: list[Any] = []
        pending: list[Any] = []
        depth = 0
        for token in tokens:
            for piece in self._split(token, names) if token.type == _RAW else [token]:
                is_raw = piece.type == _RAW
                if is_raw and not (pending and (depth or piece.value.lstrip().startswith("("))):
                    expanded += expand(pending, list(expanding_from))
                    expanded.append(piece)
                    pending, depth = [], 0
                    continue
                # The arguments of a call may go on past a conditional directive.
                for each in self._tokens_of(piece) if is_raw else [piece]:
                    depth = max(depth + _DEPTH.get(each.value, 0), 0)
                    pending.append(each)
        return expanded + expand(pending, list(expanding_from))

    def _tokens_of(self, run: Any) -> list[Any]:
        return self._tokens(run.value, run.source, run.lineno)

    def _split(self, run: Any, names: Iterable[str]) -> Iterator[Any]:
        """An opaque run as opaque stretches, and tokens where a line mentions a macro."""
        names = frozenset(names)
        if names.isdisjoint(_IDENTIFIER.findall(run.value)) and "\\\n" not in run.value:
            yield run
            return
        lines = run.value.splitlines(keepends=True)
        start = 0
        while start < len(lines):
            end = start
            while end < len(lines) and not _needs_tokens(lines[end], names):
                end += 1
            if end > start:
                yield self._raw("".join(lines[start:end]), run.source, run.lineno + start)
            start, end = end, _end_of_call(lines, end)
            if end > start:
                text = "".join(lines[start:end])
                yield from self._tokens(text, run.source, run.lineno + start)
            start = end

    # -- writing ------------------------------------------------------------------------------

    def _output_lines(self) -> Iterator[Line]:
        pending: list[Any] = []
        while (token := self.token()) is not None:
            if token.type == _RAW:
                if pending:
                    yield self._joined(pending)
                    pending = []
                for offset, text in enumerate(token.value.splitlines()):
                    yield self._line(token.source, token.lineno + offset, blank_hash_comment(text))
            else:
                pending.append(token)
                if token.value.endswith("\n"):
                    yield self._joined(pending)
                    pending = []
        if pending:
            yield self._joined(pending)

    def _joined(self, tokens: Sequence[Any]) -> Line:
        text = blank_hash_comment("".join(token.value for token in tokens).rstrip("\n"))
        first = tokens[0]
        written = self._texts[first.source][first.lineno - 1]
        line = self._line(first.source, first.lineno, text.replace("\n", " "))
        line.is_rewritten = not written.startswith(line.text.rstrip())
        return line

    def _line(self, source: str, number: int, text: str | None = None) -> Line:
        includer = self._includers.get(source)
        if text is None:
            texts = self._texts.get(source, [])
            text = texts[number - 1] if 0 < number <= len(texts) else ""
        origin = Origin("included", includer) if includer else None
        return Line(text, self._shown(source), number, origin)

    def _shown(self, source: str) -> str:
        """The path as the user would write it: as given, or relative to the current folder."""
        if source == os.path.abspath(self._name):
            return self._name
        relative = os.path.relpath(source)
        return source if relative.startswith("..") else relative

    # -- faults -------------------------------------------------------------------------------

    def _report_directive(self, message: str) -> None:
        self.on_error(self.lastdirective.source, self.lastdirective.lineno, message)

    def on_error(self, file: str, line: int, msg: str) -> None:
        shown = self._line(file, line)
        self._diagnostics.error(msg.strip(), Place(shown, *_extent(shown.text)))

    def on_include_not_found(
        self, is_malformed: bool, is_system_include: bool, curdir: str, includepath: str
    ) -> None:
        if is_malformed:
            message = _EXPECTED_FILE
        else:
            own = [] if is_system_include else [folder or "." for folder in self.temp_path[:1]]
            folders = ", ".join([*own, *self.path])
            message = f"include file '{includepath}' not found; looked in {folders}"
        self._report_directive(message)
        raise pcpp.OutputDirective(pcpp.Action.IgnoreAndRemove)

    def on_directive_unknown(
        self, directive: Any, toks: Sequence[Any], ifpassthru: bool, precedingtoks: Sequence[Any]
    ) -> bool | None:
        if directive.value == "error":
            text = "".join(token.value for token in toks)
            self.on_error(directive.source, directive.lineno, f"#error {text}")
            return True
        if directive.value == "warning":
            line = self._line(directive.source, directive.lineno)
            text = "".join(token.value for token in toks)
            self._diagnostics.warn(f"#warning {text}", Place(line, *_extent(line.text)))
            return True
        if directive.value == "pragma":
            return True
        return None  # `# like this` is a comment to the assembler


def _needs_tokens(line: str, names: frozenset[str]) -> bool:
    return line.endswith("\\\n") or not names.isdisjoint(_IDENTIFIER.findall(line))


def _end_of_call(lines: Sequence[str], start: int) -> int:
    """The line after the one that closes the parentheses open in line `start`.

    The arguments of a function-like macro may go over several lines, or start on a later one.
    """
    depth, end = 0, start
    while end < len(lines):
        depth = _open_parentheses(lines[end], depth)
        continued = lines[end].endswith("\\\n")
        end += 1
        if depth or continued:
            continue
        following = next((each for each in range(end, len(lines)) if lines[each].strip()), end)
        if following == len(lines) or not lines[following].lstrip().startswith("("):
            break
        end = following
    return end


def _open_parentheses(line: str, depth: int) -> int:
    """How many parentheses are open after a line, with `depth` of them open before it."""
    for match in _BRACKETS.finditer(line):
        if match[0] == "(":
            depth += 1
        elif match[0] == ")":
            depth = max(depth - 1, 0)
    return depth


def _extent(text: str) -> tuple[int, int]:
    start = len(text) - len(text.lstrip())
    return start, max(len(text.rstrip()), start + 1)
