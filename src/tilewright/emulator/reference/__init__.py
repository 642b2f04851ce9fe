"""The reference engine: meanings run with plain numbers, one instruction at a time.

Slow, complete, and the measure of the fast engine.
"""
