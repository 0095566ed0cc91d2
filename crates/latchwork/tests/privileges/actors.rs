//! Actors: users with one privilege each.

/// The privilege of an actor: on one of O's objects, on a package of SYS, or a system privilege.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holding {
    Nothing,
    /// On the table, and on the view if the privilege exists for views.
    OnTable(&'static str),
    /// The same, with the grant option.
    OnTableToGive(&'static str),
    OnSequence(&'static str),
    OnUnits(&'static str),
    OnUnitsToGive(&'static str),
    /// EXECUTE on a package of SYS.
    OnPackage(&'static str),
    System(&'static str),
    /// The same, with the admin option.
    SystemToGive(&'static str),
    /// A role that every database has.
    Role(&'static str),
    Owner,
    Dba,
    Sysdba,
}

use Holding::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Actor {
    pub holding: Holding,
    pub by_role: bool,
}

const ON_TABLE: &[&str] = &[
    "select",
    "read",
    "insert",
    "update",
    "delete",
    "update (b)",
    "insert (a)",
    "alter",
    "index",
    "references",
    "flashback",
    "debug",
];
const ON_TABLE_TO_GIVE: &[&str] = &["select", "update", "update (b)"];
const ON_SEQUENCE: &[&str] = &["select", "alter"];
const ON_UNITS: &[&str] = &["execute", "debug"];
const PACKAGES: &[&str] =
    &["dbms_connection_pool", "dbms_lock", "dbms_result_cache", "dbms_shared_pool", "dbms_workload_repository"];
const ROLES: &[&str] = &["select_catalog_role", "execute_catalog_role"];
const SYSTEM_TO_GIVE: &[&str] = &["create table", "select any table"];
const SYSTEM: &[&str] = &[
    "select any table",
    "read any table",
    "insert any table",
    "update any table",
    "delete any table",
    "lock any table",
    "force transaction",
    "force any transaction",
    "alter any table",
    "drop any table",
    "comment any table",
    "flashback any table",
    "create any table",
    "create any index",
    "alter any index",
    "drop any index",
    "select any sequence",
    "create any sequence",
    "alter any sequence",
    "drop any sequence",
    "execute any procedure",
    "create any procedure",
    "alter any procedure",
    "drop any procedure",
    "create any trigger",
    "alter any trigger",
    "drop any trigger",
    "debug any procedure",
    "execute any type",
    "drop any type",
    "create any view",
    "drop any view",
    "create any synonym",
    "drop any synonym",
    "create public synonym",
    "drop public synonym",
    "select any dictionary",
    "analyze any",
    "audit any",
    "audit system",
    "alter system",
    "alter session",
    "alter database",
    "alter tablespace",
    "create tablespace",
    "create user",
    "alter user",
    "drop user",
    "create role",
    "drop any role",
    "create profile",
    "alter profile",
    "drop profile",
    "create any directory",
    "drop any directory",
    "grant any privilege",
    "grant any role",
    "grant any object privilege",
    "inherit any privileges",
];

pub fn actors() -> Vec<Actor> {
    let mut list = vec![Actor { holding: Nothing, by_role: false }];
    let holdings = ON_TABLE.iter().map(|name| OnTable(name));
    let holdings = holdings.chain(ON_SEQUENCE.iter().map(|name| OnSequence(name)));
    let holdings = holdings.chain(ON_UNITS.iter().map(|name| OnUnits(name)));
    let holdings = holdings.chain(PACKAGES.iter().map(|name| OnPackage(name)));
    for holding in holdings.chain(SYSTEM.iter().map(|name| System(name))) {
        list.push(Actor { holding, by_role: false });
        // Neither can be granted to a role.
        if !matches!(holding, OnTable("references" | "index")) {
            list.push(Actor { holding, by_role: true });
        }
    }
    // The grant option cannot be given to a role, the admin option can.
    list.extend(ON_TABLE_TO_GIVE.iter().map(|name| Actor { holding: OnTableToGive(name), by_role: false }));
    list.push(Actor { holding: OnUnitsToGive("execute"), by_role: false });
    for name in SYSTEM_TO_GIVE {
        list.extend([false, true].map(|by_role| Actor { holding: SystemToGive(name), by_role }));
    }
    list.extend(ROLES.iter().map(|name| Actor { holding: Role(name), by_role: true }));
    list.push(Actor { holding: Dba, by_role: true });
    list.push(Actor { holding: Owner, by_role: false });
    list.push(Actor { holding: Sysdba, by_role: false });
    list
}
