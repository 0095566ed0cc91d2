//! Transactions, undo and consistent gets of Latchwork.
