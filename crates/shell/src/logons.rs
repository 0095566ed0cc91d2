//! `CONNECT` and `PASSWORD`.

use crate::logon::parse_logon;
use crate::shell::{Ended, Shell};

impl Shell<'_> {
    pub(crate) fn connect_command(&mut self, rest: &str) {
        self.disconnect(true);
        match parse_logon(rest) {
            Ok(logon) => {
                let logon = self.with_password(logon);
                if self.connect(&logon.credentials, logon.place.as_deref()) {
                    self.out.line("Connected.");
                } else {
                    self.out.line("Warning: You are no longer connected to ORACLE.");
                    let rule = self.on_sql_error.clone();
                    if let Some(code) = &rule.exit {
                        let code = self.exit_code(code);
                        self.ended = Some(Ended { code, commit: false });
                    }
                }
            }
            Err(message) => self.out.line(&message),
        }
    }

    /// PASSWORD: changes a user's password without showing it.
    pub(crate) fn password(&mut self, rest: &str) {
        if self.session.is_none() {
            self.out.line("SP2-0640: Not connected");
            return;
        }
        let own = self.variables.get("_USER").unwrap_or_default().to_string();
        let user = match rest.trim() {
            "" => own.clone(),
            quoted if quoted.starts_with('"') => quoted.trim_matches('"').to_string(),
            name => name.to_uppercase(),
        };
        if user.contains('"') {
            self.out.line("SP2-0306: Invalid option.");
            return;
        }
        self.out.line(&format!("Changing password for {user}"));
        self.out.flush();
        let old = (user == own).then(|| self.reader.read_secret("Old password: ").unwrap_or_default());
        let Some(new) = self.new_password() else {
            self.out.line("Password unchanged");
            return;
        };
        let replace = old.filter(|old| !old.is_empty() && !old.contains('"'));
        let replace = replace.map_or_else(String::new, |old| format!(" replace \"{old}\""));
        let sql = format!("alter user \"{user}\" identified by \"{new}\"{replace}");
        let done = self.session.as_mut().map(|session| session.execute(&sql, &[]));
        match done {
            Some(Err(e)) => {
                self.last_code = i64::from(e.code());
                self.out.line("ERROR:");
                self.out.line(&e.to_string());
                self.out.line("");
                self.out.line("");
                self.out.line("Password unchanged");
            }
            _ => self.out.line("Password changed"),
        }
    }
}
