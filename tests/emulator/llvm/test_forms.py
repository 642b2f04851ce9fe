"""Every form that a worker may execute: it translates, and does what the reference engine does."""

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tilewright.emulator.llvm.control import FloatControl
from tilewright.emulator.llvm.host import this_host
from tilewright.emulator.llvm.translate import translate
from tilewright.isa import FORMS, Form, Lane, Mode

if TYPE_CHECKING:
    from tests.emulator.llvm.conftest import Lockstep

CODE = 0x50000
EXIT = 0x43F04000
WORKER_FORMS = [form for form in FORMS if form.mode is not Mode.SUPERVISOR]
STRAIGHT = [
    form
    for form in WORKER_FORMS
    if not form.is_control
    and form.mnemonic not in ("trap", "get", "put", "uget", "uput")
    and not form.mnemonic.startswith(("ld", "st"))
]
_GROUP = 8
GROUPS = [STRAIGHT[first : first + _GROUP] for first in range(0, len(STRAIGHT), _GROUP)]
CONTROLS = [0, 1 << 20, 1 << 19, 0x3_0000, 0x12_0000, 7]
"""Plain, NANOO, stochastic, and directions of rounding; the last enables exceptions."""


@pytest.mark.parametrize("form", WORKER_FORMS, ids=lambda form: form.name.replace(" ", "-"))
def test_every_form_translates(lockstep: "Lockstep", form: Form) -> None:
    word = lockstep.random_word(np.random.default_rng(form.index), form)
    code = {CODE: word, CODE + 4: EXIT}
    translation = translate(CODE, lambda address: code.get(address, 0), FloatControl(), this_host())
    assert translation.words[CODE] == word


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group[0].mnemonic)
@pytest.mark.parametrize("seed", range(2))
def test_forms_one_after_the_other(lockstep: "Lockstep", group: list[Form], seed: int) -> None:
    """Solo and, where they can be, with an integer half beside them."""
    generator = np.random.default_rng(1000 * seed + group[0].index)
    add = next(form for form in FORMS if form.name == "add m,m,m")
    words: list[int] = []
    for form in group:
        if form.lane is Lane.AUX and seed:
            words.append(lockstep.random_word(generator, add, coissue=True))
            words.append(lockstep.random_word(generator, form, coissue=True))
        else:
            words.append(lockstep.random_word(generator, form))
    control = CONTROLS[int(generator.integers(len(CONTROLS)))]
    formats, scale = generator.integers(0, 4), generator.choice([0, 1, 0x3D])
    for run in range(12):
        state = lockstep.random_state(generator, plain=run % 3 == 0, control=control)
        state["workers"][2]["number_format"] = formats
        state["workers"][2]["number_scale"] = scale
        lockstep.run([*words, EXIT], state)
