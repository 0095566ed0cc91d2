//! A runner for sqllogictest files, with what is not Oracle's language told apart by rule.
//!
//! A record that is Oracle's language must give the file's answer. One that is not ([`dialect`]) must be refused with
//! the error that Oracle gives, and is then put into Oracle's words where a rule knows how, so that the file can go on
//! and the answer is still compared.

pub mod dialect;
pub mod records;
pub mod run;
