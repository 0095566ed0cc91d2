//! The events of triggers on schemas and the database.

types::numbered! {
    /// An event of a trigger on a schema or the database. Its number is its bit in TRIGGER$.SYS_EVTS, and the order of
    /// the numbers is the order of the events in `dba_triggers`.
    #[derive(Debug, PartialEq, Eq, Hash)]
    pub enum SystemEvent: u8 {
        Startup = 0,
        Shutdown = 1,
        ServerError = 2,
        Logon = 3,
        Logoff = 4,
        Create = 5,
        Alter = 6,
        Drop = 7,
        Analyze = 8,
        Comment = 9,
        Grant = 10,
        Revoke = 11,
        Truncate = 12,
        Rename = 13,
        Audit = 14,
        Noaudit = 15,
        /// Any DDL statement.
        Ddl = 16,
    }
}

impl SystemEvent {
    /// The word of CREATE TRIGGER.
    pub fn word(self) -> &'static str {
        match self {
            SystemEvent::Startup => "STARTUP",
            SystemEvent::Shutdown => "SHUTDOWN",
            SystemEvent::ServerError => "SERVERERROR",
            SystemEvent::Logon => "LOGON",
            SystemEvent::Logoff => "LOGOFF",
            SystemEvent::Create => "CREATE",
            SystemEvent::Alter => "ALTER",
            SystemEvent::Drop => "DROP",
            SystemEvent::Analyze => "ANALYZE",
            SystemEvent::Comment => "COMMENT",
            SystemEvent::Grant => "GRANT",
            SystemEvent::Revoke => "REVOKE",
            SystemEvent::Truncate => "TRUNCATE",
            SystemEvent::Rename => "RENAME",
            SystemEvent::Audit => "AUDIT",
            SystemEvent::Noaudit => "NOAUDIT",
            SystemEvent::Ddl => "DDL",
        }
    }

    pub fn of_word(word: &str) -> Option<SystemEvent> {
        SystemEvent::ALL.into_iter().find(|event| event.word() == word)
    }

    pub fn bit(self) -> u32 {
        1 << self.code()
    }

    /// The only time at which a trigger of this event may fire, as the error for the other one, and whether that
    /// time is before the event.
    pub fn time(self) -> Option<(u32, bool)> {
        match self {
            SystemEvent::Startup | SystemEvent::ServerError => Some((30500, false)),
            SystemEvent::Shutdown => Some((30501, true)),
            SystemEvent::Logon => Some((30508, false)),
            SystemEvent::Logoff => Some((30509, true)),
            _ => None, // not a clause: the others are statements
        }
    }
}
