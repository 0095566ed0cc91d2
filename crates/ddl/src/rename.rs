//! RENAME old TO new.

use crate::partition_rows;
use crate::work::{Target, Work};
use dictionary::ObjectKind;
use dictionary::base::obj;
use dictionary::rows::text;
use sql::ast::Ident;
use types::{Ora, Result};

/// Renames a table, view, sequence or private synonym of the own schema.
pub fn rename(work: &mut Work<'_>, from: &Ident, to: &Ident) -> Result<()> {
    // CURRENT_SCHEMA may be another user's schema.
    let owner = work.session.user;
    let owner_name = work.image.user_name(owner);
    let found = work.image.object_named(owner, ObjectKind::Table.namespace(), &from.name);
    let kinds = [ObjectKind::Table, ObjectKind::View, ObjectKind::Sequence, ObjectKind::Synonym];
    let object = found.filter(|object| kinds.contains(&object.kind)).map(|object| (object.object, object.kind));
    let (object, kind) = object.ok_or_else(|| Ora::with(4043, &[&from.name]).at(from.pos.0))?;
    if object.0 < dictionary::FIRST_USER_OBJECT {
        return Err(Ora::new(701).at(from.pos.0));
    }
    let target = Target { owner, owner_name, name: to.name.clone(), pos: to.pos.0 };
    work.require_new(&target, kind)?;
    if kind == ObjectKind::Table {
        if work.existing_table(object)?.options.materialized {
            return Err(Ora::new(32318).at(from.pos.0));
        }
        work.lock(object)?;
        let parts = work.image.table(object)?.map_or(Vec::new(), |table| partition_rows::objects_of(&table));
        partition_rows::rename(work, &parts, &target.name)?;
    }
    work.note_redefined(object);
    work.update_object(object, &mut |row| row[obj::NAME] = text(target.name.as_str()))
}
