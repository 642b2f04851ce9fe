"""From a `ComputeGraph` to programs of tiles: planned (`mid`); lowering and placement are to come."""
