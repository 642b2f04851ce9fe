"""Models from files: checkpoints of encoders of the BERT family, as a graph with parameters.

    checkpoint = load_checkpoint("all-MiniLM-L6-v2")
    texts = checkpoint.tokenise(["A sentence.", "And another, which is longer."])
    graph, parameters = encoder_graph(checkpoint, batch=2, tokens=texts.tokens)
    outputs = evaluate(graph, encoder_inputs(checkpoint, texts, 2, texts.tokens), parameters)
    vectors = sentence_vectors(checkpoint, outputs, texts.counts)

See docs/frontend.md.
"""

from tilewright.frontend.checkpoint import Checkpoint, load_checkpoint
from tilewright.frontend.config import Activation, EncoderConfig
from tilewright.frontend.encoder import encoder_graph
from tilewright.frontend.faults import CheckpointError, TextError
from tilewright.frontend.host import encoder_inputs, look_up, sentence_vectors
from tilewright.frontend.installed import SENTENCE_MODEL, find_installed_checkpoint
from tilewright.frontend.modules import Pooling, SentenceModel
from tilewright.frontend.reference import reference_hidden, reference_vectors
from tilewright.frontend.seeded import SeededModel, write_seeded_checkpoint
from tilewright.frontend.tokenising import TextTokeniser, TokenBatch

__all__ = [  # noqa: RUF022 - grouped by subject, not sorted
    # checkpoints
    "Checkpoint",
    "load_checkpoint",
    "find_installed_checkpoint",
    "SENTENCE_MODEL",
    "EncoderConfig",
    "Activation",
    "SentenceModel",
    "Pooling",
    # from a checkpoint to a graph
    "encoder_graph",
    # on the host
    "TextTokeniser",
    "TokenBatch",
    "encoder_inputs",
    "look_up",
    "sentence_vectors",
    # what results are held against
    "reference_hidden",
    "reference_vectors",
    # small models without a download
    "SeededModel",
    "write_seeded_checkpoint",
    # errors
    "CheckpointError",
    "TextError",
]
