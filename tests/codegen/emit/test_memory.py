"""Plans of large models, and whether their data find places on a tile."""

from tilewright.cli.examples import EXAMPLES
from tilewright.codegen.emit.memory import FIRST_DATA, NOWHERE, place_buffers
from tilewright.codegen.low import BufferKind, lower
from tilewright.codegen.mid import KernelPolicy, PipelineConfig, plan


def test_weights_of_twelve_layers_find_places() -> None:
    """Of one product they are one piece, and most need interleaved memory."""
    config = PipelineConfig(policy=KernelPolicy.BUILD)
    schedule = lower(plan(EXAMPLES["siglip"](), config).graph)
    addresses = place_buffers(schedule).addresses
    weights = [each.id for each in schedule.buffers if each.kind is BufferKind.SOURCE]
    assert len(weights) >= 12 * 12
    placed = addresses[weights]
    assert (placed[placed != NOWHERE] >= FIRST_DATA).all()
