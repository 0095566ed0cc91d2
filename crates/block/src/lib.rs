//! Block formats of Latchwork data files.
