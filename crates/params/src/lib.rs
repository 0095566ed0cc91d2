//! Initialisation parameters of Latchwork.
