"""Candidates of each operator of the graph."""
