"""Sources, readers, text, word vectors and the mini-world. Nothing here imports a later room."""
