//! ALTER … COMPILE of units and views.

use crate::host::Outcome;
use crate::stored::{object_kind, settings_of, store_errors, store_settings};
use crate::work::{Target, Work};
use dictionary::*;
use sql::ast::{AlterCompile, CompileAction, CompileKind, StoredKind};
use types::{ObjectId, Ora, Result};

/// ALTER ... COMPILE.
pub fn compile(work: &mut Work<'_>, alter: &AlterCompile) -> Result<Outcome> {
    let AlterCompile { kind: _, name, body, specification, action, settings, reuse, pos } = alter;
    let target = work.target(name)?;
    let stored = match alter.kind {
        CompileKind::Stored(StoredKind::Trigger) => return crate::trigger::alter(work, &target, alter),
        // ENABLE and DISABLE are for triggers.
        _ if *action != CompileAction::Compile => return Err(Ora::new(922).at(target.pos)),
        // Views have no settings.
        CompileKind::View if *reuse || !settings.is_empty() => {
            return Err(Ora::new(922).at(settings.first().map_or(pos.0, |setting| setting.name.pos.0)));
        }
        CompileKind::View => {
            let object = work.existing(&target, ObjectKind::View, 942)?;
            work.require(&target, None, SystemPrivilege::AlterAnyTable)?;
            return compile_view(work, object, &target);
        }
        CompileKind::Stored(kind) => kind,
    };
    let mut kinds = vec![stored];
    match (stored, *body) {
        (StoredKind::Package, true) => kinds = vec![StoredKind::PackageBody],
        (StoredKind::Package, false) if !specification => kinds.push(StoredKind::PackageBody),
        _ => {}
    }
    let mut outcome = Outcome::default();
    for (i, stored) in kinds.into_iter().enumerate() {
        let kind = object_kind(stored).map_err(|e| e.at(pos.0))?;
        if i > 0 && work.image.find(target.owner, kind, &target.name).is_none() {
            continue;
        }
        let object = work.existing(&target, kind, 4043)?;
        work.require(&target, None, SystemPrivilege::AlterAnyProcedure)?;
        work.claim_unit(object)?;
        let unit = work.image.unit(object).ok_or_else(|| Ora::with(4043, &[&target.name]).at(target.pos))?;
        let settings = settings_of(work, alter, &unit.settings)?;
        let errors = work.host.compile(&target.owner_name, &target.name, stored, &unit.source, &settings)?;
        if settings != unit.settings {
            store_settings(work, object, &settings)?;
            work.note_redefined(object);
        }
        if !errors.is_empty() {
            work.note_redefined(object);
        }
        store_errors(work, object, &errors)?;
        outcome.compiled_with_errors |= !errors.is_empty();
    }
    Ok(outcome)
}

/// ALTER VIEW … COMPILE.
fn compile_view(work: &mut Work<'_>, object: ObjectId, target: &Target) -> Result<Outcome> {
    let view = work.image.view(object)?.ok_or_else(|| Ora::new(942).at(target.pos))?;
    let described = sql::parse_query(&view.text).and_then(|query| work.host.describe(&query, Some(target.owner)));
    let error = match described {
        Ok(columns) if view.columns.is_empty() || columns.len() == view.columns.len() => None,
        Ok(_) => Some(Ora::new(1730)),
        Err(error) => Some(error),
    };
    let errors: Vec<_> = error.map(|e| ErrorLine { line: 0, column: 0, text: e.headline() }).into_iter().collect();
    if !errors.is_empty() {
        work.note_redefined(object);
    }
    store_errors(work, object, &errors)?;
    Ok(Outcome { compiled_with_errors: !errors.is_empty() })
}
