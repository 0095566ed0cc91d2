//! PL/SQL units over a mock database: one program, because each test program compiles the machine for its world again.

mod language;
mod mock;
mod packages;
mod sql;
