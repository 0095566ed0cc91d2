//! Triggers on schemas and the database: their privileges and events.

use crate::work::{Target, Work};
use dictionary::{Catalog, NO_BASE, SystemPrivilege, UserId};
use sql::plsql::ast::{TriggerEvent, TriggerHeader, TriggerScope};
use types::{ObjectId, Ora, Result};

/// The owner of the schema that a new trigger is on; `None` for the database. The session may create the trigger.
///
/// # Errors
/// ORA-30510 for the schema of SYS, ORA-01918 for an unknown one, ORA-01031.
pub fn schema_of(work: &Work<'_>, target: &Target, header: &TriggerHeader, base: u32) -> Result<Option<UserId>> {
    let TriggerScope::Schema(named, pos) = &header.scope else {
        let may = work.names.has(SystemPrivilege::AdministerDatabaseTrigger);
        return if may { Ok(None) } else { Err(Ora::new(1031).at(target.pos)) };
    };
    let owner = match named {
        None => work.names.schema().0,
        Some(named) => {
            let user = work.image.user_named(&named.name).filter(|user| !user.is_role);
            user.map(|user| user.id).ok_or_else(|| Ora::with(1918, &[&named.name]).at(base + named.pos))?
        }
    };
    if owner == UserId::SYS {
        return Err(Ora::new(30510).at(base + pos));
    }
    if owner != work.session.user && !work.names.has(SystemPrivilege::CreateAnyTrigger) {
        return Err(Ora::new(1031).at(target.pos));
    }
    Ok(Some(owner))
}

/// The events of a trigger as bits: 0 for a trigger on a table or view.
pub fn bits(header: &TriggerHeader) -> u32 {
    header.events.iter().fold(0, |all, event| match event {
        TriggerEvent::System(event) => all | event.bit(),
        TriggerEvent::Insert | TriggerEvent::Update(_) | TriggerEvent::Delete => all,
    })
}

/// ORA-01031 unless the session may alter or drop the trigger, if it is on the database. The owner may always drop it.
pub fn require_database(work: &Work<'_>, object: ObjectId, target: &Target, alters: bool) -> Result<()> {
    if work.image.trigger_base(object) != Some(NO_BASE) || !alters && target.owner == work.session.user {
        return Ok(());
    }
    let found = work.image.event_triggers().into_iter().find(|trigger| trigger.object == object);
    let is_of_database = found.is_some_and(|trigger| trigger.schema.is_none());
    match is_of_database && !work.names.has(SystemPrivilege::AdministerDatabaseTrigger) {
        true => Err(Ora::new(1031).at(target.pos)),
        false => Ok(()),
    }
}

/// Removes the triggers of others on a schema that is dropped. Those of its owner go with the owner's objects.
pub fn remove_of_schema(work: &mut Work<'_>, owner: UserId, name: &str) -> Result<()> {
    for trigger in work.image.event_triggers() {
        if trigger.schema == Some(owner) && trigger.owner != name {
            crate::stored::remove_unit(work, trigger.object)?;
        }
    }
    Ok(())
}
