"""Trained encoders outside this package: a folder that holds one whole, sentence-transformers, streams.

Imported late, piece by piece: `sentbook.exchange.sentence_transformer` knows a package that is optional.
"""
