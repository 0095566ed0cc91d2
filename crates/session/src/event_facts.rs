//! The events of DDL statements, as the triggers on them see them.

use crate::core::Core;
use dictionary::Catalog;
use plsql::EventFacts;
use sql::ast::*;
use sql::plsql::ast::SystemEvent;
use types::Result;

/// A DDL statement as an event: `None` for one that fires no triggers, such as ALTER DATABASE.
pub(crate) struct DdlEvent {
    /// The event besides DDL.
    pub event: Option<SystemEvent>,
    pub facts: EventFacts,
}

/// The type of an object, its schema if it is named, and its name.
struct Object<'a> {
    kind: &'static str,
    owner: Owner<'a>,
    name: &'a str,
}

enum Owner<'a> {
    /// An object of a schema: the one that is named, or the current one.
    Schema(Option<&'a str>),
    User(&'static str),
    /// The object belongs to no schema.
    None,
}

fn in_schema<'a>(kind: &'static str, name: &'a Name) -> Object<'a> {
    Object { kind, owner: Owner::Schema(name.qualifier()), name: name.last() }
}

fn of_database<'a>(kind: &'static str, name: &'a str) -> Object<'a> {
    Object { kind, owner: Owner::None, name }
}

/// The event of a statement.
///
/// # Errors
/// Those of reading the dictionary.
pub(crate) fn of(core: &Core, ddl: &Ddl, text: &str) -> Result<Option<DdlEvent>> {
    let Some((event, name, object)) = parts_of(ddl) else { return Ok(None) };
    let Object { kind, owner, name: object } = object;
    let object_owner = match owner {
        Owner::Schema(Some(owner)) => owner.to_owned(),
        Owner::Schema(None) => core.names()?.schema().1,
        Owner::User(name) => name.to_owned(),
        Owner::None => String::new(),
    };
    let mut facts = EventFacts {
        name: name.to_owned(),
        object_type: kind.to_owned(),
        object_owner,
        object_name: object.to_owned(),
        text: Some(sql::mask_passwords(text).into_owned()),
        ..EventFacts::default()
    };
    add_details(ddl, &mut facts);
    Ok(Some(DdlEvent { event, facts }))
}

fn add_details(ddl: &Ddl, facts: &mut EventFacts) {
    let names_of = |privileges: &[Privilege]| privileges.iter().map(|privilege| privilege.name.clone()).collect();
    let users_of = |users: &[Grantee]| users.iter().map(|user| user.name.name.clone()).collect();
    match ddl {
        Ddl::Grant(grant) => {
            facts.privileges = names_of(&grant.privileges);
            facts.grantees = users_of(&grant.to);
            facts.with_grant_option = grant.with_option;
        }
        Ddl::Revoke(revoke) => {
            facts.privileges = names_of(&revoke.privileges);
            facts.grantees = users_of(&revoke.from);
        }
        Ddl::AlterTable(alter) => {
            for action in &alter.actions {
                match action {
                    AlterTableAction::AddColumns(columns) | AlterTableAction::ModifyColumns(columns) => {
                        facts.altered.extend(columns.iter().map(|column| column.name.name.clone()));
                    }
                    AlterTableAction::RenameColumn { from, to: _ } => facts.altered.push(from.name.clone()),
                    AlterTableAction::DropColumns { columns, cascade: _, unused: _ } => {
                        facts.dropped.extend(columns.iter().map(|column| column.name.clone()));
                    }
                    _ => {} // not a clause: no other action is on columns
                }
            }
        }
        _ => {} // not a clause: no other statement has details
    }
}

/// The event of a statement, the word that names it, and its object.
fn parts_of(ddl: &Ddl) -> Option<(Option<SystemEvent>, &'static str, Object<'_>)> {
    use SystemEvent as E;
    let (event, object) = match ddl {
        Ddl::CreateTable(create) => (E::Create, in_schema("TABLE", &create.name)),
        Ddl::CreateCluster(create) => (E::Create, in_schema("CLUSTER", &create.name)),
        Ddl::CreateIndex(create) => (E::Create, in_schema("INDEX", &create.name)),
        Ddl::CreateView(create) => (E::Create, in_schema("VIEW", &create.name)),
        Ddl::CreateMaterializedView(create) => (E::Create, in_schema("MATERIALIZED VIEW", &create.name)),
        Ddl::CreateSequence(create) => (E::Create, in_schema("SEQUENCE", &create.name)),
        Ddl::CreateSynonym(create) if create.public => {
            (E::Create, Object { owner: Owner::User("PUBLIC"), ..in_schema("SYNONYM", &create.name) })
        }
        Ddl::CreateSynonym(create) => (E::Create, in_schema("SYNONYM", &create.name)),
        Ddl::CreateUser(create) => (E::Create, of_database("USER", &create.name.name)),
        Ddl::CreateRole(create) => (E::Create, of_database("ROLE", &create.name.name)),
        Ddl::AlterRole(alter) => (E::Alter, of_database("ROLE", &alter.name.name)),
        Ddl::Profile(limits) => {
            (if limits.alter { E::Alter } else { E::Create }, of_database("PROFILE", &limits.name.name))
        }
        Ddl::CreateStored(create) => (E::Create, in_schema(create.kind.object_type(), &create.name)),
        Ddl::CreateTablespace(create) => (E::Create, of_database("TABLESPACE", &create.name.name)),
        Ddl::AlterTablespace(alter) => (E::Alter, of_database("TABLESPACE", &alter.name.name)),
        Ddl::CreateContext(create) => {
            (E::Create, Object { owner: Owner::User("SYS"), ..of_database("CONTEXT", &create.name.name) })
        }
        Ddl::CreateDirectory(create) => {
            (E::Create, Object { owner: Owner::User("SYS"), ..of_database("DIRECTORY", &create.name.name) })
        }
        Ddl::Edition(EditionStatement::Create { name, parent: _, pos: _ }) => {
            (E::Create, of_database("EDITION", &name.name))
        }
        Ddl::Drop(drop) => (E::Drop, dropped(drop)),
        Ddl::AlterTable(alter) => (E::Alter, in_schema("TABLE", &alter.name)),
        Ddl::AlterIndex(alter) => (E::Alter, in_schema("INDEX", &alter.name)),
        Ddl::AlterSequence(alter) => (E::Alter, in_schema("SEQUENCE", &alter.name)),
        Ddl::AlterUser(alter) => (E::Alter, of_database("USER", &alter.name.name)),
        Ddl::ConnectThrough(through) => {
            (E::Alter, of_database("USER", through.clients.first().map_or("", |client| client.name.as_str())))
        }
        Ddl::AlterCompile(alter) => {
            let kind = match alter.kind {
                CompileKind::View => "VIEW",
                CompileKind::Stored(kind) => kind.object_type(),
            };
            (E::Alter, in_schema(kind, &alter.name))
        }
        Ddl::Truncate(truncate) => {
            (E::Truncate, in_schema(if truncate.cluster { "CLUSTER" } else { "TABLE" }, &truncate.name))
        }
        Ddl::Rename { from, to: _, pos: _ } => {
            (E::Rename, Object { owner: Owner::Schema(None), ..of_database("TABLE", &from.name) })
        }
        Ddl::Comment(comment) if comment.on_column => {
            let parts = comment.name.parts.as_slice();
            let (owner, name) = match parts {
                [owner, table, _] => (Some(owner.name.as_str()), table.name.as_str()),
                [table, _] => (None, table.name.as_str()),
                _ => (None, comment.name.last()),
            };
            (E::Comment, Object { kind: "TABLE", owner: Owner::Schema(owner), name })
        }
        Ddl::Comment(comment) => (E::Comment, in_schema("TABLE", &comment.name)),
        Ddl::Grant(grant) => (E::Grant, granted(grant.on.as_ref(), &grant.privileges)),
        Ddl::Revoke(revoke) => (E::Revoke, granted(revoke.on.as_ref(), &revoke.privileges)),
        Ddl::Analyze(analyze) => {
            let kind = match analyze.kind {
                AnalyzeKind::Table => "TABLE",
                AnalyzeKind::Index => "INDEX",
                AnalyzeKind::Cluster => "CLUSTER",
            };
            (E::Analyze, in_schema(kind, &analyze.name))
        }
        Ddl::Audit(audit) => {
            let object = match &audit.what {
                AuditWhat::Object { actions: _, on } => in_schema("OBJECT", on),
                AuditWhat::Policy(policy) => of_database("AUDIT POLICY", &policy.name),
                AuditWhat::Options(_) => of_database("", ""),
            };
            (if audit.noaudit { E::Noaudit } else { E::Audit }, object)
        }
        Ddl::AuditPolicy(policy) => {
            (if policy.alter { E::Alter } else { E::Create }, of_database("AUDIT POLICY", &policy.name.name))
        }
        Ddl::Purge(_) => return Some((None, "PURGE", of_database("", ""))),
        Ddl::AlterFiles(_)
        | Ddl::DefaultTablespace(_)
        | Ddl::DefaultTablespaceType(_)
        | Ddl::Edition(EditionStatement::Default { name: _, pos: _ }) => return None,
    };
    Some((Some(event), event.word(), object))
}

fn dropped(drop: &DropObject) -> Object<'_> {
    let name = &drop.name;
    match drop.kind {
        DropKind::Table => in_schema("TABLE", name),
        DropKind::Cluster => in_schema("CLUSTER", name),
        DropKind::Index => in_schema("INDEX", name),
        DropKind::View => in_schema("VIEW", name),
        DropKind::MaterializedView => in_schema("MATERIALIZED VIEW", name),
        DropKind::Sequence => in_schema("SEQUENCE", name),
        DropKind::Synonym => in_schema("SYNONYM", name),
        DropKind::PublicSynonym => Object { owner: Owner::User("PUBLIC"), ..in_schema("SYNONYM", name) },
        DropKind::DatabaseLink => in_schema("DATABASE LINK", name),
        DropKind::Stored(kind) => in_schema(kind.object_type(), name),
        DropKind::User => of_database("USER", name.last()),
        DropKind::Role => of_database("ROLE", name.last()),
        DropKind::Tablespace => of_database("TABLESPACE", name.last()),
        DropKind::Directory => Object { owner: Owner::User("SYS"), ..of_database("DIRECTORY", name.last()) },
        DropKind::Context => Object { owner: Owner::User("SYS"), ..of_database("CONTEXT", name.last()) },
        DropKind::Profile => of_database("PROFILE", name.last()),
        DropKind::AuditPolicy => of_database("AUDIT POLICY", name.last()),
        DropKind::Edition => of_database("EDITION", name.last()),
    }
}

/// The object of GRANT and REVOKE. A grant without an object is of system privileges, or of roles.
fn granted<'a>(on: Option<&'a GrantObject>, privileges: &[Privilege]) -> Object<'a> {
    match on {
        Some(GrantObject::Object(name)) => in_schema("OBJECT PRIVILEGE", name),
        Some(GrantObject::Directory(name)) => {
            Object { owner: Owner::User("SYS"), ..of_database("OBJECT PRIVILEGE", &name.name) }
        }
        Some(GrantObject::Edition(name)) => of_database("OBJECT PRIVILEGE", &name.name),
        Some(GrantObject::Users(users)) => {
            of_database("OBJECT PRIVILEGE", users.first().map_or("", |user| user.name.as_str()))
        }
        None => {
            let is_system = |privilege: &Privilege| {
                privilege.name == "ALL PRIVILEGES" || dictionary::SystemPrivilege::parse(&privilege.name).is_some()
            };
            let kind = if privileges.iter().any(is_system) { "SYSTEM PRIVILEGE" } else { "ROLE PRIVILEGE" };
            of_database(kind, "")
        }
    }
}
