//! Sums what the files in each directory occupy, what could be reclaimed there, and how much they have grown.
