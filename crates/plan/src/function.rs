//! Scalar functions in the planner.

use functions::FnDef;

/// A scalar function, bound when the statement is compiled.
#[derive(Clone, Copy)]
pub struct Func(pub &'static FnDef);

impl Func {
    /// TO_CHAR of a timestamp or interval, with the precision of its type as an argument.
    pub fn of_digits() -> Func {
        Func(functions::lookup(functions::TO_CHAR_OF_DIGITS).expect("the function is listed"))
    }

    /// The function that makes a locator of a LOB column.
    pub fn locator() -> Func {
        Func(functions::lookup(functions::LOCATOR).expect("the function is listed"))
    }

    /// An operation over XML.
    pub fn xml() -> Func {
        Func(functions::lookup(functions::XML).expect("the function is listed"))
    }

    /// SYS_EXTRACT_UTC.
    pub fn sys_extract_utc() -> Func {
        Func(functions::lookup("SYS_EXTRACT_UTC").expect("the function is listed"))
    }
}

/// Whether a statement may call a function of this name.
pub fn exists(name: &str) -> bool {
    functions::is_named(name)
}

impl PartialEq for Func {
    fn eq(&self, other: &Func) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl std::fmt::Debug for Func {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name)
    }
}
