//! CREATE VIEW.

use crate::columns;
use crate::host::Outcome;
use crate::work::{Target, Work, by};
use dictionary::base::{Base, col, objauth, view};
use dictionary::image::property;
use dictionary::rows::{as_u32, blank, int, text};
use dictionary::*;
use sql::ast::CreateView;
use types::{ObjectId, Ora, Result};

pub fn create(work: &mut Work<'_>, create: &CreateView) -> Result<Outcome> {
    let CreateView {
        or_replace: _,
        force,
        name: _,
        columns: _,
        query: _,
        text: _,
        read_only: _,
        check_option,
        bequeaths: _,
        pos: _,
    } = create;
    let target = work.target(&create.name)?;
    work.require(&target, Some(SystemPrivilege::CreateView), SystemPrivilege::CreateAnyView)?;
    let replaced = existing(work, create, &target)?;
    let mut errors = Vec::new();
    let mut written_out = None;
    let columns = match work.host.describe(&create.query, Some(target.owner)) {
        Ok(described) => {
            written_out = crate::star::written_out(work.host, create, &target, &described);
            view_columns(create, &described)?
        }
        // FORCE stores the view although its query is invalid; its use fails.
        Err(error) if *force => {
            errors.push(ErrorLine { line: 0, column: 0, text: error.headline() });
            create.columns.iter().map(|name| ColumnDef::new(name.name.clone(), types::DataType::TEXT)).collect()
        }
        Err(error) => return Err(error),
    };
    let object = match replaced {
        Some(object) => {
            if !*force {
                crate::grant::require_still_grantable(work, object, &target, &create.query)?;
            }
            forget_column_grants(work, object, &columns)?;
            // As in Oracle, a view loses its triggers.
            for trigger in work.image.triggers_on(object) {
                crate::stored::remove_unit(work, trigger)?;
            }
            work.change().delete_by(Base::View, by(view::OBJ, object))?;
            work.change().delete_by(Base::Col, by(col::OBJ, object))?;
            work.altered(object)?;
            work.note_redefined(object);
            object
        }
        None => {
            let object = work.new_object();
            work.insert_object(object, None, &target, ObjectKind::View)?;
            object
        }
    };
    columns::insert(work, object, &columns)?;
    let mut row = blank(Base::View);
    row[view::OBJ] = int(object.0);
    row[view::COLS] = int(columns.len() as i64);
    let read_only = if create.read_only { property::VIEW_READ_ONLY } else { 0 };
    let checked = if *check_option { property::VIEW_CHECK_OPTION } else { 0 };
    let bequeaths = if create.bequeaths { property::VIEW_BEQUEATHS } else { 0 };
    row[view::PROPERTY] = int(read_only | checked | bequeaths);
    let query = written_out.as_ref().unwrap_or(&create.text);
    row[view::TEXTLENGTH] = int(query.len() as i64);
    row[view::TEXT] = text(query.as_str());
    work.change().insert(Base::View, &row)?;
    work.change().replace_words(object, query)?;
    crate::stored::store_errors(work, object, &errors)?;
    Ok(Outcome { compiled_with_errors: !errors.is_empty() })
}

/// Revokes grants on columns that the new view does not have at the same position.
fn forget_column_grants(work: &mut Work<'_>, view: ObjectId, columns: &[ColumnDef]) -> Result<()> {
    if work.image.object_grants(view).iter().all(|grant| grant.column == 0) {
        return Ok(());
    }
    let before = work.image.columns(view)?;
    let same = |at: u32| {
        let at = (at as usize).wrapping_sub(1);
        before.get(at).zip(columns.get(at)).is_some_and(|(old, new)| old.name == new.name)
    };
    let gone = |row: &[types::Value]| {
        let column = as_u32(&row[objauth::COL]);
        column != 0 && !same(column)
    };
    work.change().delete_by(Base::Objauth, by(objauth::OBJ, view).and(&gone)).map(drop)
}

/// The view to replace. ORA-00955 when another object has the name, or without OR REPLACE.
fn existing(work: &Work<'_>, create: &CreateView, target: &Target) -> Result<Option<ObjectId>> {
    match work.image.object_named(target.owner, ObjectKind::View.namespace(), &target.name) {
        Some(object) if object.object.0 < FIRST_USER_OBJECT => Err(Ora::new(701).at(target.pos)),
        Some(object) if create.or_replace && object.kind == ObjectKind::View => Ok(Some(object.object)),
        Some(_) => Err(Ora::new(955).at(target.pos)),
        None => Ok(None),
    }
}

fn view_columns(create: &CreateView, described: &[crate::host::Described]) -> Result<Vec<ColumnDef>> {
    if !create.columns.is_empty() && create.columns.len() != described.len() {
        return Err(Ora::new(1730).at(create.name.pos.0));
    }
    let mut list = Vec::new();
    for (i, column) in described.iter().enumerate() {
        if column.data_type == types::DataType::Cursor {
            return Err(Ora::new(22902).at(create.query.pos.0));
        }
        let name = match create.columns.get(i) {
            Some(name) => name.name.clone(),
            None => column.name.clone().ok_or_else(|| Ora::new(998).at(create.query.pos.0))?,
        };
        let mut def = ColumnDef::new(name, column.data_type);
        def.nullable = column.nullable;
        list.push(def);
    }
    columns::check_names(list.iter().map(|column| (column.name.as_str(), create.name.pos.0)))?;
    Ok(list)
}
