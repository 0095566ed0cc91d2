//! The instance as a whole: `STARTUP`, `SHUTDOWN`, `ARCHIVE LOG LIST`.
//!
//! The shell starts and stops an instance by the program itself (`latchwork start`, `latchwork stop`), with the rights
//! of the operating-system user.

use crate::shell::Shell;
use crate::text::words;
use client::Credentials;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

impl Shell<'_> {
    /// `SHUTDOWN [ABORT | IMMEDIATE | NORMAL]`.
    pub(crate) fn shutdown(&mut self, rest: &str) {
        let mode = match rest.trim().to_ascii_lowercase().as_str() {
            "" | "normal" => "normal",
            "immediate" => "immediate",
            "abort" => "abort",
            "transactional" | "transactional local" => {
                self.out.line("SP2-0042: SHUTDOWN TRANSACTIONAL is not supported here.");
                return;
            }
            other => {
                self.out.line(&format!("SP2-0717: illegal SHUTDOWN option \"{other}\""));
                return;
            }
        };
        let Some(dir) = self.own_instance() else { return };
        // The transaction is the user's to end: SHUTDOWN neither commits it nor takes it back.
        if mode != "abort" && self.in_transaction() {
            self.failed("ORA-01097: cannot shutdown while in a transaction - commit or rollback first");
            return;
        }
        // The session itself would keep an instance that waits for its sessions.
        self.disconnect(false);
        self.banner = None;
        match run_program(&["stop", "--mode", mode], &dir) {
            Ok(()) => {
                if mode != "abort" {
                    self.out.line("Database closed.");
                    self.out.line("Database dismounted.");
                }
                self.out.line("ORACLE instance shut down.");
            }
            Err(message) => self.failed(&message),
        }
    }

    fn in_transaction(&mut self) -> bool {
        !self.rows_of("select 1 from dual where dbms_transaction.local_transaction_id is not null").is_empty()
    }

    /// The directory of the instance, if the session may stop it; `None` after a message.
    fn own_instance(&mut self) -> Option<PathBuf> {
        let Some(session) = &self.session else {
            self.out.line("ORA-01012: not logged on");
            return None;
        };
        let privileged = self.logon.as_ref().is_some_and(|(credentials, _)| {
            matches!(credentials, Credentials::Sysdba | Credentials::SysdbaPassword { .. })
        });
        if !privileged {
            self.failed("ORA-01031: insufficient privileges");
            return None;
        }
        let dir = session.dir().to_path_buf();
        if self.connector.home().is_none() || dir.as_os_str().is_empty() {
            self.out.line("SP2-0042: SHUTDOWN is not supported for a throw-away instance and over the network.");
            return None;
        }
        Some(dir)
    }

    /// `STARTUP [FORCE] [QUIET] [PFILE=file] [OPEN]`.
    pub(crate) fn startup(&mut self, rest: &str) {
        let (mut force, mut quiet, mut file) = (false, false, None);
        for word in words(rest) {
            match word.to_ascii_lowercase().as_str() {
                "force" => force = true,
                "quiet" => quiet = true,
                "open" => {}
                lower if lower.starts_with("pfile=") => file = Some(word[6..].trim_matches(['\'', '"']).to_string()),
                "nomount" | "mount" | "restrict" | "upgrade" | "downgrade" => {
                    self.out.line(&format!("SP2-0042: STARTUP {} is not supported here.", word.to_uppercase()));
                    return;
                }
                _ => {
                    self.out.line(&format!("SP2-0714: invalid combination of STARTUP options: {word}"));
                    return;
                }
            }
        }
        if self.session.is_some() {
            if !force {
                self.failed("ORA-01081: cannot start already-running ORACLE - shut it down first");
                return;
            }
            let Some(dir) = self.own_instance() else { return };
            self.disconnect(false);
            self.banner = None;
            if let Err(message) = run_program(&["stop", "--mode", "abort"], &dir) {
                self.failed(&message);
                return;
            }
        }
        let Some(dir) = self.connector.home() else {
            self.out.line("SP2-0042: STARTUP is not supported for a throw-away instance.");
            return;
        };
        // STARTUP makes no database where there is none.
        let mut arguments = vec!["start", "--existing"];
        if let Some(file) = &file {
            arguments.extend(["--init", file]);
        }
        if let Err(message) = run_program(&arguments, &dir) {
            self.failed(&message);
            return;
        }
        self.out.line("ORACLE instance started.");
        if !self.connect(&Credentials::Sysdba, dir.to_str()) {
            return;
        }
        if !quiet {
            self.show_sga();
        }
        self.out.line("Database mounted.");
        self.out.line("Database opened.");
    }

    fn failed(&mut self, message: &str) {
        self.out.line(message);
        self.os_error();
    }

    /// `ARCHIVE LOG LIST`.
    pub(crate) fn archive(&mut self, rest: &str) {
        let all: Vec<String> = words(rest).iter().map(|word| word.to_ascii_lowercase()).collect();
        if all != ["log", "list"] {
            self.out.line("SP2-0718: illegal ARCHIVE LOG option");
            return;
        }
        let sql = "select d.log_mode, min(l.sequence#), max(decode(l.status, 'CURRENT', l.sequence#)), \
                   min(decode(l.archived, 'NO', l.sequence#)), \
                   (select max(value) from v$parameter where name = 'log_archive_dest_1') \
                   from v$database d, v$log l where l.sequence# > 0 group by d.log_mode";
        let Some(rows) = self.rows_or_error(sql) else { return };
        let Some(row) = rows.first() else { return };
        let text: Vec<String> = row.iter().map(|value| self.text(value)).collect();
        let archives = text[0] == "ARCHIVELOG";
        let [mode, automatic] = if archives { ["Archive Mode", "Enabled"] } else { ["No Archive Mode", "Disabled"] };
        let destination = match text[4].trim().strip_prefix("LOCATION=").unwrap_or(text[4].trim()) {
            "" => match self.session.as_ref().map(|session| session.dir().join("archive")) {
                Some(dir) if dir.is_absolute() => dir.display().to_string(),
                _ => String::new(),
            },
            named => named.to_string(),
        };
        let mut lines = vec![
            ("Database log mode", mode.to_string()),
            ("Automatic archival", automatic.to_string()),
            ("Archive destination", destination),
            ("Oldest online log sequence", text[1].clone()),
        ];
        if archives {
            lines.push(("Next log sequence to archive", text[3].clone()));
        }
        lines.push(("Current log sequence", text[2].clone()));
        for (name, value) in lines {
            self.out.line(format!("{name:<30} {value}").trim_end());
        }
    }
}

/// Runs the program on a directory, silently.
///
/// # Errors
/// The output of the program.
fn run_program(arguments: &[&str], dir: &Path) -> Result<(), String> {
    let program = client::find_executable().map_err(|e| e.to_string())?;
    let mut command = Command::new(program);
    command.args(arguments).arg("--dir").arg(dir).stdin(Stdio::null());
    let output = command.output().map_err(|e| e.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stderr, output.stdout].concat();
    Err(String::from_utf8_lossy(&said).trim_end().to_string())
}
