//! Change vectors of Latchwork.
