//! Shared statement entries of Latchwork.
