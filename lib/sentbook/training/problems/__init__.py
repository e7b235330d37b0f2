"""Problems: what a training asks of an encoder, one file each."""
