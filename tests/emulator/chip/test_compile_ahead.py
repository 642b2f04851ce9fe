"""What is compiled ahead is what phases call."""

import subprocess
import sys

PROGRAM = """
import sys
from tilewright.emulator.chip import Chip

def compiled():
    return {
        (module, name): set(each.signatures)
        for module in list(sys.modules) if module.startswith("tilewright.emulator")
        for name, each in vars(sys.modules[module]).items() if hasattr(each, "signatures")
    }

Chip(4).compile_ahead()
ahead = compiled()
from tests.emulator.chip.test_host_packets import test_host_to_tile, test_tile_to_host
from tests.exchange.on_chip import assert_carried_out
from tilewright.exchange import ExchangePhase, Transfer, encode, schedule
test_host_to_tile()
test_tile_to_host()
alone = Transfer(0, 0x60000, 600, ((64, 0x70000),))
multicast = Transfer(1, 0x60000, 3, ((0, 0x70000), (66, 0x70000)))
phase = ExchangePhase.of([alone, multicast])
assert_carried_out(phase, encode(schedule(phase)))
added = {key: found - ahead.get(key, set()) for key, found in compiled().items()}
print(sorted(key for key, found in added.items() if found))
print(len(ahead) > 10)
"""


def test_phases_find_all_compiled() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert ran.stdout.splitlines() == ["[]", "True"], ran.stderr
