//! X$ and V$ views of Latchwork.
