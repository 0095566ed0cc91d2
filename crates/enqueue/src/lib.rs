//! Queued locks with modes and deadlock detection.
