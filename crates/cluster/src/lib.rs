//! Hash clusters of Latchwork.
