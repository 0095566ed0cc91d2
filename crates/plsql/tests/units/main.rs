//! Units of PL/SQL over a mock database: one program, since each compiles the machine for its world anew.

mod language;
mod mock;
mod sql;
