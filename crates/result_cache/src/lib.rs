//! The result cache of Latchwork.
