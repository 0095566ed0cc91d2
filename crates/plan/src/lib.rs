//! Name resolution and optimiser of Latchwork.
