"""Plans of large models, and whether their data find places on a tile, apart where they must be."""

import numpy as np
import pytest

from tilewright.cli.examples import EXAMPLES
from tilewright.codegen.emit.addresses import buffer_addresses
from tilewright.codegen.emit.memory import FIRST_DATA, NOWHERE, place_buffers
from tilewright.codegen.low import Buffer, BufferKind, TileSchedule, lower
from tilewright.codegen.mid import KernelPolicy, PipelineConfig, plan
from tilewright.codegen.mid.orders import Indices
from tilewright.graph import ComputeGraph
from tilewright.target.geometry import ELEMENT_SIZE, MEMORY_BASE, REGION1_BASE


def memory_elements(address: int, size: int) -> set[int]:
    """In region 1 two of them are interleaved, and act as one."""
    numbers = range(
        (address - MEMORY_BASE) // ELEMENT_SIZE,
        (address + size - 1 - MEMORY_BASE) // ELEMENT_SIZE + 1,
    )
    first = (REGION1_BASE - MEMORY_BASE) // ELEMENT_SIZE
    return {each if each < first else first + (each - first) // 2 for each in numbers}


def places(schedule: TileSchedule, addresses: Indices, buffer: Buffer) -> set[int]:
    """Memory elements of a buffer; of a sequence's current block, those of all its blocks."""
    block = buffer.block
    of = [
        each
        for each in schedule.buffers
        if each is buffer
        or (
            block is not None
            and block.number is None
            and each.block is not None
            and each.block.sequence == block.sequence
        )
    ]
    placed = [each for each in of if addresses[each.id] != NOWHERE]
    return set().union(*(memory_elements(int(addresses[each.id]), each.bytes) for each in placed))


def test_what_is_kept_apart_from_a_block_is_so_in_each_iteration() -> None:
    schedule = lower(plan(EXAMPLES["minilm-8"](), PipelineConfig()).graph)
    buffers = {each.id: each for each in schedule.buffers}
    moving = [
        pair
        for pair in schedule.apart
        if any((block := buffers[each].block) is not None and block.number is None for each in pair)
    ]
    assert moving
    for seed in range(3):
        addresses = place_buffers(schedule, seed=seed).addresses
        for pair in moving:
            one, other = (places(schedule, addresses, buffers[each]) for each in pair)
            assert one
            assert other
            assert not one & other


def test_weights_of_twelve_layers_find_places() -> None:
    """Of one product they are one piece, and most need interleaved memory."""
    config = PipelineConfig(policy=KernelPolicy.BUILD)
    schedule = lower(plan(EXAMPLES["siglip"](), config).graph)
    addresses = place_buffers(schedule).addresses
    weights = [each.id for each in schedule.buffers if each.kind is BufferKind.SOURCE]
    assert len(weights) >= 12 * 12
    placed = addresses[weights]
    assert (placed[placed != NOWHERE] >= FIRST_DATA).all()


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 0, 1)])
@pytest.mark.parametrize("is_used", [True, False])
def test_blocks_lie_in_the_order_of_iterations(order: tuple[int, ...], is_used: bool) -> None:
    """Which is not always that in which the values were made."""
    graph = ComputeGraph("blocks")
    values = [graph.gelu(graph.input(f"v{number}", (4, 2))) for number in range(3)]
    start = graph.input("x", (4, 2))
    with graph.repeat(len(order)) as body:
        carried, value = body.carry(start), body.each([values[each] for each in order])
        body.yields(graph.tanh(carried + value if is_used else carried))
    graph.output("y", body.result)
    graph.output("first", values[0])
    schedule = lower(plan(graph, PipelineConfig(tiles=1)).graph)
    addresses = place_buffers(schedule).addresses
    (sequence,) = schedule.sequences
    current = buffer_addresses(schedule, addresses)[sequence.blocks[-1]]
    assert current.step > 0 or not is_used
    if is_used:
        expected = current.base + current.step * np.arange(len(order))
        assert addresses[list(sequence.blocks[:-1])].tolist() == expected.tolist()
