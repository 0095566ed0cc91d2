//! A runner for sqllogictest files that recognises other SQL dialects by rules.
//!
//! A record in Oracle's SQL must give the file's answer. One in another dialect ([`dialect`]) must be refused with the
//! error that Oracle gives, and is then translated to Oracle's SQL if a rule can do so, so that the file can continue
//! and the answer is still compared.

pub mod dialect;
pub mod records;
pub mod run;
