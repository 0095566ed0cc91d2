//! Functions of package STANDARD that SQL has as well.

use functions::FnDef;
use types::{DataType, Result};

/// Whether SQL has a function with that name. Functions of packages have the package in their name and are not in
/// STANDARD.
pub fn exists(name: &str) -> bool {
    !name.contains('.') && functions::is_named(name)
}

/// The function and the type of its result for arguments of these types.
pub fn resolve(name: &str, args: &[DataType]) -> Result<Option<(&'static FnDef, DataType)>> {
    let Some(f) = functions::lookup(name) else { return Ok(None) };
    f.check_args(args.len())?;
    if args.contains(&DataType::Bfile) {
        return Err(types::Ora::with(932, &[&"-", &DataType::Bfile.name()]));
    }
    let ty = f.return_type(args)?;
    Ok(Some((f, ty)))
}
