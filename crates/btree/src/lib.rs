//! B-tree indexes of Latchwork.
