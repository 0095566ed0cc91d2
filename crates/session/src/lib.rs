//! Sessions and calls of Latchwork.
