//! Client library of Latchwork.
