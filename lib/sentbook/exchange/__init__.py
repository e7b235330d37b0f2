"""Trained encoders outside this package: a folder that holds one whole, sentence-transformers, MTEB, streams.

Imported late, piece by piece: `sentbook.exchange.sentence_transformer` and `.mteb` know packages that are optional.
"""
