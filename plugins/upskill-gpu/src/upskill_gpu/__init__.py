"""Checks for GPU kernels that need no GPU: the builder's own parser, the real compiler, and a simulator."""
