//! Latches, mutexes and versioned reads with the full statistics of Oracle latches.
