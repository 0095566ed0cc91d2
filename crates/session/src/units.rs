//! Stored units for PL/SQL: their sources, images, notes and results of compiling.

use crate::core::Core;
use crate::world::World;
use dictionary::{Catalog, ErrorLine, ObjectDef, ObjectKind, ProcedureDef, SessionCatalog, UnitKind, Verdict};
use params::Param;
use plsql::{StoredUnit, TriggerColumn, TriggerTable};
use sql::plsql::ast::UnitKind as UnitKindOfText;
use std::rc::Rc;
use types::{ObjectId, Ora, Result};

/// The units with that name, with their sources.
pub fn stored(world: &mut World<'_>, owner: Option<&str>, name: &str) -> Result<Vec<StoredUnit>> {
    let names = world.core.names()?;
    let units = names.units(owner, name)?;
    let unit = |u: &Rc<dictionary::ProcedureDef>| StoredUnit {
        owner: u.owner.clone(),
        name: u.name.clone(),
        kind: unit_kind(u.kind),
        source: u.source.clone(),
        settings: u.settings.clone(),
    };
    Ok(units.iter().map(unit).collect())
}

/// The rows of `obj$` of a unit. A trigger has a name space of its own.
fn parts_of(names: &SessionCatalog, unit: &StoredUnit) -> Vec<ObjectDef> {
    if unit.kind != UnitKindOfText::Trigger {
        return names.parts_of_unit(&unit.owner, &unit.name);
    }
    let image = names.image();
    let found = image.user_named(&unit.owner).and_then(|owner| image.find(owner.id, ObjectKind::Trigger, &unit.name));
    found.cloned().into_iter().collect()
}

/// The trigger with that number, and its table: one without columns for a trigger on a schema or the database.
pub fn trigger(world: &mut World<'_>, number: u32) -> Result<Option<(StoredUnit, TriggerTable)>> {
    let names = world.core.names()?;
    let image = names.image();
    let unit = image.unit(ObjectId(number)).filter(|unit| unit.kind == UnitKind::Trigger);
    let base = image.trigger_base(ObjectId(number));
    image.checked()?;
    let Some((unit, base)) = unit.zip(base) else { return Ok(None) };
    let table = match base {
        dictionary::NO_BASE => Some(TriggerTable::default()),
        base => trigger_table(world, base.0)?,
    };
    let Some(table) = table else { return Ok(None) };
    let ProcedureDef { owner, name, source, settings, .. } = &*unit;
    let (owner, name, source, settings) = (owner.clone(), name.clone(), source.clone(), settings.clone());
    Ok(Some((StoredUnit { owner, name, kind: UnitKindOfText::Trigger, source, settings }, table)))
}

/// The columns of a table or view that a trigger on it may name.
pub fn trigger_table(world: &mut World<'_>, table: u32) -> Result<Option<TriggerTable>> {
    let names = world.core.names()?;
    let image = names.image();
    let (columns, has_rowids) = match image.table(ObjectId(table))? {
        Some(table) => (table.columns.clone(), true),
        None if image.view(ObjectId(table))?.is_some() => (image.columns(ObjectId(table))?, false),
        None => return Ok(None),
    };
    let seen = columns.iter().enumerate().filter(|(_, column)| !column.hidden);
    let column = |(at, column): (usize, &dictionary::ColumnDef)| TriggerColumn {
        name: column.name.clone(),
        ty: column.data_type,
        position: at as u16,
        is_virtual: column.virtual_text.is_some(),
    };
    let rowid = TriggerColumn {
        name: "ROWID".to_string(),
        ty: types::DataType::Rowid,
        position: exec::ROWID_COLUMN,
        is_virtual: false,
    };
    Ok(Some(TriggerTable { columns: seen.map(column).chain(has_rowids.then_some(rowid)).collect() }))
}

/// Notes in the library cache that a unit is linked.
pub fn linked(world: &mut World<'_>, owner: &str, name: &str) {
    let (p, library) = (&world.core.p, world.core.shared.library);
    if owner.is_empty() {
        // A built-in unit is a package of SYS without a number.
        exec::objects::touch(p, library, ObjectKind::Package as u8, "SYS", name, 0);
        return;
    }
    let Ok(names) = world.core.names() else { return };
    for unit in names.parts_of_unit(owner, name).iter().filter(|unit| !is_body(unit.kind)) {
        exec::objects::touch(p, library, unit.kind as u8, owner, name, unit.object.0);
    }
}

/// Notes that the call runs a unit, and waits for DDL that is defining it. False in a call of DDL.
pub fn runs(world: &mut World<'_>, owner: &str, name: &str) -> Result<bool> {
    // A function called by DDL must not wait for a session that may itself wait for this DDL.
    if world.core.defining.get() {
        return Ok(false);
    }
    let mut now = world.core.names()?.unit_number(owner, name);
    while let Some(unit) = now {
        let noted = world.core.shared.library.run_unit(&world.core.p, unit, world.core.patience());
        noted.map_err(|refused| refused.into_ora(owner, name))?;
        // Before the note, DDL may have replaced the unit by one with another number.
        let then = now;
        now = world.core.names()?.unit_number(owner, name);
        if now == then {
            break;
        }
    }
    Ok(true)
}

/// The settings that decide the meaning of compiled code.
pub fn settings(world: &World<'_>) -> [u64; 3] {
    let session = &world.cx.session;
    let others = session.options.optimizer ^ session.options.plsql.rotate_left(1);
    [session.nls_fingerprint(), session.nls.length_semantics as u64, others]
}

/// The parameters that PL/SQL code may ask for by `$$name`, and that are kept with each unit.
pub const SETTINGS: &[Param] = &[
    Param::PlsqlCcflags,
    Param::PlsqlOptimizeLevel,
    Param::PlsqlCodeType,
    Param::PlsqlDebug,
    Param::PlsqlWarnings,
    Param::NlsLengthSemantics,
    Param::PlscopeSettings,
];

/// The session's settings for new units that are not the usual ones.
pub fn unit_settings(core: &Core) -> Rc<[(String, String)]> {
    let params = core.params.borrow();
    let set = SETTINGS.iter().map(|param| (param.name().to_uppercase(), params.get(*param), param.def().default));
    set.filter(|(_, value, usual)| value != usual).map(|(name, value, _)| (name, value)).collect()
}

/// A setting of ALTER … COMPILE.
///
/// # Errors
/// ORA-00922 for another parameter; those of a bad value.
pub fn unit_setting(name: &str, value: &str) -> Result<(String, String)> {
    let param = SETTINGS.iter().find(|param| param.name().eq_ignore_ascii_case(name)).ok_or_else(|| Ora::new(922))?;
    check_setting(*param, value)?;
    Ok((param.name().to_uppercase(), params::value::normalise(param.def(), value)?))
}

/// ORA-39962 for a malformed `plsql_ccflags`.
pub fn check_setting(param: Param, value: &str) -> Result<()> {
    let is_bad = param == Param::PlsqlCcflags && sql::plsql::conditional_flags(value).is_none();
    if is_bad { Err(Ora::new(39962)) } else { Ok(()) }
}

/// Copies the image of a compiled unit, if other sessions have left one.
pub fn image(world: &mut World<'_>, unit: &StoredUnit, body: bool, image: &mut Vec<u8>) -> Option<plsql::UnitImage> {
    let (p, library) = (&world.core.p, world.core.shared.library);
    let names = world.core.names().ok()?;
    let env = world.env_of_unit(unit)?;
    let mut found = None;
    for part in parts_of(&names, unit) {
        let has_code = is_body(part.kind) == body;
        let child =
            exec::objects::touch_code(p, library, part.kind as u8, &unit.owner, &unit.name, part.object.0, &env);
        found = found.or(child.filter(|_| has_code));
    }
    let edition = library.image(found.filter(|_| world.may_share())?, image)?;
    let number = dictionary::DictionaryShared::number_of(world.cx.host.epoch());
    let is_known = number.is_some_and(|number| library.is_known(edition, number));
    Some(plsql::UnitImage { edition, is_known })
}

/// Leaves the image of a compiled unit to other sessions.
pub fn keep(world: &mut World<'_>, unit: &StoredUnit, body: bool, image: &[u8], stale: Option<library_cache::Edition>) {
    let (Ok(names), Some(env)) = (world.core.names(), world.env_of_unit(unit)) else { return };
    if !world.may_share() {
        return;
    }
    let parts = parts_of(&names, unit);
    let Some(part) = parts.iter().find(|part| is_body(part.kind) == body) else { return };
    let (p, library) = (&world.core.p, world.core.shared.library);
    let of = (part.kind as u8, unit.owner.as_str(), unit.name.as_str(), part.object.0);
    exec::objects::load_code(p, library, of, &env, image, stale);
}

/// Notes the result of compiling a stored unit, if that changes its status.
pub fn compiled(world: &mut World<'_>, unit: &StoredUnit, errors: &[plsql::CompileError]) {
    let Ok(names) = world.core.names() else { return };
    let parts = parts_of(&names, unit);
    let is_it = |kind| match kind {
        ObjectKind::PackageBody => unit.kind == UnitKindOfText::PackageBody,
        ObjectKind::TypeBody => unit.kind == UnitKindOfText::TypeBody,
        _ => !matches!(unit.kind, UnitKindOfText::PackageBody | UnitKindOfText::TypeBody),
    };
    let Some(stored) = parts.iter().find(|part| is_it(part.kind)) else { return };
    let says_nothing = match (errors.is_empty(), stored.valid) {
        (true, valid) => valid,
        // DDL invalidates dependent units itself. Unless a name is missing, the error of a valid unit may be
        // temporary.
        (false, true) => !errors.iter().any(names_nothing),
        (false, false) => errors.iter().any(passes),
    };
    if says_nothing {
        return;
    }
    note_verdict(world.core, stored.object, names.image().epoch(), errors);
}

/// Notes the result of compiling a unit, for [`Core::store_verdicts`].
fn note_verdict(core: &Core, object: ObjectId, epoch: u64, errors: &[plsql::CompileError]) {
    let mut errors = errors.to_vec();
    sort_errors(&mut errors);
    let line = |e: plsql::CompileError| ErrorLine { line: e.line, column: e.column, text: e.text };
    let errors = errors.into_iter().map(line).collect();
    core.dict.borrow().verdicts().borrow_mut().push(Verdict { object, epoch, errors });
}

/// Sorts errors for USER_ERRORS by their places; at one place "ignored" comes before its reason.
pub(crate) fn sort_errors(errors: &mut [plsql::CompileError]) {
    errors.sort_by_key(|e| (e.line, e.column, !e.text.ends_with("ignored")));
}

/// The times at which the parts of a unit were defined.
pub fn defined(world: &mut World<'_>, owner: &str, name: &str) -> [u64; 2] {
    let Ok(names) = world.core.names() else { return [0; 2] };
    let mut parts = names.parts_of_unit(owner, name).into_iter().map(|part| part.changed);
    [0, 1].map(|_| parts.next().unwrap_or(0))
}

/// Whether the specification of a unit is valid.
pub fn is_valid(world: &mut World<'_>, owner: &str, name: &str) -> bool {
    let Ok(names) = world.core.names() else { return true };
    names.parts_of_unit(owner, name).iter().all(|unit| is_body(unit.kind) || unit.valid)
}

/// The unit with that number, for a call by its number.
pub fn called(world: &mut World<'_>, number: u32) -> Option<(String, String)> {
    let names = world.core.names().ok()?;
    let called = Catalog::called(&*names, types::ObjectId(number))?;
    Some((called.owner, called.name))
}

impl World<'_> {
    /// True when code compiled now has the same meaning in other sessions.
    pub(crate) fn may_share(&self) -> bool {
        self.cx.session.flashback.is_none() && exec::Host::may_share(self.core)
    }

    /// The environment in the key of a stored unit's image: its owner, and the NLS and optimizer settings.
    fn env_of_unit<'u>(&self, unit: &'u StoredUnit) -> Option<library_cache::Env<'u>> {
        let user = self.core.user_id(&unit.owner).ok().flatten()?;
        let [language, lengths, optimizer] = settings(self);
        let nls = language.wrapping_add(lengths);
        Some(library_cache::Env { user: user.0, schema: &unit.owner, optimizer, nls, auth: 0, binds: 0 })
    }
}

fn is_body(kind: ObjectKind) -> bool {
    matches!(kind, ObjectKind::PackageBody | ObjectKind::TypeBody)
}

/// True for an error about a name that does not exist or may not be used.
fn names_nothing(error: &plsql::CompileError) -> bool {
    const CODES: [&str; 9] = [
        "ORA-00904",
        "ORA-00942",
        "ORA-02289",
        "ORA-04063",
        "ORA-06575",
        "PLS-00201",
        "PLS-00302",
        "PLS-00904",
        "PLS-00905",
    ];
    CODES.iter().any(|code| error.text.contains(code))
}

/// True for an error that is not the unit's fault: the session was interrupted, or a resource was exhausted.
pub fn passes(error: &plsql::CompileError) -> bool {
    const CODES: [&str; 10] = [
        "ORA-00028",
        "ORA-00060",
        "ORA-00600",
        "ORA-01013",
        "ORA-01555",
        "ORA-02393",
        "ORA-02395",
        "ORA-04030",
        "ORA-04031",
        "ORA-04036",
    ];
    CODES.iter().any(|code| error.text.contains(code))
}

fn unit_kind(kind: UnitKind) -> UnitKindOfText {
    use UnitKindOfText as Ast;
    match kind {
        UnitKind::Procedure => Ast::Procedure,
        UnitKind::Function => Ast::Function,
        UnitKind::Package => Ast::Package,
        UnitKind::PackageBody => Ast::PackageBody,
        UnitKind::Trigger => Ast::Trigger,
        UnitKind::Type => Ast::Type,
        UnitKind::TypeBody => Ast::TypeBody,
    }
}
