//! The matrix of privileges: every actor tries every action in every way, and the outcome must be that of a small model
//! of Oracle's rules. The model is in `model.rs` and shares no code with the product.
//!
//! An actor is a user with one privilege, directly or through a role, or with none, or with all. An action is a
//! statement on objects of the user O, or on the system. A way is the manner in which the statement is executed. Only
//! the presence of the privilege is tested: a statement that is refused because of the state of O's objects (a key that
//! prevents DROP) counts as permitted.
//!
//! The instance and its sessions are inside this process, so a cell costs no more than its statements. A test of a
//! quarter of the actors has an instance of its own, and the four run in parallel.

mod actions;
mod actors;
mod catalog;
mod model;
mod ways;

use actions::{ACTIONS, Action};
use actors::{Actor, Holding, actors};
use instance::InProcess;
use model::{Outcome, expected, outcome};
use net::local::{Logon, PROTOCOL_VERSION};
use session::{JobOutcome, Session};
use ways::{WAYS, Way, statements};

/// An instance with its views.
fn instance() -> InProcess {
    let instance = InProcess::start(&[]).expect("an instance");
    instance.instance().set_fixed_tables(views::make);
    instance
}

fn logon(instance: &InProcess, user: &str) -> Session {
    let logon = Logon {
        version: PROTOCOL_VERSION,
        user: user.into(),
        password: "x".into(),
        program: "test".into(),
        ..Logon::default()
    };
    Session::logon(instance.instance(), &logon, 0).unwrap_or_else(|e| panic!("{user}: {e}"))
}

/// Runs a statement that succeeds.
fn run(s: &mut Session, text: &str) {
    s.run(text).unwrap_or_else(|e| panic!("{text}: {e}"));
}

const GO: &str = "begin execute immediate s; end;";
const GOES: &str = "pragma autonomous_transaction; begin execute immediate s; rollback; return sysdate + 1; end;";
const GOES_NOTED: &str = "pragma autonomous_transaction; begin execute immediate z.st.s; rollback; return 1; end;";

/// O with its objects, and Z with invoker's units. Z2 and Z3 get grants.
fn prepare(s: &mut Session) {
    let units = "create session, create table, create view, create sequence, create procedure, create trigger, \
                 create synonym, create job, create materialized view, unlimited tablespace";
    for user in ["o", "z", "z2", "z3"] {
        run(s, &format!("create user {user} identified by x"));
        run(s, &format!("grant {units} to {user}"));
    }
    for text in [
        "create table o.t (a number primary key, b number)",
        // A foreign key to it: DROP and TRUNCATE fail even for permitted users.
        "create table o.child (a number references o.t)",
        "create view o.vt as select a, b from o.t",
        "create sequence o.q",
        "create procedure o.p is begin null; end;",
        "create function o.f return number is begin return 7; end;",
        "create type o.y as object (a number, member function m return number, static function s return number)",
        "create type body o.y as \
         member function m return number is begin return a; end; \
         static function s return number is begin return 1; end; end;",
        "create table o.dt2 (a number)",
        "create table sys.st (a number primary key)",
        "create table sys.st_child (a number references sys.st)",
        "create procedure sys.sp is begin null; end;",
        "create package z.st is s varchar2(4000); end;",
        "grant execute on z.st to public",
        "create role zr",
        "grant zr to z3",
        "grant create table to z3",
        "grant insert on o.t to z3",
        "create public synonym dps for o.t",
        "create directory dd as '/nowhere'",
        "create context dropped using p",
    ] {
        run(s, text);
    }
    for (unit, text) in [
        ("o.go", format!("procedure o.go(s varchar2) is {GO}")),
        ("z.go", format!("procedure z.go(s varchar2) authid current_user is {GO}")),
        ("z.pk", "package z.pk authid current_user is procedure go(s varchar2); end;".to_string()),
        (
            "z.pk",
            format!("package body z.pk is procedure go(s varchar2) is {GO} end;").replace("end; end;", "end go; end;"),
        ),
        ("z.goes", format!("function z.goes(s varchar2) return date authid current_user is {GOES}")),
        ("z.noted", format!("function z.noted return number authid current_user is {GOES_NOTED}")),
        ("z.definers", format!("function z.definers return number is {GOES_NOTED}")),
        ("o.definers", format!("function o.definers return number is {GOES_NOTED}")),
        ("o.through", "procedure o.through(s varchar2) is begin z.go(s); end;".to_string()),
        ("z.vinvokers", "view z.vinvokers as select noted n from dual".to_string()),
        ("z.vbequeathed", "view z.vbequeathed bequeath current_user as select noted n from dual".to_string()),
        ("z.vdefiners", "view z.vdefiners as select definers n from dual".to_string()),
        ("o.vowners", "view o.vowners as select definers n from dual".to_string()),
    ] {
        run(s, &format!("create {text}"));
        let privilege = if text.starts_with("view") { "select" } else { "execute" };
        run(s, &format!("grant {privilege} on {unit} to public"));
    }
    for again in ACTIONS.iter().map(|action| action.again).filter(|again| again.contains(" o.d")) {
        run(s, again);
    }
    for name in ["t", "q", "f", "p", "y"] {
        run(s, &format!("create public synonym syn_{name} for o.{name}"));
    }
    run(s, "insert into o.t values (1, 1)");
    run(s, "commit");
}

/// Creates the user and grants its privilege, directly or through a role.
fn make(s: &mut Session, user: &str, actor: Actor) {
    run(s, &format!("create user {user} identified by x quota unlimited on users"));
    run(
        s,
        &format!(
            "grant create session, create procedure, create synonym, create job, create view, create materialized view, create table to {user}"
        ),
    );
    let to = if actor.by_role { format!("r_{user}") } else { user.to_owned() };
    if actor.by_role {
        run(s, &format!("create role {to}"));
        run(s, &format!("grant {to} to {user}"));
    }
    let mut on_table = |name: &str, option: &str| {
        run(s, &format!("grant {name} on o.t to {to}{option}"));
        if model::ON_VIEW.contains(&name) {
            run(s, &format!("grant {name} on o.vt to {to}{option}"));
        }
    };
    match actor.holding {
        Holding::OnTable(name) => on_table(name, ""),
        Holding::OnTableToGive(name) => on_table(name, " with grant option"),
        Holding::OnSequence(name) => run(s, &format!("grant {name} on o.q to {to}")),
        Holding::OnUnits(name) | Holding::OnUnitsToGive(name) => {
            let option = if matches!(actor.holding, Holding::OnUnitsToGive(_)) { " with grant option" } else { "" };
            run(s, &format!("grant {name} on o.p to {to}{option}"));
            run(s, &format!("grant {name} on o.f to {to}{option}"));
            if name == "execute" {
                run(s, &format!("grant {name} on o.y to {to}{option}"));
            }
        }
        Holding::OnPackage(name) => run(s, &format!("grant execute on {name} to {to}")),
        Holding::System(name) | Holding::Role(name) => run(s, &format!("grant {name} to {to}")),
        Holding::SystemToGive(name) => run(s, &format!("grant {name} to {to} with admin option")),
        Holding::Dba => run(s, &format!("grant dba to {to}")),
        Holding::Nothing | Holding::Owner | Holding::Sysdba => {}
    }
}

/// Creates the units and the view of an actor.
fn equip(s: &mut Session, user: &str) {
    run(s, &format!("create or replace procedure {user}.go(s varchar2) is {GO}"));
    run(s, &format!("create package {user}.pk is procedure go(s varchar2); end;"));
    run(
        s,
        &format!("create package body {user}.pk is procedure go(s varchar2) is {GO} end;")
            .replace("end; end;", "end go; end;"),
    );
    run(s, &format!("create view {user}.vown as select z.noted n from dual"));
}

/// Whether a cell is tested: all cells in which the actor has more rights than others, and some of the rest, in which
/// only the refusal differs or the actor has no special right.
fn tells(actor: (usize, Actor), action: (usize, &Action), way: (usize, Way)) -> bool {
    let nobody = Actor { holding: Holding::Nothing, by_role: false };
    let (this, others) = (expected(actor.1, action.1, way.1), expected(nobody, action.1, way.1));
    let one_in = match (this == others, way.1) {
        (false, _) if this.is_none() => 1,
        (false, Way::Direct) => 1,
        (false, _) => 12,
        (true, Way::Direct) => 4,
        (true, _) => 60,
    };
    (actor.0 + action.0 * 5 + way.0 * 7).is_multiple_of(one_in)
}

struct Bench {
    sys: Session,
    cells: usize,
    wrong: Vec<String>,
}

impl Bench {
    /// The outcome of the action for the session's user.
    fn outcome(&mut self, c: &mut Session, action: &Action, way: Way, user: &str) -> Outcome {
        let texts = statements(action, way, user);
        let (last, before) = texts.split_last().expect("a statement");
        for text in before.iter().filter(|_| way != Way::Interval) {
            run(c, text);
        }
        let done = c.run(last).map(drop).map_err(|e| e.to_string());
        match way {
            Way::DefinersText => {
                let found = c.run("select text from user_errors where name = 'SU'").expect("errors");
                outcome(&format!("{done:?} {found:?}"))
            }
            Way::Scheduled => {
                done.unwrap_or_else(|e| panic!("{last}: {e}"));
                let found = self.sys.run("select max(job) from sys.scheduler$_job").expect("jobs");
                let types::Value::Number(job) = found[0][0] else { panic!("no job") };
                // A job that has run once is dropped.
                match self.sys.run_job(job.to_i64().expect("a number")).expect("a job") {
                    JobOutcome::Done => None,
                    JobOutcome::NotDue => panic!("{last}: not due"),
                    JobOutcome::Failed(e) => outcome(&e.to_string()),
                }
            }
            Way::Job | Way::Interval => {
                done.unwrap_or_else(|e| panic!("{last}: {e}"));
                let found = c.run("select max(job) from user_jobs").expect("jobs");
                let types::Value::Number(job) = found[0][0] else { panic!("no job") };
                let job = job.to_i64().expect("a number");
                if way == Way::Interval {
                    let set = format!("update sys.job$ set interval# = '{}' where job = {job}", before[0]);
                    run(&mut self.sys, &set);
                    run(&mut self.sys, "commit");
                }
                match self.sys.run_job(job).expect("a job") {
                    JobOutcome::Done => {
                        // A job whose interval has been evaluated stays.
                        let _ = c.run(&format!("begin dbms_job.remove({job}); commit; end;"));
                        None
                    }
                    JobOutcome::NotDue => panic!("{last}: not due"),
                    JobOutcome::Failed(e) => {
                        run(c, &format!("begin dbms_job.remove({job}); commit; end;"));
                        outcome(&e.to_string())
                    }
                }
            }
            _ => outcome(&done.err().unwrap_or_default()),
        }
    }

    fn cells_of(&mut self, instance: &InProcess, number: usize, actor: Actor) {
        let user = match actor.holding {
            Holding::Owner => "o".to_owned(),
            Holding::Sysdba => "sys".to_owned(),
            _ => format!("u{number}"),
        };
        let mut c = if actor.holding == Holding::Sysdba {
            Session::in_process(instance.instance()).expect("a session")
        } else {
            if actor.holding != Holding::Owner {
                make(&mut self.sys, &user, actor);
            }
            equip(&mut self.sys, &user);
            logon(instance, &user)
        };
        for way in WAYS.iter().copied().enumerate() {
            if way.1 == Way::CurrentSchema {
                run(&mut c, "alter session set current_schema = o");
            }
            for action in ACTIONS.iter().enumerate() {
                if !way.1.fits(actor, action.1) || !tells((number, actor), action, way) {
                    continue;
                }
                let got = self.outcome(&mut c, action.1, way.1, &user);
                run(&mut c, "rollback");
                let want = expected(actor, action.1, way.1);
                self.cells += 1;
                if got != want {
                    let text = action.1.text;
                    self.wrong.push(format!("{actor:?} by {:?}: {text}: {got:?}, not {want:?}", way.1));
                }
                if !action.1.again.is_empty() && (got.is_none() || want.is_none()) {
                    // The object exists already if the statement failed for another reason.
                    let _ = self.sys.run(action.1.again);
                }
            }
            if way.1 == Way::CurrentSchema {
                run(&mut c, &format!("alter session set current_schema = {user}"));
            }
        }
        c.end();
    }
}

/// One part of the actors.
fn part(part: usize, parts: usize) {
    let instance = instance();
    let sys = Session::in_process(instance.instance()).expect("a session");
    let mut bench = Bench { sys, cells: 0, wrong: Vec::new() };
    prepare(&mut bench.sys);
    for (number, actor) in actors().into_iter().enumerate().filter(|(number, _)| number % parts == part) {
        bench.cells_of(&instance, number, actor);
    }
    let Bench { cells, wrong, .. } = bench;
    println!("{cells} cells, {} actions, {} ways", ACTIONS.len(), WAYS.len());
    assert!(cells >= 3_000, "{cells}");
    let more = if wrong.len() > 200 { "\n..." } else { "" };
    let shown = wrong.iter().take(200).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {cells} cells are wrong:\n{shown}{more}", wrong.len());
}

#[test]
fn every_actor_may_what_the_rules_say_by_every_way() {
    part(0, 4);
}

#[test]
fn every_actor_may_what_the_rules_say_by_every_way_second_quarter() {
    part(1, 4);
}

#[test]
fn every_actor_may_what_the_rules_say_by_every_way_third_quarter() {
    part(2, 4);
}

#[test]
fn every_actor_may_what_the_rules_say_by_every_way_last_quarter() {
    part(3, 4);
}

/// The error number of a statement, 0 on success.
fn code_of(s: &mut Session, text: &str) -> u32 {
    let code = s.run(text).map_or_else(|e| e.code(), |_| 0);
    run(s, "rollback");
    code
}

#[test]
fn a_lob_is_changed_with_the_privilege_to_update_its_column() {
    let instance = instance();
    let mut sys = Session::in_process(instance.instance()).expect("a session");
    prepare(&mut sys);
    let append = "for r in (select c from o.docs for update) loop dbms_lob.append(r.c, 'x'); end loop;";
    let writes = "is begin for r in (select c from o.docs for update) loop dbms_lob.append(r.c, 'x'); end loop; end;";
    for text in [
        "create table o.docs (c clob, n number)".to_owned(),
        "insert into o.docs values ('a', 1)".to_owned(),
        "commit".to_owned(),
        "create view o.docs_v as select c from o.docs".to_owned(),
        format!("create procedure o.writes {writes}"),
        "create procedure z.writes authid current_user is l clob; begin \
         execute immediate 'select c from o.docs for update' into l; dbms_lob.append(l, 'x'); end;"
            .to_owned(),
        "create procedure o.takes(c in out nocopy clob) is begin dbms_lob.append(c, 'x'); end;".to_owned(),
        "grant execute on o.writes to public".to_owned(),
        "grant execute on z.writes to public".to_owned(),
        "grant execute on o.takes to public".to_owned(),
        "grant select on o.docs_v to public".to_owned(),
        "create role changes".to_owned(),
        "grant update on o.docs to changes".to_owned(),
    ] {
        run(&mut sys, &text);
    }
    // The privileges of each user, then the outcomes of the block, O's procedure, Z's procedure, and O's procedure with
    // a locator.
    let users: [(&str, &[&str], [u32; 4]); 6] = [
        ("reads", &["read on o.docs"], [6550, 0, 1031, 6550]),
        ("selects", &["select on o.docs"], [1031, 0, 1031, 0]),
        ("other_column", &["select, update (n) on o.docs"], [1031, 0, 1031, 0]),
        ("updates", &["select, update (c) on o.docs"], [0, 0, 0, 0]),
        ("by_role", &["select on o.docs", "changes"], [0, 0, 0, 0]),
        ("any_table", &["select any table, update any table"], [0, 0, 0, 0]),
    ];
    for (user, grants, want) in users {
        run(&mut sys, &format!("create user {user} identified by x"));
        run(&mut sys, &format!("grant create session to {user}"));
        run(&mut sys, &format!("grant inherit privileges on user {user} to public"));
        for grant in grants {
            run(&mut sys, &format!("grant {grant} to {user}"));
        }
        let mut c = logon(&instance, user);
        let takes = "begin for r in (select c from o.docs for update) loop o.takes(r.c); end loop; end;";
        let blocks = [&format!("begin {append} end;"), "begin o.writes; end;", "begin z.writes; end;", takes];
        let got = blocks.map(|block| code_of(&mut c, block));
        assert_eq!(got, want, "{user}");
        // A view conveys the right to read, but not to change its base table.
        let by_view =
            "begin for r in (select c from o.docs_v for update) loop dbms_lob.append(r.c, 'x'); end loop; end;";
        assert_eq!(code_of(&mut c, by_view), if want[0] == 0 { 0 } else { 1031 }, "{user}");
        c.end();
    }
    let found = sys.run("select length(c) from o.docs").expect("a length");
    assert_eq!(found[0][0], types::Value::Number(1.into()));
}
