//! SQL*Plus-compatible shell of Latchwork.
