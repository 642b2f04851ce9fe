"""From a `ComputeGraph` to programs of tiles: plans (`mid`), what tiles do (`low`), where it lies
(`place`). Emission is to come."""
