"""How a package file is laid out, and how large it may be. Offsets and sizes are in bytes.

    manifest: a Cap'n Proto message of one segment
    its SHA-256
    blob 0, blob 1, …: each at a multiple of 64, zeros between them; the file ends with the last

Where blobs lie follows from their sizes alone, so that they can neither overlap nor leave gaps.
"""

from tilewright.package.blobs import ALIGNMENT, DIGEST_BYTES

MAX_FILE = 1 << 32
MAX_MANIFEST = 28 << 20
"""Such that reading and checking the worst one takes less than 100 MB."""


def blobs_start(manifest: int) -> int:
    """Where the first blob starts behind a manifest of this length, its head included."""
    return -(-(manifest + DIGEST_BYTES) // ALIGNMENT) * ALIGNMENT
