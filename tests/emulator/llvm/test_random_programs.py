"""Straight-line programs drawn at random: solo instructions and bundles of all worker forms."""

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.examples import examples
from tilewright.isa import FORMS, Lane, Mode

if TYPE_CHECKING:
    from tests.emulator.llvm.conftest import Lockstep

EXIT = 0x43F04000
FORMS_DRAWN = [form for form in FORMS if form.mode is not Mode.SUPERVISOR and not form.is_control]
MAIN = [form for form in FORMS_DRAWN if form.lane is Lane.MAIN and not form.is_solo]
AUX = [form for form in FORMS_DRAWN if form.lane is Lane.AUX]
CONTROLS = [0, 0, 1 << 20, 1 << 19, 3 << 19 | 7, 7, 2 << 16]

seeds = st.integers(0, (1 << 32) - 1)


def _program(lockstep: "Lockstep", generator: np.random.Generator) -> list[int]:
    words: list[int] = []
    for _ in range(int(generator.integers(1, 7))):
        if generator.integers(0, 2):
            for forms in (MAIN, AUX):
                form = forms[int(generator.integers(len(forms)))]
                words.append(lockstep.random_word(generator, form, coissue=True))
        else:
            form = FORMS_DRAWN[int(generator.integers(len(FORMS_DRAWN)))]
            words.append(lockstep.random_word(generator, form))
    return [*words, EXIT]


@examples(120, allow=[HealthCheck.function_scoped_fixture])
@given(seed=seeds)
def test_random_programs(lockstep: "Lockstep", seed: int) -> None:
    generator = np.random.default_rng(seed)
    program = _program(lockstep, generator)
    control = CONTROLS[int(generator.integers(len(CONTROLS)))]
    formats, scale = generator.integers(0, 4), generator.choice([0, 0, 1, 0x20, 0x3D])
    for run in range(6):
        words = lockstep.plain_words if run % 2 else lockstep.random_words
        state = lockstep.random_state(generator, plain=run % 2 == 1, control=control)
        state["workers"][2]["number_format"] = formats
        state["workers"][2]["number_scale"] = scale
        lockstep.run(program, state, words(generator, 256).tobytes())


@examples(15)
@given(seed=seeds)
def test_random_repeats(lockstep: "Lockstep", seed: int) -> None:
    """Bundles in a loop, so that registers go round."""
    generator = np.random.default_rng(seed)
    forms = {form.name: form for form in FORMS}
    bundles = int(generator.integers(1, 4))
    words = [lockstep.random_word(generator, forms["add m,m,m"])]
    words += list(np.frombuffer(lockstep.content(f"nop\nrpt 9, {bundles - 1}"), np.uint32)[1:2])
    for _ in range(bundles):
        for drawn in (MAIN, AUX):
            allowed = [form for form in drawn if not (form.is_control or form.is_system)]
            form = allowed[int(generator.integers(len(allowed)))]
            words.append(lockstep.random_word(generator, form, coissue=True))
    for run in range(6):
        state = lockstep.random_state(generator, plain=run % 2 == 1)
        lockstep.run([*map(int, words), EXIT], state, b"")
