"""The cycle profile of a run, from the samples that its tiles sent."""

import numpy as np
from numpy.typing import NDArray

from tilewright.package import Application, Profile, ProfilePlan
from tilewright.target.timing import CLOCK


def profile_of(
    application: Application, plan: ProfilePlan, stream: NDArray[np.uint8], digest: bytes
) -> Profile:
    """The profile whose samples are the stream of the plan's tensor.

    `digest` is that of the package. Samples follow the order of the plan's tiles, wherever the
    shards of the tensor are in the stream.
    """
    shards = application.shards_of(application.tensor_number(plan.tensor))
    order = np.argsort(shards.tile, kind="stable")
    parts = [
        stream[offset : offset + size]
        for offset, size in zip(
            shards.offset[order].tolist(), shards.size[order].tolist(), strict=True
        )
    ]
    samples = np.concatenate([np.zeros(0, np.uint8), *parts]).view("<u4")
    return Profile(plan.steps, samples, CLOCK.value, digest, application.producer)
