//! Auditing: the settings in the dictionary, and the trail, AUD$.
//!
//! The rows of the trail are written without DDL, each event in a separate transaction, so the rollback of an audited
//! statement does not remove them (D12).

use crate::base::{Base, aud, aud_policy, aud_policy_option, aud_policy_user, audit_option, dam_last_arch_ts};
use crate::change::Change;
use crate::rows::{Row, as_i64, as_text, as_u32, blank, int, text};
use crate::shared::DictionaryShared;
use process::Process;
use std::collections::HashMap;
use std::rc::Rc;
use txn::{LockWait, NoHook, Txn};
use types::{Result, Timestamp, Value};

/// ACTION# of a logon.
pub const LOGON: u16 = 100;
/// ACTION# of a logoff.
pub const LOGOFF: u16 = 101;

/// ACTION# of a procedure call.
pub const EXECUTE: u16 = 116;

types::numbered! {
    /// The subject of a rule.
    #[derive(Debug, PartialEq, Eq)]
    pub enum RuleKind: u8 {
        /// An action, or ALL.
        Action = 0,
        /// The use of a privilege.
        Privilege = 1,
        /// An action, or ALL, on one object.
        Object = 2,
    }
}

impl RuleKind {
    fn of(code: Option<i64>) -> Option<RuleKind> {
        RuleKind::from_code(u8::try_from(code?).ok()?)
    }
}

/// The users of a rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Whom {
    All,
    User(u32),
    Except(Rc<Vec<u32>>),
}

impl Whom {
    /// True when the rule applies to the user; `None` is a name without a user.
    pub fn is(&self, user: Option<u32>) -> bool {
        match self {
            Whom::All => true,
            Whom::User(id) => user == Some(*id),
            Whom::Except(ids) => user.is_none_or(|user| !ids.contains(&user)),
        }
    }
}

/// An audit rule.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditRule {
    pub kind: RuleKind,
    /// An action, a privilege, or ALL.
    pub option: Rc<str>,
    /// The object, for [`RuleKind::Object`].
    pub object: u32,
    /// The policy of the rule; `None` for a rule of the statement AUDIT.
    pub policy: Option<Rc<str>>,
    pub whom: Whom,
    pub success: bool,
    pub failure: bool,
}

/// Collects the parts of rules while they are read.
#[derive(Debug, Default)]
pub(crate) struct AuditReader {
    rules: Vec<AuditRule>,
    policies: HashMap<u32, Rc<str>>,
    options: Vec<(u32, RuleKind, Rc<str>, u32)>,
    enabled: Vec<(u32, i64, Option<u32>, bool, bool)>,
}

impl AuditReader {
    pub fn add_option(&mut self, row: &[Value]) {
        let Some(kind) = RuleKind::of(as_i64(&row[audit_option::KIND])) else { return };
        self.rules.push(AuditRule {
            kind,
            option: as_text(&row[audit_option::OPTION]).into(),
            object: as_u32(&row[audit_option::OBJ]),
            policy: None,
            whom: as_i64(&row[audit_option::USER]).map_or(Whom::All, |id| Whom::User(id as u32)),
            success: as_i64(&row[audit_option::SUCCESS]) == Some(1),
            failure: as_i64(&row[audit_option::FAILURE]) == Some(1),
        });
    }

    pub fn add_policy(&mut self, row: &[Value]) {
        self.policies.insert(as_u32(&row[aud_policy::POLICY]), as_text(&row[aud_policy::NAME]).into());
    }

    pub fn add_policy_option(&mut self, row: &[Value]) {
        if let Some(kind) = RuleKind::of(as_i64(&row[aud_policy_option::KIND])) {
            let option = as_text(&row[aud_policy_option::OPTION]).into();
            let of = (as_u32(&row[aud_policy_option::POLICY]), kind, option, as_u32(&row[aud_policy_option::OBJ]));
            self.options.push(of);
        }
    }

    pub fn add_policy_user(&mut self, row: &[Value]) {
        let on = |column: usize| as_i64(&row[column]) == Some(1);
        self.enabled.push((
            as_u32(&row[aud_policy_user::POLICY]),
            as_i64(&row[aud_policy_user::MODE]).unwrap_or(0),
            as_i64(&row[aud_policy_user::USER]).map(|id| id as u32),
            on(aud_policy_user::SUCCESS),
            on(aud_policy_user::FAILURE),
        ));
    }

    pub fn finish(self) -> AuditSettings {
        let AuditReader { mut rules, policies, options, enabled } = self;
        let mut whom: Vec<(u32, Whom, bool, bool)> = Vec::new();
        let mut excepted: HashMap<u32, Vec<u32>> = HashMap::new();
        for (policy, mode, user, _, _) in &enabled {
            if *mode == 2 {
                excepted.entry(*policy).or_default().extend(user);
            }
        }
        for (policy, mode, user, success, failure) in enabled {
            let who = match (mode, user) {
                (1, Some(user)) => Whom::User(user),
                (2, _) => match excepted.remove(&policy) {
                    Some(users) => Whom::Except(Rc::new(users)),
                    None => continue,
                },
                _ => Whom::All,
            };
            whom.push((policy, who, success, failure));
        }
        for (policy, whom, success, failure) in whom {
            for (_, kind, option, object) in options.iter().filter(|(of, ..)| *of == policy) {
                rules.push(AuditRule {
                    kind: *kind,
                    option: Rc::clone(option),
                    object: *object,
                    policy: policies.get(&policy).cloned(),
                    whom: whom.clone(),
                    success,
                    failure,
                });
            }
        }
        let mut names: Vec<(Rc<str>, u32)> = policies.into_iter().map(|(number, name)| (name, number)).collect();
        names.sort();
        AuditSettings { rules, policies: names }
    }
}

/// The audit settings of statements and objects.
#[derive(Debug, Default)]
pub struct AuditSettings {
    rules: Vec<AuditRule>,
    policies: Vec<(Rc<str>, u32)>,
}

impl AuditSettings {
    pub fn rules(&self) -> &[AuditRule] {
        &self.rules
    }

    /// The number of a policy.
    pub fn policy(&self, name: &str) -> Option<u32> {
        self.policies.iter().find(|(have, _)| &**have == name).map(|(_, number)| *number)
    }

    /// An unused policy number.
    pub fn next_policy(&self) -> u32 {
        self.policies.iter().map(|(_, number)| *number).max().unwrap_or(0) + 1
    }
}

/// A row of the trail.
#[derive(Clone, Debug, Default)]
pub struct AuditRecord {
    pub session: i64,
    pub entry: i64,
    /// Start time of the instance in seconds since 1970: identifies the session together with its number.
    pub startup: i64,
    pub sid: u32,
    pub at: Option<Timestamp>,
    pub user: String,
    pub current_user: String,
    pub os_user: String,
    pub machine: String,
    pub terminal: String,
    pub os_process: String,
    pub program: String,
    pub authentication: &'static str,
    pub action: u16,
    pub action_name: String,
    pub code: u32,
    pub object_schema: String,
    pub object_name: String,
    pub sql_text: String,
    pub privilege: String,
    pub policies: String,
    pub info: String,
    /// The proxy user of the session; empty for none.
    pub proxy: String,
    /// True when the statement AUDIT requires the row too.
    pub by_option: bool,
    /// For a logoff: logical reads, physical reads, logical writes, processor time in hundredths of a second.
    pub figures: Option<[u64; 4]>,
}

/// The longest prefix of a text that fits, cut at a character boundary.
fn cut(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

impl AuditRecord {
    fn row(&self) -> Row {
        let mut row = blank(Base::Aud);
        row[aud::SESSIONID] = int(self.session);
        row[aud::ENTRYID] = int(self.entry);
        row[aud::STARTUP] = int(self.startup);
        row[aud::SID] = int(self.sid);
        row[aud::EVENT_TIMESTAMP] = self.at.map_or(Value::Null, Value::Timestamp);
        for (column, value, bytes) in [
            (aud::DBUSERNAME, self.user.as_str(), 128),
            (aud::CURRENT_USER, &self.current_user, 128),
            (aud::OS_USERNAME, &self.os_user, 128),
            (aud::USERHOST, &self.machine, 128),
            (aud::TERMINAL, &self.terminal, 64),
            (aud::OS_PROCESS, &self.os_process, 24),
            (aud::CLIENT_PROGRAM_NAME, &self.program, 84),
            (aud::AUTHENTICATION, self.authentication, 40),
            (aud::ACTION_NAME, &self.action_name, 64),
            (aud::OBJECT_SCHEMA, &self.object_schema, 128),
            (aud::OBJECT_NAME, &self.object_name, 128),
            (aud::SQL_TEXT, &self.sql_text, 4000),
            (aud::PRIVILEGE, &self.privilege, 100),
            (aud::POLICIES, &self.policies, 1000),
            (aud::INFO, &self.info, 400),
            (aud::DBPROXY, &self.proxy, 128),
        ] {
            row[column] = text(cut(value, bytes));
        }
        row[aud::ACTION] = int(self.action);
        row[aud::RETURN_CODE] = int(self.code);
        row[aud::OPTIONS] = int(i64::from(self.by_option));
        if let Some(figures) = self.figures {
            let columns = [aud::LOGOFF_LREAD, aud::LOGOFF_PREAD, aud::LOGOFF_LWRITE, aud::SESSION_CPU];
            for (column, figure) in columns.into_iter().zip(figures) {
                row[column] = int(figure.min(i64::MAX as u64) as i64);
            }
        }
        row
    }
}

impl DictionaryShared {
    /// Writes a row of the audit trail and commits it. `outer` is the open transaction of the process; its locks on the
    /// trail also protect this one. The caller decides whether to wait for the commit.
    ///
    /// # Errors
    /// Those of inserting a row.
    pub fn write_audit(&self, p: &Process, record: &AuditRecord, outer: &Txn) -> Result<()> {
        let mut txn = Txn::inside(outer);
        match Change::new(self, p, &mut txn).insert(Base::Aud, &record.row()) {
            Ok(()) => self.txns().commit(p, &mut txn, &NoHook).map(drop),
            Err(e) => {
                self.txns().rollback(p, &mut txn)?;
                Err(e)
            }
        }
    }
}

/// Rows of the trail deleted by one transaction.
const CLEANED_AT_ONCE: usize = 1000;

impl DictionaryShared {
    /// The time up to which the trail of this type was archived.
    ///
    /// # Errors
    /// Those of reading.
    pub fn last_archived(&self, p: &Process, trail: i64) -> Result<Option<Timestamp>> {
        let mut found = None;
        self.scan_once(p, Base::DamLastArchTs, &mut |_, row| {
            if as_i64(&row[dam_last_arch_ts::TRAIL]) == Some(trail)
                && let Value::Timestamp(at) = &row[dam_last_arch_ts::LAST_ARCHIVE_TIMESTAMP]
            {
                found = Some(*at);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Stores or deletes the time up to which the trail of this type was archived, in a separate transaction.
    ///
    /// # Errors
    /// Those of changing a row.
    pub fn set_last_archived(&self, p: &Process, trail: i64, at: Option<Timestamp>, outer: &Txn) -> Result<()> {
        let of_trail = |row: &[Value]| as_i64(&row[dam_last_arch_ts::TRAIL]) == Some(trail);
        self.delete_rows(p, Base::DamLastArchTs, &of_trail, outer)?;
        let Some(at) = at else { return Ok(()) };
        let mut row = blank(Base::DamLastArchTs);
        row[dam_last_arch_ts::TRAIL] = int(trail);
        row[dam_last_arch_ts::LAST_ARCHIVE_TIMESTAMP] = Value::Timestamp(at);
        let mut txn = Txn::inside(outer);
        match Change::new(self, p, &mut txn).insert(Base::DamLastArchTs, &row) {
            Ok(()) => self.txns().commit(p, &mut txn, &NoHook).map(drop),
            Err(e) => {
                self.txns().rollback(p, &mut txn)?;
                Err(e)
            }
        }
    }

    /// Deletes the rows of the trail before a time, or all rows, in separate transactions. Skips rows that another
    /// session is deleting. Returns the number of deleted rows.
    ///
    /// # Errors
    /// Those of changing rows; ORA-01013 and ORA-00028 between two transactions.
    pub fn clean_audit(&self, p: &Process, before: Option<&Timestamp>, outer: &Txn) -> Result<u64> {
        let moment = |at: &Timestamp| (at.own_date().to_unix(), at.nanos);
        let is_old = |row: &[Value]| match (&row[aud::EVENT_TIMESTAMP], before) {
            (_, None) => true,
            (Value::Timestamp(at), Some(before)) => moment(at) < moment(before),
            _ => false,
        };
        self.delete_rows(p, Base::Aud, &is_old, outer)
    }

    fn delete_rows(&self, p: &Process, base: Base, which: &dyn Fn(&[Value]) -> bool, outer: &Txn) -> Result<u64> {
        let mut rowids = Vec::new();
        self.scan_once(p, base, &mut |rowid, row| {
            if which(row) {
                rowids.push(rowid);
            }
            Ok(())
        })?;
        let table = self.base_heap(base);
        let mut deleted = 0;
        for some in rowids.chunks(CLEANED_AT_ONCE) {
            p.check_cancel()?;
            let mut txn = Txn::inside(outer);
            let snapshot = self.txns().statement_snapshot(p, &txn);
            let done = some.iter().try_for_each(|rowid| {
                let outcome = self.heap().delete(p, &mut txn, &table, *rowid, &snapshot, LockWait::SkipLocked)?;
                deleted += u64::from(outcome == heap::RowOutcome::Done);
                Ok(())
            });
            self.txns().release(p, &snapshot);
            match done {
                Ok(()) => self.txns().commit(p, &mut txn, &NoHook).map(drop)?,
                Err(e) => {
                    self.txns().rollback(p, &mut txn)?;
                    return Err(e);
                }
            }
        }
        Ok(deleted)
    }
}

/// The actions of an option of the statement AUDIT; `None` for an unknown option.
pub fn actions_of(option: &str) -> Option<&'static [&'static str]> {
    const GROUPS: &[(&str, &[&str])] = &[
        ("SESSION", &["LOGON", "LOGOFF"]),
        ("CREATE SESSION", &["LOGON", "LOGOFF"]),
        ("ALL STATEMENTS", &["ALL"]),
        ("CLUSTER", &["CREATE CLUSTER", "DROP CLUSTER", "TRUNCATE CLUSTER"]),
        ("DIRECTORY", &["CREATE DIRECTORY", "DROP DIRECTORY"]),
        ("INDEX", &["CREATE INDEX", "ALTER INDEX", "DROP INDEX"]),
        (
            "PROCEDURE",
            &[
                "CREATE PROCEDURE",
                "CREATE FUNCTION",
                "CREATE PACKAGE",
                "CREATE PACKAGE BODY",
                "DROP PROCEDURE",
                "DROP FUNCTION",
                "DROP PACKAGE",
            ],
        ),
        ("PROFILE", &["CREATE PROFILE", "ALTER PROFILE", "DROP PROFILE"]),
        ("ROLE", &["CREATE ROLE", "DROP ROLE", "SET ROLE"]),
        ("SEQUENCE", &["CREATE SEQUENCE", "DROP SEQUENCE"]),
        ("SYNONYM", &["CREATE SYNONYM", "DROP SYNONYM"]),
        ("PUBLIC SYNONYM", &["CREATE SYNONYM", "DROP SYNONYM"]),
        ("SYSTEM AUDIT", &["AUDIT", "NOAUDIT"]),
        ("SYSTEM GRANT", &["GRANT", "REVOKE"]),
        ("GRANT TABLE", &["GRANT", "REVOKE"]),
        ("TABLE", &["CREATE TABLE", "DROP TABLE", "TRUNCATE TABLE"]),
        ("TABLESPACE", &["CREATE TABLESPACE", "ALTER TABLESPACE", "DROP TABLESPACE"]),
        ("TRIGGER", &["CREATE TRIGGER", "ALTER TRIGGER", "DROP TRIGGER"]),
        ("TYPE", &["CREATE TYPE", "CREATE TYPE BODY", "ALTER TYPE", "DROP TYPE", "DROP TYPE BODY"]),
        ("USER", &["CREATE USER", "ALTER USER", "DROP USER"]),
        ("VIEW", &["CREATE VIEW", "DROP VIEW"]),
        ("SELECT TABLE", &["SELECT"]),
        ("INSERT TABLE", &["INSERT"]),
        ("UPDATE TABLE", &["UPDATE"]),
        ("DELETE TABLE", &["DELETE"]),
        ("LOCK TABLE", &["LOCK TABLE"]),
        ("COMMENT TABLE", &["COMMENT"]),
        ("ALTER TABLE", &["ALTER TABLE"]),
        ("ALTER SEQUENCE", &["ALTER SEQUENCE"]),
        ("ALTER SYSTEM", &["ALTER SYSTEM"]),
        ("ALTER DATABASE", &["ALTER DATABASE"]),
    ];
    GROUPS.iter().find(|(name, _)| *name == option).map(|(_, actions)| *actions)
}

/// Actions that policies and object auditing accept.
pub const ACTIONS: &[&str] = &[
    "ALL",
    "LOGON",
    "LOGOFF",
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "MERGE",
    "LOCK TABLE",
    "GRANT",
    "REVOKE",
    "AUDIT",
    "NOAUDIT",
    "COMMENT",
    "RENAME",
    "ALTER SYSTEM",
    "ALTER SESSION",
    "ALTER DATABASE",
    "SET ROLE",
    "TRUNCATE TABLE",
    "TRUNCATE CLUSTER",
    "CREATE TABLE",
    "ALTER TABLE",
    "DROP TABLE",
    "CREATE INDEX",
    "ALTER INDEX",
    "DROP INDEX",
    "CREATE VIEW",
    "DROP VIEW",
    "CREATE SEQUENCE",
    "ALTER SEQUENCE",
    "DROP SEQUENCE",
    "CREATE SYNONYM",
    "DROP SYNONYM",
    "CREATE CLUSTER",
    "DROP CLUSTER",
    "CREATE PROCEDURE",
    "ALTER PROCEDURE",
    "DROP PROCEDURE",
    "CREATE FUNCTION",
    "ALTER FUNCTION",
    "DROP FUNCTION",
    "CREATE PACKAGE",
    "ALTER PACKAGE",
    "DROP PACKAGE",
    "CREATE PACKAGE BODY",
    "ALTER PACKAGE BODY",
    "DROP PACKAGE BODY",
    "CREATE TRIGGER",
    "ALTER TRIGGER",
    "DROP TRIGGER",
    "CREATE TYPE",
    "ALTER TYPE",
    "DROP TYPE",
    "CREATE TYPE BODY",
    "DROP TYPE BODY",
    "CREATE USER",
    "ALTER USER",
    "DROP USER",
    "CREATE ROLE",
    "DROP ROLE",
    "CREATE PROFILE",
    "ALTER PROFILE",
    "DROP PROFILE",
    "CREATE TABLESPACE",
    "ALTER TABLESPACE",
    "DROP TABLESPACE",
    "CREATE DIRECTORY",
    "DROP DIRECTORY",
    "CREATE AUDIT POLICY",
    "ALTER AUDIT POLICY",
    "DROP AUDIT POLICY",
    "ANALYZE TABLE",
    "ANALYZE INDEX",
    "PURGE",
];

/// Actions that can be audited on an object.
pub const OBJECT_ACTIONS: &[&str] =
    &["ALL", "SELECT", "INSERT", "UPDATE", "DELETE", "LOCK", "GRANT", "ALTER", "AUDIT", "COMMENT", "INDEX", "RENAME"];

/// The action that uses a privilege, and whether it uses it only on objects of other users; `None` when its use is not
/// audited.
pub fn action_of_privilege(privilege: &str) -> Option<(String, bool)> {
    let fixed = match privilege {
        "GRANT ANY PRIVILEGE" | "GRANT ANY ROLE" => Some(("GRANT", false)),
        "GRANT ANY OBJECT PRIVILEGE" => Some(("GRANT", true)),
        "CREATE SESSION" => Some(("LOGON", false)),
        "AUDIT SYSTEM" => Some(("AUDIT", false)),
        "AUDIT ANY" => Some(("AUDIT", true)),
        "DROP ANY ROLE" => Some(("DROP ROLE", false)),
        "CREATE ANY DIRECTORY" => Some(("CREATE DIRECTORY", false)),
        "DROP ANY DIRECTORY" => Some(("DROP DIRECTORY", false)),
        "CREATE PUBLIC SYNONYM" => Some(("CREATE SYNONYM", true)),
        "DROP PUBLIC SYNONYM" => Some(("DROP SYNONYM", true)),
        _ => None,
    };
    if let Some((action, others)) = fixed {
        return Some((action.to_owned(), others));
    }
    let (action, others) = match privilege.split_once(" ANY ") {
        Some((verb, what)) => (format!("{verb} {what}"), true),
        None => (privilege.to_owned(), false),
    };
    let is_row =
        ["SELECT", "INSERT", "UPDATE", "DELETE", "LOCK", "EXECUTE", "READ"].iter().any(|v| action.starts_with(v));
    (!is_row && ACTIONS.contains(&action.as_str())).then_some((action, others))
}

/// The privileges and actions of ORA_SECURECONFIG.
pub const SECURECONFIG: (&[&str], &[&str]) = (
    &[
        "ALTER ANY TABLE",
        "CREATE ANY TABLE",
        "DROP ANY TABLE",
        "ALTER ANY PROCEDURE",
        "CREATE ANY PROCEDURE",
        "DROP ANY PROCEDURE",
        "GRANT ANY PRIVILEGE",
        "GRANT ANY ROLE",
        "GRANT ANY OBJECT PRIVILEGE",
        "AUDIT SYSTEM",
        "CREATE PUBLIC SYNONYM",
        "DROP PUBLIC SYNONYM",
    ],
    &[
        "CREATE USER",
        "ALTER USER",
        "DROP USER",
        "CREATE ROLE",
        "DROP ROLE",
        "SET ROLE",
        "CREATE PROFILE",
        "ALTER PROFILE",
        "DROP PROFILE",
        "CREATE DIRECTORY",
        "DROP DIRECTORY",
        "ALTER SYSTEM",
        "ALTER DATABASE",
    ],
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_default_policies_name_is_audited() {
        let (privileges, actions) = SECURECONFIG;
        assert!(actions.iter().all(|action| ACTIONS.contains(action)));
        assert!(privileges.iter().all(|privilege| action_of_privilege(privilege).is_some()));
        assert_eq!(action_of_privilege("DROP ANY TABLE"), Some(("DROP TABLE".into(), true)));
        assert_eq!(action_of_privilege("CREATE TABLE"), Some(("CREATE TABLE".into(), false)));
        assert_eq!((action_of_privilege("SELECT ANY TABLE"), action_of_privilege("BECOME USER")), (None, None));
    }

    #[test]
    fn a_policy_with_exceptions_is_for_all_others_and_for_nobodys_names() {
        let whom = Whom::Except(Rc::new(vec![5, 7]));
        assert_eq!([Some(5), Some(6), None].map(|user| whom.is(user)), [false, true, true]);
        assert_eq!([Some(5), Some(6), None].map(|user| Whom::User(5).is(user)), [true, false, false]);
    }
}
