"""From a `ComputeGraph` to programs of tiles: plans (`mid`); lowering and placement are to come."""
