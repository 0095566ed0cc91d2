//! `SET ERRORLOGGING`: the errors of the session's statements as rows of a table.
//!
//! The rows belong to the session's own transaction, as SQL*Plus documents: a rollback takes them back.

use crate::shell::Shell;
use client::{Bind, Direction};
use types::{DataType, LenUnit, Value};

/// The name of the table that the shell makes itself.
const OWN: &str = "SPERRORLOG";

impl Shell<'_> {
    /// Makes the table where it is missing, and removes its rows if that is wanted.
    pub(crate) fn begin_error_log(&mut self, truncate: bool) {
        let table = self.settings.errorlogging.table.clone();
        let found = self.with_session(|session| session.execute(&format!("select 1 from {table} where 1 = 2"), &[]));
        let made = match found {
            Ok(_) => Ok(()),
            // The definition of the manual, "SET ERRORLOGGING".
            Err(e) if e.code() == 942 && table.eq_ignore_ascii_case(OWN) => {
                let create = format!(
                    "create table {OWN} (username varchar2(256), timestamp timestamp, script varchar2(1024), \
                     identifier varchar2(256), message clob, statement clob)"
                );
                self.with_session(|session| session.execute(&create, &[])).map(|_| ())
            }
            Err(e) => Err(e),
        };
        let done = made.and_then(|()| match truncate {
            true => self.with_session(|session| session.execute(&format!("truncate table {table}"), &[])).map(|_| ()),
            false => Ok(()),
        });
        if let Err(e) = done {
            self.out.line("ERROR:");
            self.out.line(&e.to_string());
            self.out.line("");
            self.out.line("");
            self.out.line("SP2-1507: Errorlogging table, role or privilege is missing or not accessible");
            self.settings.errorlogging.on = false;
        }
    }

    /// Adds a row for an error. A failure switches the log off, so that it cannot hide the error itself.
    pub(crate) fn log_error(&mut self, statement: &str, message: &str) {
        if !self.settings.errorlogging.on || self.session.as_ref().is_none_or(client::Client::is_closed) {
            return;
        }
        let log = self.settings.errorlogging.clone();
        let script = self.scripts.name().unwrap_or_default();
        let text = |name: &str, value: &str, len: u32| {
            let value =
                if value.is_empty() { Value::Null } else { Value::Text(value.chars().take(len as usize).collect()) };
            Bind {
                name: Some(name.to_string()),
                direction: Direction::In,
                data_type: DataType::Varchar2 { len: len * 4, unit: LenUnit::Byte },
                value,
            }
        };
        // A password does not get into a table (invariant 7).
        let with_password = statement.to_ascii_lowercase().contains("identified");
        let binds = [
            text("SCRIPT", &script, 256),
            text("IDENTIFIER", &log.identifier, 64),
            text("MESSAGE", message, 4000),
            text("STATEMENT", if with_password { "" } else { statement }, 8000),
        ];
        let insert = format!(
            "insert into {} (username, timestamp, script, identifier, message, statement) \
             values (user, systimestamp, :SCRIPT, :IDENTIFIER, :MESSAGE, :STATEMENT)",
            log.table
        );
        if let Err(e) = self.with_session(|session| session.execute(&insert, &binds)) {
            self.settings.errorlogging.on = false;
            self.out.line(&e.to_string());
            let (owner, table) = match log.table.split_once('.') {
                Some((owner, table)) => (owner.to_uppercase(), table.to_uppercase()),
                None => (self.current_schema(), log.table.to_uppercase()),
            };
            self.out.line(&format!("SP2-1519: Unable to write to the error log table {owner}.{table}"));
        }
    }
}
