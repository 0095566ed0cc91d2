//! Wait events and statistics of Latchwork.
