//! Serves the pages on which duplicates are reviewed and acted on.
