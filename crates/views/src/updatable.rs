//! `x$kkvcol`, the base of `dba_updatable_columns`: the columns of views that DML may change.

use crate::column::{Row, Type, Type::*, n, t, yes};
use dictionary::base::{Base, obj};
use dictionary::rows::{as_text, as_u32};
use dictionary::{DictionaryShared, ObjectKind, UserId};
use exec::ExecCtx;
use types::Result;

pub const COLUMNS: &[(&str, Type)] =
    &[("OBJ#", N), ("NAME", V(128)), ("UPDATABLE", V(3)), ("INSERTABLE", V(3)), ("DELETABLE", V(3))];

/// A row for each column of a user's view. The view is compiled as for a DML statement on it; a view that does not
/// compile has no rows.
pub fn columns(cx: &mut ExecCtx<'_>, dictionary: &DictionaryShared) -> Result<Vec<Row>> {
    let mut views = Vec::new();
    dictionary.scan_once(cx.p, Base::Obj, &mut |_, row| {
        if as_u32(&row[obj::TYPE]) == ObjectKind::View as u32 {
            views.push((as_u32(&row[obj::OBJ]), as_u32(&row[obj::OWNER]), as_text(&row[obj::NAME]).to_owned()));
        }
        Ok(())
    })?;
    let mut rows = Vec::new();
    for (object, owner, name) in views {
        cx.p.check_cancel()?;
        for c in exec::updatable_columns(cx, UserId(owner), &name)? {
            rows.push(vec![n(object), t(&c.name), yes(c.updatable), yes(c.insertable), yes(c.deletable)]);
        }
    }
    Ok(rows)
}
