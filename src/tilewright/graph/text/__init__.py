"""The text form of graphs: printing, and parsing back to an equal graph."""

from tilewright.graph.text.parser import parse_graph
from tilewright.graph.text.printer import print_graph

__all__ = ["parse_graph", "print_graph"]
