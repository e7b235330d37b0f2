"""sentbook: re-runnable experiments on sentence embeddings and semantic similarity."""

__version__ = "0.1.0"
