//! Editions. No user has editioned objects, so names mean the same in all editions: an edition is only a name that
//! sessions can be set to.

use crate::work::{Target, Work, by};
use dictionary::base::{Base, edition, objauth, props};
use dictionary::rows::{as_text, as_u32, blank, flag, int, text};
use dictionary::*;
use sql::ast::{DropObject, EditionStatement, Ident};
use types::{ObjectId, Ora, Result, Value};

pub fn run(work: &mut Work<'_>, statement: &EditionStatement) -> Result<()> {
    match statement {
        EditionStatement::Create { name, parent, pos } => create(work, name, parent.as_ref(), pos.0),
        EditionStatement::Default { name, pos } => set_default(work, name, pos.0),
    }
}

fn edition_named(work: &Work<'_>, name: &Ident) -> Result<ObjectId> {
    let found = work.image.find(UserId::SYS, ObjectKind::Edition, &name.name).map(|object| object.object);
    found.ok_or_else(|| Ora::new(38802).at(name.pos.0))
}

/// Each edition and its parent; that of the first is 0.
fn editions(work: &mut Work<'_>) -> Result<Vec<(u32, u32)>> {
    let rows = work.select(Base::Edition, &|_: &[Value]| true)?;
    let parent = |value: &Value| if value.is_null() { 0 } else { as_u32(value) };
    Ok(rows.iter().map(|row| (as_u32(&row[edition::OBJ]), parent(&row[edition::PARENT]))).collect())
}

/// The parent of an edition is the last one, unless the statement names another one without a child.
fn create(work: &mut Work<'_>, name: &Ident, parent: Option<&Ident>, pos: u32) -> Result<()> {
    if !work.names.has(SystemPrivilege::CreateAnyEdition) {
        return Err(Ora::new(1031).at(pos));
    }
    if work.image.find(UserId::SYS, ObjectKind::Edition, &name.name).is_some() {
        return Err(Ora::new(955).at(name.pos.0));
    }
    let all = editions(work)?;
    let has_child = |edition: u32| all.iter().any(|(_, parent)| *parent == edition);
    let parent = match parent {
        Some(parent) => edition_named(work, parent)?.0,
        None => all.iter().map(|(edition, _)| *edition).find(|edition| !has_child(*edition)).unwrap_or(0),
    };
    if has_child(parent) {
        return Err(Ora::new(38807).at(pos));
    }
    let target = Target { owner: UserId::SYS, owner_name: "SYS".into(), name: name.name.clone(), pos: name.pos.0 };
    let object = work.new_object();
    work.insert_object(object, None, &target, ObjectKind::Edition)?;
    work.change().insert(Base::Edition, &[int(object.0), int(parent)])?;
    let creator = work.session.user;
    if creator == UserId::SYS { Ok(()) } else { grant_use(work, object, creator, true) }
}

fn grant_use(work: &mut Work<'_>, object: ObjectId, grantee: UserId, option: bool) -> Result<()> {
    let mut row = blank(Base::Objauth);
    row[objauth::OBJ] = int(object.0);
    row[objauth::GRANTOR] = int(UserId::SYS.0);
    row[objauth::GRANTEE] = int(grantee.0);
    row[objauth::PRIVILEGE] = int(ObjectPrivilege::Use as u8);
    row[objauth::OPTION] = flag(option);
    work.change().insert(Base::Objauth, &row)
}

/// ALTER DATABASE DEFAULT EDITION: sets the edition of later sessions; all users may use it.
fn set_default(work: &mut Work<'_>, name: &Ident, pos: u32) -> Result<()> {
    if !work.names.has(SystemPrivilege::AlterDatabase) {
        return Err(Ora::new(1031).at(pos));
    }
    let object = edition_named(work, name)?;
    let is_default = |row: &[Value]| as_text(&row[props::NAME]) == "DEFAULT_EDITION";
    let value = name.name.clone();
    work.change().update(Base::Props, &is_default, &mut |row| row[props::VALUE] = text(value.as_str()))?;
    let all = work.image.has_column_grant(UserId::PUBLIC, object, ObjectPrivilege::Use, 0, false);
    if all { Ok(()) } else { grant_use(work, object, UserId::PUBLIC, false) }
}

pub fn drop_edition(work: &mut Work<'_>, drop: &DropObject) -> Result<()> {
    if !work.names.has(SystemPrivilege::DropAnyEdition) {
        return Err(Ora::new(1031).at(drop.pos.0));
    }
    let name = Ident { name: drop.name.last().to_owned(), pos: drop.name.pos };
    let object = edition_named(work, &name)?;
    let all = editions(work)?;
    let child = all.iter().find(|(_, parent)| *parent == object.0).map(|(child, _)| *child);
    let parent = all.iter().find(|(edition, _)| *edition == object.0).map_or(0, |(_, parent)| *parent);
    if child.is_some() && parent != 0 {
        return Err(Ora::new(38810).at(name.pos.0));
    }
    let is_default =
        |row: &[Value]| as_text(&row[props::NAME]) == "DEFAULT_EDITION" && as_text(&row[props::VALUE]) == name.name;
    if !work.select(Base::Props, &is_default)?.is_empty() || work.host.is_edition_used(object) {
        return Err(Ora::new(38805).at(name.pos.0));
    }
    if let Some(child) = child {
        let is_child = move |row: &[Value]| as_u32(&row[edition::OBJ]) == child;
        work.change().update(Base::Edition, &is_child, &mut |row| row[edition::PARENT] = Value::Null)?;
    }
    work.change().delete_by(Base::Edition, by(edition::OBJ, object))?;
    work.delete_object(object)
}
