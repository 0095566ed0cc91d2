//! Stored units: their source is stored in SOURCE$, their errors in ERROR$; a unit with errors is stored, too.

use crate::host::{Outcome, UnitSettings};
use crate::work::{Target, Work, by};
use dictionary::base::{Base, dir, error, obj, objauth, settings, source, trigger, word};
use dictionary::rows::{Row, blank, flag, int, text};
use dictionary::*;
use sql::ast::{AlterCompile, CreateDirectory, CreateStored, DropObject, StoredKind};
use types::{DataType, ObjectId, Ora, Result, TypeId};

/// The dictionary's kind of a unit.
pub fn object_kind(kind: StoredKind) -> Result<ObjectKind> {
    Ok(match kind {
        StoredKind::Procedure => ObjectKind::Procedure,
        StoredKind::Function => ObjectKind::Function,
        StoredKind::Package => ObjectKind::Package,
        StoredKind::PackageBody => ObjectKind::PackageBody,
        StoredKind::Type => ObjectKind::Type,
        StoredKind::TypeBody => ObjectKind::TypeBody,
        StoredKind::Trigger => ObjectKind::Trigger,
        StoredKind::Java => return Err(Ora::unsupported()),
    })
}

fn privileges(kind: ObjectKind) -> (SystemPrivilege, SystemPrivilege, SystemPrivilege) {
    use SystemPrivilege::*;
    match kind {
        ObjectKind::Type | ObjectKind::TypeBody => (CreateType, CreateAnyType, DropAnyType),
        _ => (CreateProcedure, CreateAnyProcedure, DropAnyProcedure),
    }
}

pub fn create(work: &mut Work<'_>, create: &CreateStored) -> Result<Outcome> {
    let CreateStored { or_replace, kind: _, name, source: _, source_pos: _, pos } = create;
    let kind = object_kind(create.kind).map_err(|e| e.at(pos.0))?;
    let target = work.target(name)?;
    let (own, any, _) = privileges(kind);
    work.require(&target, Some(own), any)?;
    let old = match work.image.object_named(target.owner, kind.namespace(), &target.name) {
        Some(object) if object.kind == kind && *or_replace => Some(object.object),
        Some(_) => return Err(Ora::new(955).at(target.pos)),
        None => None,
    };
    let source = stored_source(create);
    if let (Some(object), ObjectKind::Type) = (old, kind) {
        let is_same = work.image.unit(object).is_some_and(|unit| unit.source == source);
        if !is_same {
            refuse_used_type(work, object, &target, sql::plsql::type_is_forced(&source))?;
        }
    }
    // The first body of a package also changes the code that callers run.
    let specification = match kind {
        ObjectKind::PackageBody => work.image.find(target.owner, ObjectKind::Package, &target.name),
        ObjectKind::TypeBody => work.image.find(target.owner, ObjectKind::Type, &target.name),
        _ => None,
    };
    if let Some(object) = specification.map(|specification| specification.object).or(old) {
        work.claim_unit(object)?;
    }
    let settings = work.host.unit_settings();
    let errors = work.host.compile(&target.owner_name, &target.name, create.kind, &source, &settings)?;
    let object = match old {
        Some(object) => {
            crate::virtual_column::disable_indexes(work, object)?;
            work.note_redefined(object);
            object
        }
        None => {
            if kind.namespace() == ObjectKind::Function.namespace() {
                crate::virtual_column::disable_hidden(work, &target)?;
            }
            let object = work.new_object();
            work.insert_object(object, None, &target, kind)?;
            object
        }
    };
    store_source(work, object, &source)?;
    store_settings(work, object, &settings)?;
    let selected = work.host.selected(&target.owner_name, &source, &settings);
    let flags = flags_of(&selected);
    work.update_object(object, &mut |row| row[obj::FLAGS] = int(flags))?;
    store_errors(work, object, &errors)?;
    Ok(Outcome { compiled_with_errors: !errors.is_empty() })
}

/// Replaces the source of a unit.
pub fn store_source(work: &mut Work<'_>, object: ObjectId, source: &str) -> Result<()> {
    work.change().delete_by(Base::Source, by(source::OBJ, object))?;
    let lines = source.split_inclusive('\n').enumerate();
    let rows: Vec<Row> = lines.map(|(i, line)| vec![int(object.0), int(i as i64 + 1), text(line)]).collect();
    work.change().insert_many(Base::Source, &rows)?;
    work.change().replace_words(object, source)
}

/// Replaces the settings of a unit.
pub fn store_settings(work: &mut Work<'_>, object: ObjectId, settings: &UnitSettings) -> Result<()> {
    work.change().delete_by(Base::Settings, by(settings::OBJ, object))?;
    let rows: Vec<Row> = settings.iter().map(|(name, value)| vec![int(object.0), text(name), text(value)]).collect();
    if rows.is_empty() { Ok(()) } else { work.change().insert_many(Base::Settings, &rows) }
}

/// The settings with which ALTER … COMPILE compiles a unit that has `stored` ones.
pub fn settings_of(work: &Work<'_>, alter: &AlterCompile, stored: &UnitSettings) -> Result<UnitSettings> {
    let before = if alter.reuse { stored.clone() } else { work.host.unit_settings() };
    let mut all = before.to_vec();
    for setting in &alter.settings {
        let (name, value) =
            work.host.unit_setting(&setting.name.name, &setting.value).map_err(|e| e.at(setting.name.pos.0))?;
        all.retain(|(known, _)| *known != name);
        all.push((name, value));
    }
    Ok(all.into())
}

/// The flag of invoker's rights units, for ALL_PROCEDURES.
const CALLERS_RIGHTS: i64 = 4;
/// The flag of object types, for ALL_TYPES; the number of attributes is in the bits from [`ATTRIBUTES`] on.
const OBJECT_TYPE: i64 = 8;
const ATTRIBUTES: u32 = 8;

/// The flags that a source gives its unit; a text that does not parse gives none.
fn flags_of(source: &str) -> i64 {
    use sql::plsql::ast::{AuthId, TypeDefinition, Unit};
    let authid = match sql::plsql::parse_unit(source) {
        Ok(Unit::Subprogram { schema: _, subprogram }) => subprogram.attributes.authid,
        Ok(Unit::Package(package)) => package.authid,
        Ok(Unit::Type { schema: _, name: _, definition: TypeDefinition::Object(object) }) => {
            return OBJECT_TYPE | (object.attributes.len() as i64) << ATTRIBUTES;
        }
        // not a clause: other units have neither rights nor attributes
        _ => AuthId::Definer,
    };
    if authid == AuthId::CurrentUser { CALLERS_RIGHTS } else { 0 }
}

/// The source without the schema before the unit's name, as in ALL_SOURCE.
pub fn stored_source(create: &CreateStored) -> String {
    let [schema, name, ..] = create.name.parts.as_slice() else {
        return create.source.clone();
    };
    let base = create.source_pos.0;
    let (from, to) = ((schema.pos.0 - base) as usize, (name.pos.0 - base) as usize);
    let mut source = create.source.clone();
    source.replace_range(from..to, "");
    source
}

/// Replaces the errors of a unit or view and sets its status.
pub fn store_errors(work: &mut Work<'_>, object: ObjectId, errors: &[ErrorLine]) -> Result<()> {
    work.change().replace_errors(object, errors)?;
    let status = if errors.is_empty() { validity::VALID } else { validity::WITH_ERRORS };
    work.update_object(object, &mut |row| row[obj::STATUS] = int(status))
}

pub fn drop_unit(work: &mut Work<'_>, target: &Target, stored: StoredKind, force: bool) -> Result<()> {
    let kind = object_kind(stored).map_err(|e| e.at(target.pos))?;
    let found = work.names.object(Some(&target.owner_name), &target.name, kind.namespace());
    let Some(object) = found.filter(|object| object.kind == kind).map(|object| object.object) else {
        let shown: &dyn std::fmt::Display = if target.owner == work.session.schema {
            &target.name
        } else {
            &format_args!("{}.{}", target.owner_name, target.name).to_string()
        };
        return Err(Ora::with(4043, &[shown]).at(target.pos));
    };
    let (_, _, any) = privileges(kind);
    work.require(target, None, any)?;
    if kind == ObjectKind::Type {
        refuse_used_type(work, object, target, force)?;
    }
    let body = match kind {
        ObjectKind::Package => Some(ObjectKind::PackageBody),
        ObjectKind::Type => Some(ObjectKind::TypeBody),
        _ => None,
    };
    let body = body.and_then(|kind| work.image.find(target.owner, kind, &target.name)).map(|body| body.object);
    for object in [Some(object), body].into_iter().flatten() {
        remove_unit(work, object)?;
    }
    Ok(())
}

/// How a type names another.
#[derive(Clone, Copy)]
enum Use {
    Under,
    /// As an attribute or the element.
    Part,
    /// In the heading of a method.
    Heading,
}

/// ORA-02303 for a type that columns of tables, or other types, use. With FORCE other types may use it, as long as no
/// column is of one of them: values that are stored keep their attributes.
fn refuse_used_type(work: &Work<'_>, object: ObjectId, target: &Target, force: bool) -> Result<()> {
    let users = type_users(work)?;
    let mut using = vec![object];
    let mut at = 0;
    while let Some(of) = using.get(at).copied() {
        for (user, used, _) in &users {
            if *used == of && !using.contains(user) {
                using.push(*user);
            }
        }
        at += 1;
    }
    let is_used = using.len() > 1 && !force;
    // A column of a supertype holds objects of the type as well, and so does a type with a part of the supertype. True
    // for the types whose subtypes hold them too.
    let mut holding: Vec<(ObjectId, bool)> = using.into_iter().map(|of| (of, true)).collect();
    let mut at = 0;
    while let Some((of, is_inherited)) = holding.get(at).copied() {
        for (user, used, by) in &users {
            let holder = match by {
                Use::Under if *user == of => (*used, false),
                Use::Under if *used == of && is_inherited => (*user, true),
                Use::Part if *used == of => (*user, true),
                _ => continue,
            };
            if !holding.contains(&holder) {
                holding.push(holder);
            }
        }
        at += 1;
    }
    let holding: Vec<ObjectId> = holding.into_iter().map(|(of, _)| of).collect();
    if is_used || has_columns_of(work, &holding)? { Err(Ora::new(2303).at(target.pos)) } else { Ok(()) }
}

/// The types that other types name: as attributes, elements and supertypes, and in the headings of methods.
fn type_users(work: &Work<'_>) -> Result<Vec<(ObjectId, ObjectId, Use)>> {
    use sql::plsql::ast::{TypeDefinition, TypeKind, TypeRef, Unit};
    let mut users = Vec::new();
    for def in work.image.objects_of_kinds(&[ObjectKind::Type]) {
        let Some(unit) = work.image.unit(def.object) else { continue };
        let Ok(Unit::Type { schema: _, name: _, definition }) = sql::plsql::parse_unit(&unit.source) else { continue };
        let named: Vec<(&TypeRef, Use)> = match &definition {
            TypeDefinition::Object(object) => {
                let headings = object.methods.iter().flat_map(|method| {
                    let parameters = method.subprogram.parameters.iter().map(|p| &p.ty);
                    parameters.chain(&method.subprogram.returns).map(|ty| (ty, Use::Heading))
                });
                let under = object.under.iter().map(|ty| (ty, Use::Under));
                under.chain(object.attributes.iter().map(|a| (&a.ty, Use::Part))).chain(headings).collect()
            }
            TypeDefinition::NestedTable { element, not_null: _ }
            | TypeDefinition::Varray { limit: _, element, not_null: _ } => vec![(element, Use::Part)],
            TypeDefinition::Record(_)
            | TypeDefinition::Associative { element: _, not_null: _, index: _ }
            | TypeDefinition::RefCursor { returns: _ } => Vec::new(),
        };
        for (ty, by) in named {
            let TypeKind::Named { path, sizes: _, unit: _ } = &ty.kind else { continue };
            let found = match path.as_slice() {
                [name] => work.image.find(def.owner_id, ObjectKind::Type, &name.name),
                [schema, name] => {
                    let owner = work.image.user_named(&schema.name).map(|user| user.id);
                    owner.and_then(|owner| work.image.find(owner, ObjectKind::Type, &name.name))
                }
                _ => None,
            };
            if let Some(used) = found.filter(|used| used.object != def.object) {
                users.push((def.object, used.object, by));
            }
        }
    }
    Ok(users)
}

fn has_columns_of(work: &Work<'_>, types: &[ObjectId]) -> Result<bool> {
    let of = |c: &ColumnDef| matches!(c.data_type, DataType::Named(TypeId(id)) if types.contains(&ObjectId(id)));
    for def in work.image.objects_of_kinds(&[ObjectKind::Table]) {
        if work.image.columns(def.object)?.iter().any(of) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes a unit or trigger.
pub fn remove_unit(work: &mut Work<'_>, object: ObjectId) -> Result<()> {
    work.claim_unit(object)?;
    crate::virtual_column::disable_indexes(work, object)?;
    work.change().delete_by(Base::Source, by(source::OBJ, object))?;
    work.change().delete_by(Base::Settings, by(settings::OBJ, object))?;
    work.change().delete_by(Base::Word, by(word::OBJ, object))?;
    work.change().delete_by(Base::Error, by(error::OBJ, object))?;
    work.change().delete_by(Base::Trigger, by(trigger::OBJ, object))?;
    work.delete_object(object)
}

pub fn create_directory(work: &mut Work<'_>, create: &CreateDirectory) -> Result<()> {
    let CreateDirectory { or_replace, name: _, path, pos: _ } = create;
    if !work.names.has(SystemPrivilege::CreateAnyDirectory) {
        return Err(Ora::new(1031).at(create.pos.0));
    }
    let target =
        Target { owner: UserId::SYS, owner_name: "SYS".into(), name: create.name.name.clone(), pos: create.name.pos.0 };
    let old = work.image.find(UserId::SYS, ObjectKind::Directory, &target.name).map(|object| object.object);
    let object = match old {
        Some(object) if *or_replace => {
            work.change().delete_by(Base::Dir, by(dir::OBJ, object))?;
            object
        }
        Some(_) => return Err(Ora::new(955).at(target.pos)),
        None => {
            let object = work.new_object();
            work.insert_object(object, None, &target, ObjectKind::Directory)?;
            object
        }
    };
    work.change().insert(Base::Dir, &[int(object.0), text(path.as_str())])?;
    // The directory belongs to SYS; its creator has all privileges on it.
    let creator = work.session.user;
    if old.is_none() && creator != UserId::SYS {
        for privilege in [ObjectPrivilege::Read, ObjectPrivilege::Write, ObjectPrivilege::Execute] {
            let mut row = blank(Base::Objauth);
            row[objauth::OBJ] = int(object.0);
            row[objauth::GRANTOR] = int(UserId::SYS.0);
            row[objauth::GRANTEE] = int(creator.0);
            row[objauth::PRIVILEGE] = int(privilege as u8);
            row[objauth::OPTION] = flag(true);
            work.change().insert(Base::Objauth, &row)?;
        }
    }
    Ok(())
}

pub fn drop_directory(work: &mut Work<'_>, drop: &DropObject) -> Result<()> {
    if !work.names.has(SystemPrivilege::DropAnyDirectory) {
        return Err(Ora::new(1031).at(drop.pos.0));
    }
    let found = work.image.find(UserId::SYS, ObjectKind::Directory, drop.name.last()).map(|object| object.object);
    let object = found.ok_or_else(|| Ora::with(4043, &[&drop.name.last()]).at(drop.name.pos.0))?;
    work.change().delete_by(Base::Dir, by(dir::OBJ, object))?;
    work.delete_object(object)
}
