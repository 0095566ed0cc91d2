//! Heap tables of Latchwork.
