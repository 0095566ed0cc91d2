//! CREATE and DROP SYNONYM.

use crate::work::{Target, Work, by};
use dictionary::base::{Base, syn};
use dictionary::rows::text;
use dictionary::*;
use sql::ast::{CreateSynonym, DropKind, DropObject, Name};
use types::{Ora, Result, Value};

fn synonym_target(work: &Work<'_>, name: &Name, public: bool) -> Result<Target> {
    if !public {
        return work.target(name);
    }
    let pos = name.pos.0;
    if name.parts.len() != 1 {
        return Err(Ora::new(995).at(pos));
    }
    Ok(Target { owner: UserId::PUBLIC, owner_name: "PUBLIC".into(), name: name.last().to_owned(), pos })
}

pub fn create(work: &mut Work<'_>, create: &CreateSynonym) -> Result<()> {
    let CreateSynonym { or_replace, public, name: _, target: _, pos: _ } = create;
    let target = synonym_target(work, &create.name, *public)?;
    if *public {
        require_public(work, &target, SystemPrivilege::CreatePublicSynonym)?;
    } else {
        work.require(&target, Some(SystemPrivilege::CreateSynonym), SystemPrivilege::CreateAnySynonym)?;
    }
    let (owner, name) = match create.target.parts.as_slice() {
        [name] => (work.names.schema().1, name.name.clone()),
        [owner, name] => (owner.name.clone(), name.name.clone()),
        _ => return Err(Ora::new(995).at(create.target.pos.0)),
    };
    if owner == target.owner_name && name == target.name && create.target.link.is_none() {
        return Err(Ora::new(1471).at(target.pos));
    }
    match work.image.object_named(target.owner, ObjectKind::Synonym.namespace(), &target.name) {
        Some(object) if *or_replace && object.kind == ObjectKind::Synonym => {
            let object = object.object;
            crate::virtual_column::disable_indexes(work, object)?;
            work.change().delete_by(Base::Syn, by(syn::OBJ, object))?;
            work.delete_object(object)?;
        }
        Some(_) => return Err(Ora::new(955).at(target.pos)),
        None => crate::virtual_column::disable_hidden(work, &target)?,
    }
    let object = work.new_object();
    work.insert_object(object, None, &target, ObjectKind::Synonym)?;
    let link = create.target.link.as_ref().map_or(Value::Null, |link| {
        let parts: Vec<&str> = link.parts.iter().map(|part| part.name.as_str()).collect();
        text(parts.join("."))
    });
    let mut row = vec![dictionary::rows::int(object.0), link, text(owner), text(name)];
    row.truncate(Base::Syn.table().columns.len());
    work.change().insert(Base::Syn, &row)
}

fn require_public(work: &Work<'_>, target: &Target, privilege: SystemPrivilege) -> Result<()> {
    if work.names.has(privilege) { Ok(()) } else { Err(Ora::new(1031).at(target.pos)) }
}

pub fn drop_synonym(work: &mut Work<'_>, drop: &DropObject) -> Result<()> {
    let public = drop.kind == DropKind::PublicSynonym;
    let target = synonym_target(work, &drop.name, public)?;
    let found = work.image.find(target.owner, ObjectKind::Synonym, &target.name).map(|object| object.object);
    let object = found.ok_or_else(|| Ora::new(if public { 1432 } else { 1434 }).at(target.pos))?;
    if public {
        require_public(work, &target, SystemPrivilege::DropPublicSynonym)?;
    } else {
        work.require(&target, None, SystemPrivilege::DropAnySynonym)?;
    }
    crate::virtual_column::disable_indexes(work, object)?;
    work.change().delete_by(Base::Syn, by(syn::OBJ, object))?;
    work.delete_object(object)
}
