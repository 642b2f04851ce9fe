"""The small model that most tests of frontends use."""

from tilewright.frontend import SeededModel

SMALL = SeededModel(layers=2, width=32, heads=4, inner=48, positions=40, most_tokens=40)
TEXTS = ("one text", "another, which is longer: it has more words", "x", "of the a")
