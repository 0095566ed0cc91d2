//! The buffer cache of Latchwork.
