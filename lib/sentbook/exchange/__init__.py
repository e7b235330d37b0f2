"""The playground's encoders, and scores of a reader's own, until both have left the package."""
