//! Data definition statements of Latchwork.
