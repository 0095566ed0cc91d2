//! Triggers: CREATE, ALTER and DROP TRIGGER, and ALTER TABLE … ALL TRIGGERS.
//!
//! A trigger is a part of the definition of its table or view: statements are compiled with the triggers. So every
//! statement here locks the table and touches it, which makes the cursors on it invalid. An error in the header is an
//! error of CREATE TRIGGER; a trigger with an error in its body is stored, and its events fail with ORA-04098.

use crate::host::{CompiledTrigger, Outcome};
use crate::stored::{remove_unit, settings_of, store_errors, store_settings, store_source, stored_source};
use crate::work::{Target, Work, by};
use dictionary::base::{Base, obj, tab, trigger, view};
use dictionary::image::property;
use dictionary::rows::{Row, as_i64, as_text, as_u32, blank, flag, int, text};
use dictionary::*;
use sql::ast::{AlterCompile, CompileAction, CreateStored, Ident};
use sql::plsql::ast::{Path, Span, TriggerEvent, TriggerHeader, TriggerScope, TriggerTiming, When};
use types::{ObjectId, Ora, Result, Value};

/// The longest DESCRIPTION: the text before the body.
const DESCRIPTION_MOST: usize = 4000;

/// CREATE TRIGGER.
pub fn create(work: &mut Work<'_>, create: &CreateStored) -> Result<Outcome> {
    let CreateStored { or_replace, kind: _, name, source, source_pos, pos: _ } = create;
    let target = work.target(name)?;
    work.require(&target, Some(SystemPrivilege::CreateTrigger), SystemPrivilege::CreateAnyTrigger)?;
    let base = source_pos.0;
    let header = sql::plsql::parse_trigger_header(source).map_err(|e| e.shifted(base))?;
    let (table, schema) = match header.scope {
        TriggerScope::Table => (base_of(work, &header, base)?, None),
        TriggerScope::Schema(..) | TriggerScope::Database => {
            let schema = crate::event_trigger::schema_of(work, &target, &header, base)?;
            let triggers = work.image.event_triggers();
            (Of { object: NO_BASE, columns: Vec::new(), triggers, table: None }, schema)
        }
    };
    let (kind, columns) = facts(&header, &table, base)?;
    let old = match work.image.object_named(target.owner, ObjectKind::Trigger.namespace(), &target.name) {
        Some(old) if *or_replace => Some(old.object),
        Some(_) => return Err(Ora::with(4081, &[&target.name]).at(target.pos)),
        None => None,
    };
    if old.is_some_and(|old| work.image.trigger_base(old) != Some(table.object)) {
        return Err(Ora::with(4095, &[&target.name]).at(target.pos));
    }
    let follows = follows(work, &header, kind, &table, (&target, old))?;
    if let Some(table) = &table.table {
        work.require_unused(table)?;
        work.lock(table.object)?;
    }
    let source = stored_source(create);
    let settings = work.host.unit_settings();
    let compiled = work.host.compile_trigger(&target.owner_name, &source, &settings, table.object)?;
    let object = match old {
        Some(object) => {
            work.change().delete_by(Base::Trigger, by(trigger::OBJ, object))?;
            object
        }
        None => {
            let object = work.new_object();
            work.insert_object(object, None, &target, ObjectKind::Trigger)?;
            object
        }
    };
    store_source(work, object, &source)?;
    store_settings(work, object, &settings)?;
    let mut row = blank(Base::Trigger);
    row[trigger::OBJ] = int(object.0);
    row[trigger::TYPE] = int(kind.code());
    row[trigger::BASEOBJECT] = int(table.object.0);
    row[trigger::ENABLED] = flag(header.enabled);
    row[trigger::PROPERTY] = int(compiled.points);
    let has = |wanted: fn(&TriggerEvent) -> bool| flag(header.events.iter().any(wanted));
    row[trigger::INSERT] = has(|event| *event == TriggerEvent::Insert);
    row[trigger::DELETE] = has(|event| *event == TriggerEvent::Delete);
    row[trigger::UPDATE] = has(|event| matches!(event, TriggerEvent::Update(_)));
    row[trigger::REFOLDNAME] = text(header.old_alias.as_str());
    row[trigger::REFNEWNAME] = text(header.new_alias.as_str());
    row[trigger::UPDATECOLS] = text(quoted(columns.iter().map(String::as_str)));
    row[trigger::FOLLOWS] = text(follows);
    let events = crate::event_trigger::bits(&header);
    if events != 0 {
        row[trigger::EVENTS] = int(events);
        row[trigger::SCHEMA] = schema.map_or(Value::Null, |owner| int(owner.0));
    }
    put_texts(&mut row, &source)?;
    put_uses(&mut row, &compiled);
    work.change().insert(Base::Trigger, &row)?;
    work.update_object(object, &mut |row| row[obj::FLAGS] = int(0))?;
    store_errors(work, object, &compiled.errors)?;
    mark(work, table.object, true)?;
    Ok(Outcome { compiled_with_errors: !compiled.errors.is_empty() })
}

/// The table or view of a trigger.
struct Of {
    object: ObjectId,
    columns: Vec<ColumnDef>,
    triggers: Vec<TriggerDef>,
    /// `None` for a view.
    table: Option<std::rc::Rc<TableDef>>,
}

/// The table or view of a new trigger. The session may create triggers on it.
fn base_of(work: &Work<'_>, header: &TriggerHeader, base: u32) -> Result<Of> {
    let ident = |part: &sql::plsql::ast::Ident| Ident { name: part.name.clone(), pos: sql::ast::Pos(base + part.pos) };
    let parts: Vec<Ident> = header.table.iter().map(ident).collect();
    let pos = parts.first().map_or(sql::ast::Pos(base), |part| part.pos);
    let name = sql::ast::Name { parts, link: None, pos, written: Default::default() };
    let target = work.target(&name).map_err(|e| if e.is(1918) { Ora::new(942).at(target_pos(&name)) } else { e })?;
    if target.owner == UserId::SYS {
        return Err(Ora::new(4089).at(target.pos));
    }
    let any = SystemPrivilege::CreateAnyTrigger;
    let found = work.names.object_for(Some(&target.owner_name), &target.name, ObjectKind::Table.namespace(), any);
    let missing = || Ora::new(942).at(target.pos);
    let def = found.filter(|def| matches!(def.kind, ObjectKind::Table | ObjectKind::View)).ok_or_else(missing)?;
    work.require(&target, Some(SystemPrivilege::CreateTrigger), any)?;
    let is_view = def.kind == ObjectKind::View;
    let object = def.object;
    match (header.timing, is_view) {
        (TriggerTiming::InsteadOf, false) => Err(Ora::new(25002).at(target.pos)),
        (TriggerTiming::InsteadOf, true) => {
            let view = work.image.view(object)?.ok_or_else(missing)?;
            let columns = work.image.columns(object)?;
            Ok(Of { object, columns, triggers: view.triggers.clone(), table: None })
        }
        (TriggerTiming::Before | TriggerTiming::After, true) => Err(Ora::new(25001).at(target.pos)),
        (TriggerTiming::Compound, true) => Err(Ora::unsupported().at(target.pos)),
        (TriggerTiming::Before | TriggerTiming::After | TriggerTiming::Compound, false) => {
            let table = work.existing_table(object)?;
            let (columns, triggers) = (table.columns.clone(), table.triggers.clone());
            Ok(Of { object, columns, triggers, table: Some(table) })
        }
    }
}

fn target_pos(name: &sql::ast::Name) -> u32 {
    name.parts.last().map_or(0, |part| part.pos.0)
}

/// The kind of a trigger, and the columns of UPDATE OF.
fn facts(header: &TriggerHeader, table: &Of, base: u32) -> Result<(TriggerKind, Vec<String>)> {
    // The others are those of the caller.
    let TriggerHeader {
        schema: _,
        name: _,
        timing,
        events,
        scope,
        table: _,
        old_alias,
        new_alias,
        for_each_row,
        follows: _,
        enabled: _,
        when,
        action: _,
        body: _,
        calls: _,
    } = header;
    if old_alias == new_alias {
        return Err(Ora::new(4078));
    }
    let is_instead = *timing == TriggerTiming::InsteadOf;
    if let Some(When { condition: _, span: _, pos }) = when {
        if is_instead {
            return Err(Ora::new(25004).at(base + pos));
        }
        if !for_each_row && *timing != TriggerTiming::Compound && *scope == TriggerScope::Table {
            return Err(Ora::new(4077).at(base + pos));
        }
    }
    let mut columns: Vec<String> = Vec::new();
    for event in events {
        let named = match event {
            TriggerEvent::Update(named) => named.as_slice(),
            TriggerEvent::Insert | TriggerEvent::Delete | TriggerEvent::System(_) => &[],
        };
        for column in named {
            if is_instead {
                return Err(Ora::new(4073).at(base + column.pos));
            }
            if !table.columns.iter().any(|c| c.name == column.name && !c.hidden) {
                return Err(Ora::with(904, &[&format_args!("\"{}\"", column.name)]).at(base + column.pos));
            }
            if columns.contains(&column.name) {
                return Err(Ora::new(957).at(base + column.pos));
            }
            columns.push(column.name.clone());
        }
    }
    let kind = match (timing, for_each_row) {
        (TriggerTiming::Before, _) if *scope != TriggerScope::Table => TriggerKind::BeforeEvent,
        (TriggerTiming::After, _) if *scope != TriggerScope::Table => TriggerKind::AfterEvent,
        (TriggerTiming::Before, false) => TriggerKind::BeforeStatement,
        (TriggerTiming::Before, true) => TriggerKind::BeforeRow,
        (TriggerTiming::After, false) => TriggerKind::AfterStatement,
        (TriggerTiming::After, true) => TriggerKind::AfterRow,
        (TriggerTiming::InsteadOf, _) => TriggerKind::InsteadOfRow,
        (TriggerTiming::Compound, _) => TriggerKind::Compound,
    };
    Ok((kind, columns))
}

/// The list of the triggers of FOLLOWS.
fn follows(
    work: &mut Work<'_>,
    header: &TriggerHeader,
    kind: TriggerKind,
    table: &Of,
    (target, own): (&Target, Option<ObjectId>),
) -> Result<String> {
    let mut list = String::new();
    for path in &header.follows {
        let (owner, name) = owner_and_name(path, target);
        let missing = || Ora::with(4080, &[&name]);
        let user = work.image.user_named(&owner).map(|user| user.id).ok_or_else(missing)?;
        let object = work.image.find(user, ObjectKind::Trigger, &name).map(|def| def.object).ok_or_else(missing)?;
        let Some(other) = table.triggers.iter().find(|other| other.object == object && may_follow(kind, other)) else {
            return Err(Ora::new(25022));
        };
        if own == Some(object) || leads_to(work, other.object, &trigger_path_of(target))? {
            return Err(Ora::new(25023));
        }
        list.push_str(&trigger_path(other));
    }
    Ok(list)
}

/// Whether a trigger of that kind may follow another one: they have a time in common.
fn may_follow(kind: TriggerKind, other: &TriggerDef) -> bool {
    kind == other.kind || kind == TriggerKind::Compound || other.kind == TriggerKind::Compound
}

fn owner_and_name(path: &Path, target: &Target) -> (String, String) {
    match path.as_slice() {
        [owner, name, ..] => (owner.name.clone(), name.name.clone()),
        [name] => (target.owner_name.clone(), name.name.clone()),
        [] => (target.owner_name.clone(), String::new()),
    }
}

fn trigger_path_of(target: &Target) -> String {
    format!("\"{}\".\"{}\"", target.owner_name, target.name)
}

/// Whether a trigger follows another one, directly or not.
fn leads_to(work: &mut Work<'_>, from: ObjectId, wanted: &str) -> Result<bool> {
    let rows = work.select(Base::Trigger, &|_| true)?;
    let list_of = |object: ObjectId| {
        let row = rows.iter().find(|row| as_u32(&row[trigger::OBJ]) == object.0);
        row.map_or("", |row| as_text(&row[trigger::FOLLOWS]))
    };
    let (mut seen, mut at) = (vec![from], 0);
    while let Some(object) = seen.get(at).copied() {
        let list = list_of(object);
        if list.contains(wanted) {
            return Ok(true);
        }
        for row in &rows {
            let other = ObjectId(as_u32(&row[trigger::OBJ]));
            let Some(def) = work.image.object(other) else { continue };
            let path = format!("\"{}\".\"{}\"", work.image.user_name(def.owner_id), def.name);
            if list.contains(&path) && !seen.contains(&other) {
                seen.push(other);
            }
        }
        at += 1;
    }
    Ok(false)
}

/// DESCRIPTION, WHEN_CLAUSE and TRIGGER_BODY.
fn put_texts(row: &mut Row, source: &str) -> Result<()> {
    let header = sql::plsql::parse_trigger_header(source)?;
    let word = "TRIGGER".len();
    let body = header.body as usize;
    let (description, when) = match &header.when {
        Some(When { condition: _, span: Span { start, end }, pos }) => {
            (&source[word..*pos as usize], &source[*start as usize..*end as usize])
        }
        None => (&source[word..header.action as usize], ""),
    };
    let description = description.trim_start();
    if description.len() > DESCRIPTION_MOST || when.len() > DESCRIPTION_MOST {
        return Err(Ora::new(4086));
    }
    row[trigger::DEFINITION] = text(description);
    row[trigger::WHENCLAUSE] = text(when);
    row[trigger::ACTION] = text(source[body..].chars().take(DESCRIPTION_MOST * 2).collect::<String>());
    Ok(())
}

fn put_uses(row: &mut Row, compiled: &CompiledTrigger) {
    let CompiledTrigger { errors: _, new_read, new_assigned, old_read, points: _ } = compiled;
    let list = |names: &[String]| text(quoted(names.iter().map(String::as_str)));
    row[trigger::NEWIN] = list(new_read);
    row[trigger::NEWOUT] = list(new_assigned);
    row[trigger::OLDIN] = list(old_read);
}

/// Notes whether the table or view has triggers, and that its cursors are invalid. No cursor depends on a trigger on a
/// schema or the database.
fn mark(work: &mut Work<'_>, object: ObjectId, has_some: bool) -> Result<()> {
    if object == NO_BASE {
        return Ok(());
    }
    work.touch(object);
    let set = |value: &Value, bit: i64| {
        let others = as_i64(value).unwrap_or(0) & !bit;
        int(if has_some { others | bit } else { others })
    };
    work.change().update_by(Base::Tab, by(tab::OBJ, object), &mut |row| {
        row[tab::PROPERTY] = set(&row[tab::PROPERTY], property::TAB_TRIGGERS);
    })?;
    work.change().update_by(Base::View, by(view::OBJ, object), &mut |row| {
        row[view::PROPERTY] = set(&row[view::PROPERTY], property::VIEW_TRIGGERS);
    })?;
    Ok(())
}

/// Locks the table of a trigger; a view has no locks.
fn lock_base(work: &mut Work<'_>, object: ObjectId) -> Result<()> {
    match work.image.object(object).map(|def| def.kind) {
        Some(ObjectKind::Table) => work.lock(object),
        _ => Ok(()),
    }
}

/// The trigger that a statement names, and its table. ORA-04080 for one that is missing or not visible.
fn existing(work: &Work<'_>, target: &Target, any: SystemPrivilege) -> Result<(ObjectId, ObjectId)> {
    let space = ObjectKind::Trigger.namespace();
    let found = work.names.object_for(Some(&target.owner_name), &target.name, space, any).map(|def| def.object);
    let found = found.and_then(|object| Some((object, work.image.trigger_base(object)?)));
    let shown = match target.owner == work.session.schema {
        true => target.name.clone(),
        false => format!("{}.{}", target.owner_name, target.name),
    };
    let found = found.ok_or_else(|| Ora::with(4080, &[&shown]).at(target.pos))?;
    work.require(target, None, any)?;
    Ok(found)
}

/// ALTER TRIGGER.
pub fn alter(work: &mut Work<'_>, target: &Target, alter: &AlterCompile) -> Result<Outcome> {
    let action = &alter.action;
    let (object, table) = existing(work, target, SystemPrivilege::AlterAnyTrigger)?;
    crate::event_trigger::require_database(work, object, target, true)?;
    lock_base(work, table)?;
    if table != NO_BASE {
        work.touch(table);
    }
    match action {
        CompileAction::Enable | CompileAction::Disable => {
            let on = flag(*action == CompileAction::Enable);
            work.change()
                .update_by(Base::Trigger, by(trigger::OBJ, object), &mut |row| row[trigger::ENABLED] = on.clone())?;
            work.altered(object)?;
            Ok(Outcome::default())
        }
        CompileAction::Compile => compile(work, object, table, target, alter),
        CompileAction::RenameTo(name) => rename(work, object, target, name).map(|()| Outcome::default()),
    }
}

fn compile(
    work: &mut Work<'_>,
    object: ObjectId,
    table: ObjectId,
    target: &Target,
    alter: &AlterCompile,
) -> Result<Outcome> {
    let unit = work.image.unit(object).ok_or_else(|| Ora::with(4080, &[&target.name]).at(target.pos))?;
    let settings = settings_of(work, alter, &unit.settings)?;
    let compiled = work.host.compile_trigger(&target.owner_name, &unit.source, &settings, table)?;
    if settings != unit.settings {
        store_settings(work, object, &settings)?;
        work.note_redefined(object);
    }
    work.change().update_by(Base::Trigger, by(trigger::OBJ, object), &mut |row| {
        row[trigger::PROPERTY] = int(compiled.points);
        put_uses(row, &compiled);
    })?;
    store_errors(work, object, &compiled.errors)?;
    Ok(Outcome { compiled_with_errors: !compiled.errors.is_empty() })
}

/// ALTER TRIGGER … RENAME TO: the name in the stored source changes, too.
fn rename(work: &mut Work<'_>, object: ObjectId, target: &Target, name: &Ident) -> Result<()> {
    let new = Target { name: name.name.clone(), pos: name.pos.0, ..target.clone() };
    if work.image.object_named(target.owner, ObjectKind::Trigger.namespace(), &new.name).is_some() {
        return Err(Ora::with(4081, &[&new.name]).at(new.pos));
    }
    let unit = work.image.unit(object).ok_or_else(|| Ora::with(4080, &[&target.name]).at(target.pos))?;
    let source = with_name(&unit.source, &new.name);
    store_source(work, object, &source)?;
    let mut texts = blank(Base::Trigger);
    put_texts(&mut texts, &source)?;
    work.change().update_by(Base::Trigger, by(trigger::OBJ, object), &mut |row| {
        for column in [trigger::DEFINITION, trigger::WHENCLAUSE, trigger::ACTION] {
            row[column] = texts[column].clone();
        }
    })?;
    let (before, after) = (trigger_path_of(target), trigger_path_of(&new));
    let names_it = |row: &[Value]| as_text(&row[trigger::FOLLOWS]).contains(&before);
    work.change().update(Base::Trigger, &names_it, &mut |row| {
        row[trigger::FOLLOWS] = text(as_text(&row[trigger::FOLLOWS]).replace(&before, &after));
    })?;
    work.update_object(object, &mut |row| row[obj::NAME] = text(new.name.as_str()))
}

/// A trigger's source with another name, which stands in quotation marks if it needs them.
fn with_name(source: &str, name: &str) -> String {
    let tokens = sql::lexer::lex(source).tokens;
    let Some(place) = tokens.get(1) else { return source.to_owned() };
    let with = |shown: &str| format!("{}{shown}{}", &source[..place.start as usize], &source[place.end as usize..]);
    let plain = with(&name.to_lowercase());
    match sql::plsql::parse_trigger_header(&plain) {
        Ok(header) if header.name.name == name => plain,
        // a reserved word, or a name with other characters
        _ => with(&format!("\"{name}\"")),
    }
}

/// ALTER TABLE … ENABLE or DISABLE ALL TRIGGERS. The table is locked and altered by the caller.
pub fn set_all(work: &mut Work<'_>, table: &TableDef, enable: bool) -> Result<()> {
    for def in &table.triggers {
        let on = flag(enable);
        work.change()
            .update_by(Base::Trigger, by(trigger::OBJ, def.object), &mut |row| row[trigger::ENABLED] = on.clone())?;
        work.altered(def.object)?;
    }
    Ok(())
}

/// Renames a column of a table in the lists of its triggers. The sources keep the old name, so the triggers have
/// errors, but UPDATE OF names the same columns as before.
pub fn rename_column(work: &mut Work<'_>, table: ObjectId, from: &str, to: &str) -> Result<()> {
    let (before, after) = (quoted([from]), quoted([to]));
    work.change().update_by(Base::Trigger, by(trigger::BASEOBJECT, table), &mut |row| {
        for list in [trigger::UPDATECOLS, trigger::NEWIN, trigger::NEWOUT, trigger::OLDIN] {
            if let Value::Text(names) = &row[list] {
                row[list] = text(names.replace(&before, &after));
            }
        }
    })?;
    Ok(())
}

/// DROP TRIGGER.
pub fn drop(work: &mut Work<'_>, target: &Target) -> Result<()> {
    let (object, table) = existing(work, target, SystemPrivilege::DropAnyTrigger)?;
    crate::event_trigger::require_database(work, object, target, false)?;
    remove(work, object, table)
}

/// Removes a trigger whose table stays.
pub fn remove(work: &mut Work<'_>, object: ObjectId, table: ObjectId) -> Result<()> {
    lock_base(work, table)?;
    remove_unit(work, object)?;
    let has_others = work.image.triggers_on(table).iter().any(|other| *other != object);
    mark(work, table, has_others)
}

#[cfg(test)]
mod tests {
    use super::with_name;

    #[test]
    fn the_name_in_the_source_changes() {
        assert_eq!(
            with_name("trigger a before insert on a begin null; end;", "B_1"),
            "trigger b_1 before insert on a begin null; end;"
        );
        let other = "TRIGGER \"x y\" after delete on a begin null; end;";
        assert_eq!(with_name(other, "a b"), "TRIGGER \"a b\" after delete on a begin null; end;");
        assert_eq!(with_name(other, "SELECT"), "TRIGGER \"SELECT\" after delete on a begin null; end;");
        assert_eq!(with_name(other, "A.B"), "TRIGGER \"A.B\" after delete on a begin null; end;");
    }
}
