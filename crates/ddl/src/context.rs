//! Application contexts: CREATE and DROP CONTEXT.

use crate::work::{Target, Work, by};
use dictionary::base::{Base, context};
use dictionary::rows::{int, text};
use dictionary::{Catalog, ObjectKind, SystemPrivilege, UserId};
use sql::ast::{CreateContext, DropObject};
use types::{Ora, Result};

/// Namespaces that belong to the database.
const RESERVED: &[&str] = &["CLIENTCONTEXT", "USERENV"];

/// CREATE CONTEXT. The package need not exist.
pub fn create(work: &mut Work<'_>, create: &CreateContext) -> Result<()> {
    let CreateContext { or_replace, name, package, global, pos } = create;
    if !work.names.has(SystemPrivilege::CreateAnyContext) {
        return Err(Ora::new(1031).at(pos.0));
    }
    if RESERVED.contains(&name.name.as_str()) {
        return Err(Ora::new(955).at(name.pos.0));
    }
    if name.name.starts_with("SYS_") {
        return Err(Ora::new(28265).at(name.pos.0));
    }
    let target = Target { owner: UserId::SYS, owner_name: "SYS".into(), name: name.name.clone(), pos: name.pos.0 };
    let old = work.image.find(UserId::SYS, ObjectKind::Context, &target.name).map(|object| object.object);
    let object = match old {
        Some(object) if *or_replace => {
            work.change().delete_by(Base::Context, by(context::OBJ, object))?;
            object
        }
        Some(_) => return Err(Ora::new(955).at(target.pos)),
        None => {
            let object = work.new_object();
            work.insert_object(object, None, &target, ObjectKind::Context)?;
            object
        }
    };
    let schema = package.qualifier().map_or_else(|| work.names.schema().1, str::to_owned);
    work.change()
        .insert(Base::Context, &[int(object.0), text(schema), text(package.last()), int(u8::from(*global))])?;
    Ok(())
}

/// DROP CONTEXT. Sessions keep the values that they have, and the rows of a context that is accessed globally stay
/// until the next start of the instance: no context has its number again.
pub fn drop(work: &mut Work<'_>, drop: &DropObject) -> Result<()> {
    if !work.names.has(SystemPrivilege::DropAnyContext) {
        return Err(Ora::new(1031).at(drop.pos.0));
    }
    let found = work.image.find(UserId::SYS, ObjectKind::Context, drop.name.last()).map(|object| object.object);
    let object = found.ok_or_else(|| Ora::with(4043, &[&drop.name.last()]).at(drop.name.pos.0))?;
    work.change().delete_by(Base::Context, by(context::OBJ, object))?;
    work.delete_object(object)
}
