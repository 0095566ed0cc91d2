//! The model: the outcome of an action by Oracle's rules.

use crate::actions::{Action, On};
use crate::actors::{Actor, Holding};
use crate::ways::{As, Way};

/// The outcome: nothing, or the number of the refusal.
pub type Outcome = Option<&'static str>;

/// The refusals. A statement refused for another reason was permitted: a key that prevents DROP, a name that exists.
const REFUSALS: &[&str] = &[
    "ORA-00942",
    "ORA-00904",
    "ORA-02289",
    "ORA-01031",
    "ORA-01932",
    "ORA-01927",
    "ORA-04042",
    "ORA-04043",
    "ORA-04080",
    "ORA-01418",
    "ORA-06598",
    "ORA-20000",
    // A division by the number of lines that DBMS_XPLAN shows.
    "ORA-01476",
    // After one of those: a cursor whose query fails is not declared.
    "PLS-00904",
    "PLS-00201",
];

pub fn outcome(error: &str) -> Outcome {
    REFUSALS.iter().copied().find(|code| error.contains(code))
}

/// ANY privileges that make the tables and views of others visible.
const SEES_TABLES: &[&str] = &[
    "create any table",
    "alter any table",
    "drop any table",
    "lock any table",
    "comment any table",
    "select any table",
    "select any table+",
    "read any table",
    "insert any table",
    "update any table",
    "delete any table",
    "flashback any table",
];
const SEES_UNITS: &[&str] = &[
    "create any procedure",
    "alter any procedure",
    "drop any procedure",
    "execute any procedure",
    "debug any procedure",
];
const SEES_TRIGGERS: &[&str] = &["create any trigger", "alter any trigger", "drop any trigger", "debug any procedure"];
const SEES_TYPES: &[&str] = &["execute any type", "drop any type", "debug any procedure"];
const SEES_SEQUENCES: &[&str] =
    &["select any sequence", "create any sequence", "alter any sequence", "drop any sequence"];
const SEES_INDEXES: &[&str] = &["create any index", "alter any index", "drop any index"];

/// Privileges that can be granted on a view.
pub const ON_VIEW: &[&str] =
    &["select", "read", "insert", "update", "delete", "update (b)", "insert (a)", "references", "flashback", "debug"];

/// The actor's privileges that concern the action, with `+` if with the grant or admin option. The second value says
/// whether they are on the object itself.
fn held(actor: Actor, action: &Action, way: Way) -> (Vec<&'static str>, bool) {
    let to_give = |name: &'static str| match name {
        "select" => "select+",
        "update" => "update+",
        "update (b)" => "update (b)+",
        "execute" => "execute+",
        "create table" => "create table+",
        "select any table" => "select any table+",
        other => unreachable!("{other}"),
    };
    let on_table = matches!(action.on, On::Table | On::Granted | On::Statistics);
    let on_it = |name: &str| way != Way::View || ON_VIEW.contains(&name);
    match actor.holding {
        Holding::OnTable(name) if on_table && on_it(name) => (vec![name], true),
        Holding::OnTableToGive(name) if on_table && on_it(name) => (vec![name, to_give(name)], true),
        Holding::OnSequence(name) if action.on == On::Sequence => (vec![name], true),
        Holding::OnUnits("execute") | Holding::OnUnitsToGive("execute") if action.on == On::Type => {
            (vec!["execute"], true)
        }
        Holding::OnUnits(name) if matches!(action.on, On::Function | On::Procedure | On::Units) => (vec![name], true),
        Holding::OnUnitsToGive(name) if matches!(action.on, On::Function | On::Procedure | On::Units) => {
            (vec![name, to_give(name)], true)
        }
        Holding::OnPackage(name) => (vec![name], false),
        Holding::System(name) | Holding::Role(name) => (vec![name], false),
        Holding::SystemToGive(name) => (vec![name, to_give(name)], false),
        _ => (Vec::new(), false),
    }
}

pub fn expected(actor: Actor, action: &Action, way: Way) -> Outcome {
    let identity = way.identity();
    if actor.holding == Holding::Sysdba && identity == As::Actor {
        return way.inherits().then_some("ORA-06598");
    }
    let is_owner = identity == As::Owner || (actor.holding == Holding::Owner && identity != As::Nobody);
    let roles_count = identity == As::Actor;
    if is_owner && action.owners {
        return None;
    }
    if !is_owner && actor.holding == Holding::Dba && roles_count && action.dba {
        return None;
    }
    let is_actor = matches!(identity, As::Actor | As::ActorAlone) && !is_owner;
    let counts = is_actor && (roles_count || !actor.by_role);
    let (held, on_it) = if counts { held(actor, action, way) } else { Default::default() };
    if action.needs.iter().all(|need| need.iter().any(|name| held.contains(name))) && !action.needs.is_empty() {
        return None;
    }
    let is_open = action.needs.is_empty() && !action.owners && action.dba;
    if is_open {
        return None;
    }
    let (sees, missing, short): (&[&str], _, _) = match action.on {
        On::Table | On::OtherTable => (SEES_TABLES, "ORA-00942", "ORA-01031"),
        On::Granted => (SEES_TABLES, "ORA-00942", "ORA-01927"),
        On::Sequence | On::OtherSequence if action.text.starts_with("grant") => {
            (SEES_SEQUENCES, "ORA-00942", "ORA-01031")
        }
        On::Sequence | On::OtherSequence => (SEES_SEQUENCES, "ORA-02289", "ORA-01031"),
        On::Function => (SEES_UNITS, "ORA-00904", "ORA-01031"),
        On::Procedure => (SEES_UNITS, "PLS-00201", "PLS-00904"),
        On::Type => (SEES_TYPES, "ORA-00904", "ORA-01031"),
        On::OtherType => (SEES_TYPES, "ORA-04043", "ORA-01031"),
        On::OtherUnit => (SEES_UNITS, "ORA-04043", "ORA-01031"),
        On::OtherTrigger => (SEES_TRIGGERS, "ORA-04080", "ORA-01031"),
        On::Units => (SEES_UNITS, "ORA-04042", "ORA-01031"),
        On::Index => (SEES_INDEXES, "ORA-01418", "ORA-01031"),
        On::Statistics => (&[], "ORA-20000", "ORA-20000"),
        On::System => (&[], "ORA-01031", "ORA-01031"),
        On::Role => (&[], "ORA-01932", "ORA-01932"),
        On::Catalog => (&[], "ORA-00942", "ORA-00942"),
        On::Dictionary => (&["select any dictionary"], "ORA-00942", "ORA-01031"),
        On::Package => (&[], "PLS-00201", "PLS-00201"),
        On::PackageInSql => (&[], "ORA-00904", "ORA-00904"),
        On::Cursor => (&[], "ORA-01476", "ORA-01476"),
    };
    // DBA has every ANY privilege, and SELECT ANY DICTIONARY.
    let is_dba = is_actor && actor.holding == Holding::Dba && roles_count;
    let visible = on_it || (is_dba && action.on != On::Catalog) || held.iter().any(|name| sees.contains(name));
    Some(if visible { short } else { missing })
}
