//! NUMBER, DATE, values, identifiers and errors of the Latchwork database.
