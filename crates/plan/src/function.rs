//! Scalar functions as the planner sees them.

use crate::ir::Expr;
use types::{DataType, Ora, Result};

/// A scalar function, bound when the statement is compiled.
#[derive(Clone, Copy)]
pub struct Func(pub &'static str);

impl Func {
    /// Finds the function, converts the arguments to the types it takes and gives the type of its result.
    pub fn resolve(name: &str, _args: Vec<Expr>, _places: &[u32], pos: u32) -> Result<(Func, Vec<Expr>, DataType)> {
        Err(Ora::with(904, &[&format!("\"{name}\"")]).at(pos))
    }
}

pub fn exists(_name: &str) -> bool {
    false
}

impl PartialEq for Func {
    fn eq(&self, other: &Func) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl std::fmt::Debug for Func {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}
