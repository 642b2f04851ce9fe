"""What planning remembers between graphs of one process."""

from tilewright.codegen.mid import conversions, distributions, layout, rows, storage
from tilewright.codegen.mid.operators import gemm, gemm_scan, pointwise


def forget() -> None:
    """Plan the next graph from nothing, as a new process would: for timing."""
    for remembered in (
        conversions.conversions,
        distributions.rows_format,
        distributions.spread_format,
        distributions.words_format,
        distributions.broadcast_format,
        distributions.kept_axes,
        layout.resolve,
        rows.received_runs,
        storage.view_indices,
        storage.keeps_words,
        storage.moves_whole_words,
        gemm.scanned_recipes,
        gemm_scan.part_counts,
        gemm_scan.batch_splits,
        gemm_scan.all_grids,
        pointwise.covers_base,
    ):
        remembered.cache_clear()
