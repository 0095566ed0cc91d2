//! The session of the shell: logon, its passwords, and its end.

use crate::logon::Logon;
use crate::shell::Shell;
use crate::titles::RELEASE;
use client::{Bind, Client, Credentials};
use types::{DataType, Value};

impl Shell<'_> {
    /// Asks for the logon; only a person at a terminal is asked.
    pub fn ask_logon(&mut self, interactive: bool) -> Option<String> {
        if !interactive {
            return None;
        }
        self.out.flush();
        self.reader.read("Enter user-name: ").ok().filter(|name| !name.trim().is_empty())
    }

    /// Logs on for the first time and prints the server's banner.
    pub fn log_on(&mut self, logon: Logon) -> bool {
        let logon = self.with_password(logon);
        let connected = self.connect(&logon.credentials, logon.place.as_deref());
        if connected && !self.silent {
            let banner = self.session.as_ref().map_or(String::new(), |s| s.welcome().banner.clone());
            self.out.line("");
            self.out.line("Connected to:");
            self.out.line(&banner);
            self.out.line("");
        }
        self.out.flush();
        connected
    }

    /// Opens the first session. False after an error, which has been printed.
    pub fn connect(&mut self, credentials: &Credentials, place: Option<&str>) -> bool {
        let connected = self.connector.connect(credentials, place);
        let expired = connected.as_ref().err().is_some_and(|e| e.code() == 28001);
        let connected = match (connected, credentials) {
            (Err(e), Credentials::Password { user, password }) if expired => {
                self.out.line("ERROR:");
                self.out.line(&e.to_string());
                self.out.line("");
                self.out.line("");
                self.out.line(&format!("Changing password for {user}"));
                let Some(new_password) = self.new_password() else {
                    self.last_code = 28001;
                    self.out.line("Password unchanged");
                    return false;
                };
                let change = Credentials::Change { user: user.clone(), password: password.clone(), new_password };
                let changed = self.connector.connect(&change, place);
                self.out.line(if changed.is_ok() { "Password changed" } else { "Password unchanged" });
                changed
            }
            (connected, _) => connected,
        };
        match connected {
            Ok(session) => {
                if let Some(warning) = session.warning() {
                    let warning = warning.to_string();
                    self.out.line("ERROR:");
                    self.out.line(&warning);
                    self.out.line("");
                    self.out.line("");
                }
                self.adopt(session);
                let privileged = matches!(credentials, Credentials::Sysdba | Credentials::SysdbaPassword { .. });
                self.variables.define("_PRIVILEGE", if privileged { "AS SYSDBA" } else { "" });
                // After an expired password was changed the old logon is not valid any more.
                self.logon = (!expired).then(|| (credentials.clone(), place.map(str::to_string)));
                if self.settings.autotrace.statistics {
                    self.set_autotrace(self.settings.autotrace);
                }
                true
            }
            Err(e) => {
                self.last_code = i64::from(e.code());
                self.out.line("ERROR:");
                self.out.line(&e.to_string());
                self.out.line("");
                self.out.line("");
                false
            }
        }
    }

    fn adopt(&mut self, mut session: Client) {
        session.set_want_output(self.settings.serveroutput);
        self.banner = Some(session.welcome().banner.clone());
        self.variables.define("_USER", &session.welcome().user.clone());
        self.variables.define("_CONNECT_IDENTIFIER", &session.welcome().instance.clone());
        self.variables.define("_SQLPLUS_RELEASE", RELEASE);
        self.variables.define("_O_RELEASE", RELEASE);
        self.variables.define("_O_VERSION", &session.welcome().banner.clone());
        *self.breaker.lock().unwrap_or_else(|e| e.into_inner()) = Some(session.break_handle());
        if self.settings.serveroutput
            && let Err(e) = session.execute(&self.settings.enable_output(), &[])
        {
            self.out.line(&e.to_string());
        }
        if let Some(zone) = session_zone()
            && let Err(e) = session.execute(&format!("alter session set time_zone = {zone}"), &[])
        {
            self.out.line(&e.to_string());
        }
        self.session = Some(session);
        if self.settings.appinfo {
            self.register_application();
        }
        self.read_nls();
    }

    /// `SET APPINFO`: registers the script, or the text that was set, as the session's module.
    pub(crate) fn register_application(&mut self) {
        let Some(session) = &mut self.session else { return };
        let name = match (self.settings.appinfo, self.settings.appinfo_text.as_str()) {
            (true, "SQL*Plus") => self.scripts.name().unwrap_or_else(|| "SQL*Plus".into()),
            (true, text) => text.to_string(),
            (false, _) => "SQL*Plus".into(),
        };
        let name: String = name.chars().take(48).collect();
        let binds = [Bind::input(DataType::Varchar2 { len: 200, unit: types::LenUnit::Byte }, Value::Text(name))];
        if let Err(e) = session.execute("begin dbms_application_info.set_module(:1, null); end;", &binds) {
            self.out.line(&e.to_string());
        }
    }

    /// Reads the session's formats: the server sends values, and the shell formats them.
    pub(crate) fn read_nls(&mut self) {
        let Some(session) = &mut self.session else {
            return;
        };
        let sql = "select parameter, value from nls_session_parameters union all select 'TIME_ZONE', sessiontimezone from dual";
        let Ok(rows) = session.query(sql, &[]).and_then(client::Query::all) else {
            return;
        };
        for row in rows {
            let [Value::Text(name), Value::Text(value)] = row.as_slice() else {
                continue;
            };
            let nls = &mut self.settings.nls;
            match name.as_str() {
                "TIME_ZONE" => nls.zone = types::TimeZone::parse(value).unwrap_or(nls.zone),
                "NLS_DATE_LANGUAGE" => nls.date_language.clone_from(value),
                "NLS_TERRITORY" => nls.territory.clone_from(value),
                "NLS_CURRENCY" => nls.currency.clone_from(value),
                "NLS_DATE_FORMAT" => nls.date_format.clone_from(value),
                "NLS_TIMESTAMP_FORMAT" => nls.timestamp_format.clone_from(value),
                "NLS_TIMESTAMP_TZ_FORMAT" => nls.timestamp_tz_format.clone_from(value),
                "NLS_NUMERIC_CHARACTERS" => {
                    let mut marks = value.chars();
                    if let (Some(decimal), Some(group)) = (marks.next(), marks.next()) {
                        (nls.decimal, nls.group) = (decimal, group);
                    }
                }
                _ => {}
            }
        }
    }

    pub(crate) fn disconnect(&mut self, commit: bool) {
        self.observer = None;
        *self.breaker.lock().unwrap_or_else(|e| e.into_inner()) = None;
        if let Some(session) = self.session.take()
            && !session.is_closed()
            && let Err(e) = session.logoff(commit)
            && !e.is_fatal()
        {
            self.out.line(&e.to_string());
        }
    }

    /// Prints SQL*Plus's message on leaving a session, unless the shell is silent.
    pub(crate) fn say_disconnected(&mut self) {
        if let Some(banner) = self.banner.take()
            && !self.silent
        {
            self.out.line(&format!("Disconnected from {banner}"));
        }
    }

    /// Asks for a password if the user name came without one.
    pub(crate) fn with_password(&mut self, logon: Logon) -> Logon {
        if !logon.asks_password {
            return logon;
        }
        self.out.flush();
        let password = self.reader.read_secret("Enter password: ").unwrap_or_default();
        let credentials = match logon.credentials {
            Credentials::Password { user, .. } => Credentials::Password { user, password },
            Credentials::SysdbaPassword { user, .. } => Credentials::SysdbaPassword { user, password },
            other => other,
        };
        Logon { credentials, asks_password: false, ..logon }
    }

    /// Asks for a new password twice; `None` when it is not to be changed.
    pub(crate) fn new_password(&mut self) -> Option<String> {
        self.out.flush();
        let new = self.reader.read_secret("New password: ").ok()?;
        let again = self.reader.read_secret("Retype new password: ").ok()?;
        if new != again {
            self.out.line("Passwords do not match");
            return None;
        }
        if new.is_empty() || new.contains('"') {
            self.out.line("ERROR:");
            self.out.line("ORA-00988: missing or invalid password(s)");
            self.out.line("");
            return None;
        }
        Some(new)
    }
}

/// ORA_SDTZ: the initial time zone of sessions, in the form of ALTER SESSION.
fn session_zone() -> Option<String> {
    let zone = std::env::var("ORA_SDTZ").ok()?;
    Some(match zone.trim() {
        "" => return None,
        "OS_TZ" => "local".to_owned(),
        "DB_TZ" => "dbtimezone".to_owned(),
        zone => format!("'{}'", zone.replace('\'', "''")),
    })
}
