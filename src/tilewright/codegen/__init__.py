"""From a `ComputeGraph` to programs of tiles: where everything lies in SRAM (`place`)."""
