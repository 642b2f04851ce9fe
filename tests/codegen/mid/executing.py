"""Runs the dispatch of products and attention tile by tile: what each holds, and nothing else.

An interpreter of its own: it knows formats by `Layout.coordinates` only, multiplies what a tile's
shards hold, and fails if a tile would need an element that it has not.
"""

import numpy as np
from numpy.typing import NDArray

from tilewright.codegen.mid import (
    Gather,
    KernelCall,
    Loop,
    OperatorDispatch,
    Scatter,
    Slot,
    Step,
    Storage,
)
from tilewright.graph.operators import Reshape

Array = NDArray[np.float64]


class TileRun:
    """Slots as shards, while steps run.

    `transposed`: the product's operands' flags; in attention, those of the scores. `scale` is for
    calls with a fused scale.
    """

    def __init__(
        self,
        dispatch: OperatorDispatch,
        operands: list[Array],
        transposed: tuple[bool, bool] = (False, False),
    ) -> None:
        self.slots = {slot.name: slot for slot in dispatch.slots}
        self.transposed = transposed
        self.attends = "scores" in self.slots
        self.shards = {
            slot.name: np.full(
                (slot.storage.format.tiles, slot.storage.layout.shard_elements), np.nan
            )
            for slot in dispatch.slots
        }
        for index, array in enumerate(operands):
            slot = self.slots[f"operand {index}"]
            self.shards[slot.name] = slot.storage.layout.pack(_to_base(slot.storage, array))
        self.window = 0
        for step in dispatch.steps:
            self.run(step)

    def result(self) -> Array:
        storage = self.slots["result"].storage
        return storage.layout.unpack(self.shards["result"]).reshape(storage.shape)

    def run(self, step: Step) -> None:
        if isinstance(step, Loop):
            for self.window in range(step.count):
                for each in step.body:
                    self.run(each)
        elif isinstance(step, Gather):
            for source, target in step.moves:
                self.gather(source, target)
        elif isinstance(step, Scatter):
            self.scatter(step)
        elif step.kernel.startswith("gemm"):
            self.multiply(step)
        elif step.kernel.startswith("cast"):
            self.shards[step.result] = self.shards[step.operands[0]].copy()
        elif step.kernel == "copy":
            pass  # the tile's own piece of what `gather` filled
        elif step.kernel.startswith("softmax"):
            self.softmax(step)
        else:
            self.add(step)
        if isinstance(step, KernelCall) and "scale" in step.fused:
            (scale,) = step.numbers
            self.shards[step.result] *= scale

    def gather(self, source: str, target: str) -> None:
        origin = self.slots[source].storage
        value = origin.layout.unpack(self.shards[source]).reshape(origin.shape)
        storage = self.slots[target].storage
        filled = storage.layout.pack(_to_base(storage, value))
        group = self.slots[target].tiles
        window = self.window if self.slots[target].steps > 1 else 0
        now = slice(window * group, (window + 1) * group)
        self.shards[target][now] = filled[now]

    def held(self, name: str, tile: int) -> Array:
        """The slot's tensor as far as a tile has it; NaN elsewhere."""
        slot = self.slots[name]
        window = self.window if slot.steps > 1 else 0
        number = window * slot.tiles + tile
        layout = slot.storage.layout
        coordinates, here = layout.coordinates(
            np.full(layout.shard_elements, number), np.arange(layout.shard_elements)
        )
        array = np.full(layout.shape, np.nan)
        array[tuple(each[here] for each in coordinates)] = self.shards[name][number][here]
        return array

    def store(self, name: str, tile: int, array: Array, onto: bool = False) -> None:
        """What a tile holds of the slot, taken from `array`."""
        layout = self.slots[name].storage.layout
        coordinates, here = layout.coordinates(
            np.full(layout.shard_elements, tile), np.arange(layout.shard_elements)
        )
        values = array[tuple(each[here] for each in coordinates)]
        assert not np.isnan(values).any(), f"tile {tile} lacks something for {name}"
        before = self.shards[name][tile][here] if onto else 0.0
        self.shards[name][tile][here] = before + values

    def multiply(self, call: KernelCall) -> None:
        target = self.slots[call.result]
        orders = [self.slots[name].storage for name in call.operands]
        swapped = target.storage.format.order.is_transposed
        a_name, b_name = reversed(call.operands) if swapped else call.operands
        assert len(orders) == 2
        for tile in range(target.tiles):
            a, b = self.held(a_name, tile), self.held(b_name, tile)
            of_scores = call.result.startswith("scores") or not self.attends
            a = np.swapaxes(a, -1, -2) if self.transposed[0] and of_scores else a
            b = np.swapaxes(b, -1, -2) if self.transposed[1] and of_scores else b
            self.store(call.result, tile, _product(a, b), onto=self.window > 0)

    def scatter(self, step: Scatter) -> None:
        """Each owner receives the other terms of what it will own."""
        source, arriving = self.slots[step.source], self.slots[step.arriving]
        terms: dict[int, list[Array]] = {}
        for tile in range(source.tiles):
            terms[tile] = [
                self.held(step.source, other) for other in self._with_same_parts(source, tile)
            ]
        for tile in range(arriving.tiles):
            self.store(step.arriving, tile, np.stack(terms[tile]))

    def _with_same_parts(self, slot: Slot, tile: int) -> list[int]:
        layout = slot.storage.layout
        tiles = np.arange(slot.tiles)
        parts = np.array(layout.tile_parts(tiles))
        same = np.all(parts == parts[:, tile : tile + 1], axis=0)
        return [int(other) for other in tiles[same] if other != tile]

    def add(self, call: KernelCall) -> None:
        arriving = [name for name in call.operands if name.endswith("arriving")]
        for tile in range(self.slots[call.result].tiles):
            total = self.held(call.operands[0], tile)
            for name in arriving:
                total = total + self.held(name, tile).sum(axis=0)
            self.store(call.result, tile, total)

    def softmax(self, call: KernelCall) -> None:
        """On every row of which the tile has the first element; it must have the others."""
        (scale,) = call.numbers or (1.0,)
        for tile in range(self.slots[call.result].tiles):
            scores = self.held(call.operands[0], tile)
            rows = ~np.isnan(scores[..., 0])
            weights = np.exp(scale * scores[rows])
            scores[rows] = weights / weights.sum(axis=-1, keepdims=True)
            self.store(call.result, tile, scores)


def _product(a: Array, b: Array) -> Array:
    """Over the inner elements that the tile has of both; NaN where it has not all of these."""
    here_a = ~np.isnan(a).all(axis=tuple(range(a.ndim - 1)))
    here_b = ~np.isnan(b).all(axis=(*range(b.ndim - 2), b.ndim - 1))
    inner = here_a & here_b
    assert not a.size or inner.any() or not (here_a.any() and here_b.any())
    return a[..., inner] @ b[..., inner, :]


def _to_base(storage: Storage, array: Array) -> Array:
    views = storage.view.operators if storage.view is not None else ()
    assert all(isinstance(view, Reshape) for view in views)
    return array.reshape(storage.base)
