//! Who may do what, by which way: every actor tries every action by every way, and what comes of it is what a small model of Oracle's rules
//! says. The model stands in this file and knows nothing of the product.
//!
//! An actor is a user who has one privilege, directly or through a role, or nothing, or everything. An action is a statement on what the
//! user O owns. A way is how the statement gets to run. What is asked is only whether the privilege was there: a statement that is
//! refused for what O's objects are (a key in the way of DROP) was allowed.

mod support;

use client::{Client, Credentials};
use support::{run, start};

/// What a privilege is on: O's table and the view over it, the sequence, the units; or on everybody's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holding {
    Nothing,
    /// On the table, and on the view where views have it.
    OnTable(&'static str),
    OnSequence(&'static str),
    OnUnits(&'static str),
    System(&'static str),
    Owner,
    Dba,
    Sysdba,
}

use Holding::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Actor {
    holding: Holding,
    by_role: bool,
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
const ON_SEQUENCE: &[&str] = &["select", "alter"];
const ON_UNITS: &[&str] = &["execute", "debug"];
const SYSTEM: &[&str] = &[
    "select any table",
    "read any table",
    "insert any table",
    "update any table",
    "delete any table",
    "lock any table",
    "alter any table",
    "drop any table",
    "comment any table",
    "flashback any table",
    "create any table",
    "create any index",
    "select any sequence",
    "alter any sequence",
    "execute any procedure",
    "create any procedure",
    "select any dictionary",
    "grant any privilege",
    "alter user",
    "create any view",
];

fn actors() -> Vec<Actor> {
    let mut list = vec![Actor { holding: Nothing, by_role: false }];
    let holdings = ON_TABLE.iter().map(|name| OnTable(name));
    let holdings = holdings.chain(ON_SEQUENCE.iter().map(|name| OnSequence(name)));
    let holdings = holdings.chain(ON_UNITS.iter().map(|name| OnUnits(name)));
    for holding in holdings.chain(SYSTEM.iter().map(|name| System(name))) {
        list.push(Actor { holding, by_role: false });
        // Neither can be granted to a role.
        if !matches!(holding, OnTable("references" | "index")) {
            list.push(Actor { holding, by_role: true });
        }
    }
    list.push(Actor { holding: Dba, by_role: true });
    list.push(Actor { holding: Owner, by_role: false });
    list.push(Actor { holding: Sysdba, by_role: false });
    list
}

/// The object of an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum On {
    Table,
    Sequence,
    Function,
    Procedure,
}

/// A statement, with `{t}`, `{q}`, `{f}`, `{p}` for the names, and what it needs: of each list one. `ddl`: names in it are not
/// looked for behind synonyms. `rows`: it reads or changes rows, so it may be on a view, too.
struct Action {
    text: &'static str,
    on: On,
    needs: &'static [&'static [&'static str]],
    ddl: bool,
    rows: bool,
}

const READ: &[&str] = &["select", "read", "select any table", "read any table"];
const SELECT: &[&str] = &["select", "select any table"];
const INSERT: &[&str] = &["insert", "insert any table"];
const UPDATE: &[&str] = &["update", "update any table"];
const UPDATE_B: &[&str] = &["update", "update (b)", "update any table"];
const INSERT_A: &[&str] = &["insert", "insert (a)", "insert any table"];
const DELETE: &[&str] = &["delete", "delete any table"];

const fn rows(text: &'static str, needs: &'static [&'static [&'static str]]) -> Action {
    Action { text, on: On::Table, needs, ddl: false, rows: true }
}

const fn table(text: &'static str, needs: &'static [&'static [&'static str]], ddl: bool) -> Action {
    Action { text, on: On::Table, needs, ddl, rows: false }
}

const fn other(text: &'static str, on: On, needs: &'static [&'static [&'static str]]) -> Action {
    Action { text, on, needs, ddl: false, rows: false }
}

const ACTIONS: &[Action] = &[
    rows("select a from {t}", &[READ]),
    rows("select count(*) from {t} where exists (select null from {t})", &[READ]),
    rows("select a from {t} for update", &[SELECT]),
    rows("insert into {t} (a) values (9)", &[INSERT_A]),
    rows("insert into {t} (a, b) values (9, 9)", &[INSERT]),
    rows("insert into {t} values (9, 9)", &[INSERT]),
    rows("insert all into {t} (a) values (9) select 1 from dual", &[INSERT_A]),
    rows("update {t} set b = 1", &[UPDATE_B]),
    rows("update {t} set a = 1", &[UPDATE]),
    rows("update {t} set b = b + 1", &[UPDATE_B, READ]),
    rows("update {t} set b = 1 where a = 1", &[UPDATE_B, READ]),
    rows("delete from {t}", &[DELETE]),
    rows("delete from {t} where a = 1", &[DELETE, READ]),
    rows("delete from {t} where rowid is null", &[DELETE, READ]),
    rows("merge into {t} using dual on (1 = 0) when matched then update set b = 1", &[UPDATE_B]),
    rows("merge into {t} using dual on (1 = 0) when not matched then insert (a) values (9)", &[INSERT_A]),
    rows("merge into {t} m using dual on (m.a = 1) when matched then update set b = 1", &[UPDATE_B, READ]),
    table("select a from {t} as of scn 1", &[READ, &["flashback", "flashback any table"]], false),
    table(
        "lock table {t} in share mode",
        &[&[
            "select",
            "insert",
            "update",
            "delete",
            "lock any table",
            "select any table",
            "insert any table",
            "update any table",
            "delete any table",
        ]],
        false,
    ),
    table("alter table {t} modify (a null)", &[&["alter", "alter any table"]], true),
    table("drop table {t}", &[&["drop any table"]], true),
    table("truncate table {t}", &[&["drop any table"]], true),
    table("comment on table {t} is 'c'", &[&["comment any table"]], true),
    other("select {q}.nextval from dual", On::Sequence, &[&["select", "select any sequence"]]),
    other("select {f} from dual", On::Function, &[&["execute", "execute any procedure"]]),
    other("begin {p}; end;", On::Procedure, &[&["execute", "execute any procedure"]]),
];

/// How a statement gets to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Direct,
    Synonym,
    CurrentSchema,
    /// EXECUTE IMMEDIATE in an anonymous block.
    Dynamic,
    /// In the text of an anonymous block.
    Block,
    /// A view over the table.
    View,
    /// The actor's own procedure, which has the actor's privileges and no roles.
    DefinersUnit,
    DefinersPackage,
    /// O's procedure: what O may do, anybody may who may execute it.
    OwnersUnit,
    /// Somebody else's procedure with AUTHID CURRENT_USER.
    InvokersUnit,
}

const WAYS: &[Way] = &[
    Way::Direct,
    Way::Synonym,
    Way::CurrentSchema,
    Way::Dynamic,
    Way::Block,
    Way::View,
    Way::DefinersUnit,
    Way::DefinersPackage,
    Way::OwnersUnit,
    Way::InvokersUnit,
];

/// The outcome. The numbers are Oracle's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Allowed,
    NoSuchTable,
    NoSuchSequence,
    NoSuchFunction,
    NoSuchUnit,
    Insufficient,
    /// PLS-00904.
    InsufficientUnit,
}

/// ANY privileges that make the tables of others visible.
const SEES_TABLES: &[&str] = &[
    "create any table",
    "alter any table",
    "drop any table",
    "lock any table",
    "comment any table",
    "select any table",
    "read any table",
    "insert any table",
    "update any table",
    "delete any table",
    "flashback any table",
];
const SEES_UNITS: &[&str] = &["create any procedure", "execute any procedure"];
const SEES_SEQUENCES: &[&str] = &["select any sequence", "alter any sequence"];
/// Privileges that can be granted on a view.
const ON_VIEW: &[&str] =
    &["select", "read", "insert", "update", "delete", "update (b)", "insert (a)", "references", "flashback", "debug"];

/// The model.
fn expected(actor: Actor, action: &Action, way: Way) -> Outcome {
    let roles_count = !matches!(way, Way::DefinersUnit | Way::DefinersPackage);
    let all =
        matches!(actor.holding, Owner | Sysdba) || way == Way::OwnersUnit || (actor.holding == Dba && roles_count);
    if all {
        return Outcome::Allowed;
    }
    let counts = roles_count || !actor.by_role;
    let on_view = way == Way::View;
    let held: Option<&str> = match (actor.holding, action.on) {
        _ if !counts => None,
        (OnTable(name), On::Table) if !on_view || ON_VIEW.contains(&name) => Some(name),
        (OnSequence(name), On::Sequence) | (OnUnits(name), On::Function | On::Procedure) | (System(name), _) => {
            Some(name)
        }
        _ => None,
    };
    let is_object = matches!(actor.holding, OnTable(_) | OnSequence(_) | OnUnits(_));
    let (sees, missing, short): (&[&str], _, _) = match action.on {
        On::Table => (SEES_TABLES, Outcome::NoSuchTable, Outcome::Insufficient),
        On::Sequence => (SEES_SEQUENCES, Outcome::NoSuchSequence, Outcome::Insufficient),
        On::Function => (SEES_UNITS, Outcome::NoSuchFunction, Outcome::Insufficient),
        On::Procedure => (SEES_UNITS, Outcome::NoSuchUnit, Outcome::InsufficientUnit),
    };
    let Some(held) = held else { return missing };
    let visible = is_object || sees.contains(&held);
    match () {
        () if action.needs.iter().all(|need| need.contains(&held)) => Outcome::Allowed,
        () if visible => short,
        () => missing,
    }
}

/// Whether the action can be written that way, and tells more than its neighbours do: what only changes the names or the wrapping is
/// tried with every third action, and a role with the ways in which roles matter.
fn fits(actor: Actor, action: &Action, number: usize, way: Way) -> bool {
    let third = number.is_multiple_of(3);
    let wraps =
        matches!(way, Way::Synonym | Way::CurrentSchema | Way::Dynamic | Way::DefinersPackage | Way::OwnersUnit);
    let of_roles = matches!(way, Way::Direct | Way::View | Way::DefinersUnit | Way::InvokersUnit);
    if (wraps && !third) || (actor.by_role && !of_roles && !third) {
        return false;
    }
    match way {
        Way::Synonym => !action.ddl && actor.holding != Sysdba,
        Way::View => action.rows && !action.text.contains("rowid"),
        Way::Block => !action.ddl && !action.text.starts_with("begin") && !action.text.starts_with("lock"),
        // SYS has no units here, and lends nobody its power.
        Way::DefinersUnit | Way::DefinersPackage | Way::InvokersUnit => actor.holding != Sysdba,
        _ => true,
    }
}

/// The statement as it is sent.
fn statement(action: &Action, way: Way, own: &str) -> String {
    let (schema, view) = match way {
        Way::Synonym => ("syn_".to_owned(), "t"),
        Way::CurrentSchema => (String::new(), "t"),
        Way::View => ("o.".to_owned(), "vt"),
        _ => ("o.".to_owned(), "t"),
    };
    let name = |last: &str| format!("{schema}{last}");
    let text = action.text.replace("{t}", &name(view)).replace("{q}", &name("q"));
    let text = text.replace("{f}", &name("f")).replace("{p}", &name("p"));
    let quoted = text.replace('\'', "''");
    match way {
        Way::Dynamic => format!("begin execute immediate '{quoted}'; end;"),
        Way::Block if text.starts_with("select") => {
            format!("declare cursor c is {text}; begin for r in c loop null; end loop; end;")
        }
        Way::Block => format!("begin {text}; end;"),
        Way::DefinersUnit => format!("begin {own}.go('{quoted}'); end;"),
        Way::DefinersPackage => format!("begin {own}.pk.go('{quoted}'); end;"),
        Way::OwnersUnit => format!("begin o.go('{quoted}'); end;"),
        Way::InvokersUnit => format!("begin z.go('{quoted}'); end;"),
        _ => text,
    }
}

fn outcome(result: Result<(), String>) -> Outcome {
    let Err(text) = result else { return Outcome::Allowed };
    let has = |code: &str| text.contains(code);
    match () {
        () if has("ORA-00942") => Outcome::NoSuchTable,
        () if has("ORA-00904") => Outcome::NoSuchFunction,
        () if has("ORA-02289") => Outcome::NoSuchSequence,
        () if has("ORA-01031") => Outcome::Insufficient,
        // Behind those: a cursor whose query fails is not declared.
        () if has("PLS-00904") => Outcome::InsufficientUnit,
        () if has("PLS-00201") => Outcome::NoSuchUnit,
        () => Outcome::Allowed,
    }
}

const GO: &str = "begin execute immediate s; end;";

/// O with what it owns, and Z with a unit that runs as who calls it.
fn prepare(s: &mut Client) {
    let units = "create session, create table, create view, create sequence, create procedure, create synonym, unlimited tablespace";
    run(s, "create user o identified by o");
    run(s, "create user z identified by z");
    run(s, &format!("grant {units} to o, z"));
    for text in [
        "create table o.t (a number primary key, b number)",
        // A key to it: neither DROP nor TRUNCATE does anything to those who may.
        "create table o.child (a number references o.t)",
        "create view o.vt as select a, b from o.t",
        "create sequence o.q",
        "create procedure o.p is begin null; end;",
        "create function o.f return number is begin return 7; end;",
    ] {
        run(s, text);
    }
    run(s, &format!("create procedure o.go(s varchar2) is {GO}"));
    run(s, &format!("create procedure z.go(s varchar2) authid current_user is {GO}"));
    run(s, "grant execute on o.go to public");
    run(s, "grant execute on z.go to public");
    run(s, "insert into o.t values (1, 1)");
    run(s, "commit");
}

/// Makes the user, and gives what it has, itself or through a role.
fn make(s: &mut Client, user: &str, actor: Actor) {
    run(s, &format!("create user {user} identified by x"));
    run(s, &format!("grant create session, create procedure, create synonym to {user}"));
    let to = if actor.by_role { format!("r_{user}") } else { user.to_owned() };
    if actor.by_role {
        run(s, &format!("create role {to}"));
        run(s, &format!("grant {to} to {user}"));
    }
    match actor.holding {
        OnTable(name) => {
            run(s, &format!("grant {name} on o.t to {to}"));
            if ON_VIEW.contains(&name) {
                run(s, &format!("grant {name} on o.vt to {to}"));
            }
        }
        OnSequence(name) => run(s, &format!("grant {name} on o.q to {to}")),
        OnUnits(name) => {
            run(s, &format!("grant {name} on o.p to {to}"));
            run(s, &format!("grant {name} on o.f to {to}"));
        }
        System(name) => run(s, &format!("grant {name} to {to}")),
        Dba => run(s, &format!("grant dba to {to}")),
        Nothing | Owner | Sysdba => {}
    }
}

/// The units and synonyms of an actor.
fn equip(c: &mut Client) {
    for name in ["t", "q", "f", "p"] {
        run(c, &format!("create synonym syn_{name} for o.{name}"));
    }
    if c.execute("select null from user_objects where object_name = 'GO'", &[]).is_ok_and(|o| o.rows.is_empty()) {
        run(c, &format!("create procedure go(s varchar2) is {GO}"));
    }
    run(c, "create package pk is procedure go(s varchar2); end;");
    run(
        c,
        &format!("create package body pk is procedure go(s varchar2) is {GO} end;")
            .replace("end; end;", "end go; end;"),
    );
}

#[test]
fn every_actor_may_what_the_rules_say_by_every_way() {
    let instance = start(&[("processes", "120")]);
    let mut s = support::connect(&instance);
    prepare(&mut s);
    let (mut cells, mut wrong) = (0, Vec::new());
    for (number, actor) in actors().into_iter().enumerate() {
        let user = match actor.holding {
            Owner => "o".to_owned(),
            Sysdba => "sys".to_owned(),
            _ => format!("u{number}"),
        };
        let password = if actor.holding == Owner { "o" } else { "x" };
        let mut c = match actor.holding {
            Sysdba => support::connect(&instance),
            holding => {
                if holding != Owner {
                    make(&mut s, &user, actor);
                }
                let credentials = Credentials::Password { user: user.clone(), password: password.into() };
                let mut c = instance.connect(&credentials).unwrap_or_else(|e| panic!("{user}: {e}"));
                equip(&mut c);
                c
            }
        };
        for way in WAYS {
            if *way == Way::CurrentSchema {
                run(&mut c, "alter session set current_schema = o");
            }
            let fitting = ACTIONS.iter().enumerate().filter(|(number, action)| fits(actor, action, *number, *way));
            for (_, action) in fitting {
                let text = statement(action, *way, &user);
                let got = outcome(c.execute(&text, &[]).map(drop).map_err(|e| e.to_string()));
                run(&mut c, "rollback");
                let want = expected(actor, action, *way);
                cells += 1;
                if got != want {
                    wrong.push(format!("{actor:?} by {way:?}: {text}: {got:?}, not {want:?}"));
                }
            }
            if *way == Way::CurrentSchema {
                run(&mut c, &format!("alter session set current_schema = {user}"));
            }
        }
    }
    println!("{cells} cells, {} ways", WAYS.len());
    assert!(cells >= 3_000, "{cells}");
    assert!(wrong.is_empty(), "{} of {cells} cells are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
