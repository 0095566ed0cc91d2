//! Contention laboratory of Latchwork.
