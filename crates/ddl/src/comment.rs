//! COMMENT ON.

use crate::work::{Work, no_column};
use dictionary::base::{Base, com};
use dictionary::rows::{as_u32, int, text};
use dictionary::*;
use sql::ast::{CommentOn, Name};
use types::{Ora, Result, Value};

/// The longest comment, in bytes.
const LENGTH_MAX: usize = 4000;

pub fn comment(work: &mut Work<'_>, statement: &CommentOn) -> Result<()> {
    let CommentOn { on_column, name: _, text: comment, pos } = statement;
    let mut name: Name = statement.name.clone();
    let column = if *on_column { name.parts.pop() } else { None };
    if name.parts.is_empty() {
        return Err(Ora::new(1748).at(statement.name.pos.0));
    }
    let target = work.target(&name)?;
    let kinds = [ObjectKind::Table, ObjectKind::View];
    let found = work.names.object(Some(&target.owner_name), &target.name, ObjectKind::Table.namespace());
    let found = found.filter(|object| kinds.contains(&object.kind)).map(|object| object.object);
    let object = found.ok_or_else(|| Ora::new(942).at(target.pos))?;
    work.require(&target, None, SystemPrivilege::CommentAnyTable)?;
    let position = match column {
        None => 0,
        Some(column) => {
            let columns = work.image.columns(object)?;
            let at = columns.iter().position(|have| have.name == column.name && !have.hidden);
            at.ok_or_else(|| no_column(&column))? + 1
        }
    };
    if comment.len() > LENGTH_MAX {
        return Err(Ora::new(1704).at(pos.0));
    }
    let mine = |row: &[Value]| as_u32(&row[com::COL]) as usize == position;
    work.change().delete_by(Base::Com, crate::work::by(com::OBJ, object).and(&mine))?;
    if comment.is_empty() {
        return Ok(());
    }
    work.change().insert(Base::Com, &[int(object.0), int(position as i64), text(comment.as_str())])
}
