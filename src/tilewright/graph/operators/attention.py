"""Scaled dot-product attention."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.graph.faults import EvaluationError, OperatorError
from tilewright.graph.operator import (
    Array,
    Formula,
    float_format,
    register,
    require_rank,
    softmax,
)
from tilewright.graph.types import DType, ValueType, show_shape


@register
@dataclass(frozen=True, slots=True)
class Attention(Formula):
    """softmax(`scale` · q · kᵀ) · v for each head.

    q, k and v are heads × tokens × size, after any batch axes. With `causal`, a query sees the keys
    up to its own place. `key_counts`, an I32 for each batch entry, from 1 to the number of keys,
    says how many of the first keys count. There is no other mask.
    """

    scale: float
    causal: bool = False

    mnemonic = "attention"
    roles = ("q", "k", "v", "key_counts")
    optional = 1

    def infer(self, operands: Sequence[ValueType]) -> ValueType:
        q, k, v, *counts = operands
        for role, each in zip("qkv", (q, k, v), strict=True):
            require_rank(each, role, 3)
        format = float_format(q, k, v)
        if not math.isfinite(self.scale):
            raise OperatorError(f"the scale must be finite, found {self.scale}")
        if not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
            raise OperatorError(
                "q, k and v need the same batch axes and heads (all but the last 2)"
            )
        if q.shape[-1] != k.shape[-1]:
            raise OperatorError(f"q has heads of size {q.shape[-1]}, k of size {k.shape[-1]}")
        if k.shape[-2] != v.shape[-2]:
            raise OperatorError(f"k has {k.shape[-2]} tokens, v has {v.shape[-2]}")
        if self.causal and q.shape[-2] != k.shape[-2]:
            raise OperatorError(
                f"causal attention needs as many keys as queries, found {k.shape[-2]} keys and "
                f"{q.shape[-2]} queries"
            )
        for each in counts:
            _check_counts(each, q)
        return ValueType(format, (*q.shape[:-1], v.shape[-1]))

    def evaluate(self, operands: Sequence[Array]) -> Array:
        q, k, v, *counts = operands
        queries, keys = q.shape[-2], k.shape[-2]
        visible = np.tri(queries, keys, dtype=bool) if self.causal else np.full((1, 1), True)
        if counts:
            within = _within(counts[0], keys)
            visible = visible & within
            # What lies past the count takes no part, were it NaN.
            v = np.where(np.swapaxes(within, -1, -2), v, 0)
        scores = np.where(visible, (q @ np.swapaxes(k, -1, -2)) * self.scale, -np.inf)
        return np.asarray(softmax(scores) @ v)


def _check_counts(counts: ValueType, q: ValueType) -> None:
    if counts.dtype is not DType.I32:
        raise OperatorError(f"key_counts must be I32, found {counts.dtype.name}")
    if counts.shape != q.shape[:-3]:
        raise OperatorError(
            f"key_counts needs the shape {show_shape(q.shape[:-3])}, the batch axes of q"
        )


def _within(counts: Array, keys: int) -> Array:
    """Which keys count: batch axes, then 1 × 1 × `keys`."""
    if np.any(counts < 1) or np.any(counts > keys):
        raise EvaluationError(f"key_counts must lie in 1 to {keys}, found {counts.tolist()}")
    return np.asarray(np.arange(keys) < counts[..., None, None, None])
