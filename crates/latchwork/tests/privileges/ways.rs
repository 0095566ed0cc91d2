//! Ways: the manner in which a statement is executed, and the identity it has.

use crate::actions::{Action, On};
use crate::actors::{Actor, Holding};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Direct,
    Synonym,
    CurrentSchema,
    /// EXECUTE IMMEDIATE in an anonymous block.
    Dynamic,
    /// In the text of an anonymous block.
    Block,
    /// A view over the table.
    View,
    /// The actor's own procedure, which has the actor's privileges without roles.
    DefinersUnit,
    DefinersPackage,
    /// In the text of the actor's own procedure: checked when it is compiled.
    DefinersText,
    /// O's procedure: any user with EXECUTE on it may do what O may do.
    OwnersUnit,
    /// Z's procedure with AUTHID CURRENT_USER.
    InvokersUnit,
    InvokersPackage,
    /// Z's function with AUTHID CURRENT_USER, in a query.
    InvokersFunction,
    /// The same in O's procedure: the caller is O.
    InvokersUnitInOwners,
    /// The actor's view with Z's function of invoker's rights: the owner of the view is the caller.
    OwnView,
    /// Z's view with that function: Z is the caller, whichever user queries it.
    InvokersInView,
    /// Z's view with that function, BEQUEATH CURRENT_USER.
    Bequeathed,
    /// Z's view with a function of definer's rights, which is Z's.
    DefinersInView,
    /// O's view with O's function.
    OwnersView,
    /// A job of DBMS_JOB.
    Job,
    /// The interval of such a job.
    Interval,
    /// A job of DBMS_SCHEDULER.
    Scheduled,
}

pub const WAYS: &[Way] = &[
    Way::Direct,
    Way::Synonym,
    Way::CurrentSchema,
    Way::Dynamic,
    Way::Block,
    Way::View,
    Way::DefinersUnit,
    Way::DefinersPackage,
    Way::DefinersText,
    Way::OwnersUnit,
    Way::InvokersUnit,
    Way::InvokersPackage,
    Way::InvokersFunction,
    Way::InvokersUnitInOwners,
    Way::OwnView,
    Way::InvokersInView,
    Way::Bequeathed,
    Way::DefinersInView,
    Way::OwnersView,
    Way::Job,
    Way::Interval,
    Way::Scheduled,
];

/// The user whose privileges count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum As {
    Actor,
    /// The actor without roles.
    ActorAlone,
    Owner,
    /// Z, who has no privileges.
    Nobody,
}

impl Way {
    pub fn identity(self) -> As {
        match self {
            Way::Direct | Way::Synonym | Way::CurrentSchema | Way::Dynamic | Way::Block | Way::View => As::Actor,
            Way::InvokersUnit | Way::InvokersPackage | Way::InvokersFunction | Way::Bequeathed => As::Actor,
            // A job has its owner's default roles, and so has the actor.
            Way::Job | Way::Interval | Way::Scheduled => As::Actor,
            Way::DefinersUnit | Way::DefinersPackage | Way::DefinersText | Way::OwnView => As::ActorAlone,
            Way::OwnersUnit | Way::OwnersView | Way::InvokersUnitInOwners => As::Owner,
            Way::InvokersInView | Way::DefinersInView => As::Nobody,
        }
    }

    /// Whether Z's code runs with the actor's privileges, which SYS has to permit (INHERIT PRIVILEGES).
    pub fn inherits(self) -> bool {
        matches!(
            self,
            Way::InvokersUnit | Way::InvokersPackage | Way::InvokersFunction | Way::Bequeathed | Way::Interval
        )
    }

    /// Whether the action can be executed in this way.
    pub fn fits(self, actor: Actor, action: &Action) -> bool {
        let is_sys = actor.holding == Holding::Sysdba;
        let is_block = action.text.starts_with("begin");
        match self {
            // EXECUTE IMMEDIATE fetches nothing.
            _ if action.on == On::Cursor => matches!(self, Way::Direct | Way::Block),
            Way::Synonym => !action.ddl && !is_sys && action.text.contains('{'),
            Way::CurrentSchema => action.text.contains('{'),
            Way::View => action.rows && !action.text.contains("rowid"),
            Way::Block | Way::DefinersText if is_block || action.ddl => false,
            Way::Block | Way::DefinersText if is_sys && self == Way::DefinersText => false,
            Way::Block | Way::DefinersText => !action.text.starts_with("lock") && !action.text.starts_with("explain"),
            // SYS has no units here, and its privileges are not available to others.
            Way::DefinersUnit | Way::DefinersPackage | Way::OwnView => !is_sys,
            // The interval is limited to 200 characters.
            Way::Interval => action.text.len() < 120,
            _ => true,
        }
    }
}

/// The statements to send, in order; the outcome is that of the last one. For [`Way::Interval`] the first is the
/// interval, which SYS gives the job: DBMS_JOB would evaluate it at once.
pub fn statements(action: &Action, way: Way, own: &str) -> Vec<String> {
    let (schema, view) = match way {
        Way::Synonym => ("syn_", "t"),
        Way::CurrentSchema => ("", "t"),
        Way::View => ("o.", "vt"),
        _ => ("o.", "t"),
    };
    let name = |last: &str| format!("{schema}{last}");
    let text = action.text.replace("{t}", &name(view)).replace("{q}", &name("q"));
    let text = text.replace("{f}", &name("f")).replace("{p}", &name("p")).replace("{y}", &name("y"));
    // Created in the current schema: the actor's, but with the privileges of the way.
    let made = match way.identity() {
        As::Actor | As::ActorAlone => own,
        As::Owner => "o",
        As::Nobody => "z",
    };
    let text = text.replace("{n}", &format!("{made}.n_{way:?}"));
    let quoted = text.replace('\'', "''");
    let by_view = |view: &str| {
        let note = format!("begin z.st.s := '{quoted}'; end;");
        vec![note, format!("select n from {view}")]
    };
    let within = |text: &str| {
        if text.starts_with("select") {
            format!("begin for r in ({text}) loop null; end loop; end;")
        } else {
            format!("begin {text}; end;")
        }
    };
    match way {
        Way::Direct | Way::Synonym | Way::CurrentSchema | Way::View => vec![text],
        Way::Dynamic => vec![format!("begin execute immediate '{quoted}'; end;")],
        Way::Block => vec![within(&text)],
        Way::DefinersText => vec![format!("create or replace procedure su is {}", within(&text))],
        Way::DefinersUnit => vec![format!("begin {own}.go('{quoted}'); end;")],
        Way::DefinersPackage => vec![format!("begin {own}.pk.go('{quoted}'); end;")],
        Way::OwnersUnit => vec![format!("begin o.go('{quoted}'); end;")],
        Way::InvokersUnit => vec![format!("begin z.go('{quoted}'); end;")],
        Way::InvokersPackage => vec![format!("begin z.pk.go('{quoted}'); end;")],
        Way::InvokersUnitInOwners => vec![format!("begin o.through('{quoted}'); end;")],
        Way::InvokersFunction => vec![format!("select z.goes('{quoted}') from dual")],
        Way::OwnView => by_view(&format!("{own}.vown")),
        Way::InvokersInView => by_view("z.vinvokers"),
        Way::Bequeathed => by_view("z.vbequeathed"),
        Way::DefinersInView => by_view("z.vdefiners"),
        Way::OwnersView => by_view("o.vowners"),
        Way::Job => {
            let what = format!("execute immediate '{quoted}'; rollback;").replace('\'', "''");
            vec![format!("declare j number; begin dbms_job.submit(j, '{what}', sysdate - 1); commit; end;")]
        }
        Way::Scheduled => {
            let what = format!("execute immediate '{quoted}'; rollback;").replace('\'', "''");
            vec![format!(
                "begin dbms_scheduler.create_job(job_name => 'way', job_type => 'PLSQL_BLOCK', job_action => '{what}', enabled => true); end;"
            )]
        }
        Way::Interval => {
            let interval = format!("z.goes('{quoted}')").replace('\'', "''");
            let submit = "declare j number; begin dbms_job.submit(j, 'null;', sysdate - 1); commit; end;";
            vec![interval, submit.to_string()]
        }
    }
}
