//! Row sources of Latchwork.
