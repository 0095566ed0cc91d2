//! The data dictionary of Latchwork.
