//! Functions of package STANDARD: those that SQL has too.

use functions::FnDef;
use types::{DataType, Result};

/// Whether SQL has a function of that name. Those of packages are named with their package and are not STANDARD's.
pub fn exists(name: &str) -> bool {
    !name.contains('.') && functions::is_named(name)
}

/// The function and the type of its result for arguments of these types.
pub fn resolve(name: &str, args: &[DataType]) -> Result<Option<(&'static FnDef, DataType)>> {
    let Some(f) = functions::lookup(name) else { return Ok(None) };
    f.check_args(args.len())?;
    let ty = f.return_type(args)?;
    Ok(Some((f, ty)))
}
