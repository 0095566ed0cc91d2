//! Data files of Latchwork.
