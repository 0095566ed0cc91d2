//! The time model: what sessions spend their time on, in microseconds.
//!
//! A session is busy whenever it does not wait for an event of the class Idle. So `DB time` is its age without those waits, and needs no
//! clock read on any path; `DB CPU` is the processor time of its process. Both are made where they are read, and put into the session's
//! line when it ends. The others are told by the session as it goes; `sql execute elapsed time` also while a call is on its way.

macro_rules! times {
    ($( $(#[$doc:meta])* $id:ident | $name:literal; )*) => {
        /// A figure of the time model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum TimeStat { $( $(#[$doc])* $id ),* }

        const ROWS: &[(TimeStat, &str)] = &[ $( (TimeStat::$id, $name) ),* ];
    };
}

times! {
    /// Time in which sessions of users were not idle.
    DbTime | "DB time";
    /// Processor time of their processes.
    DbCpu | "DB CPU";
    /// Time in which background processes were not idle.
    BackgroundElapsed | "background elapsed time";
    /// Processor time of background processes.
    BackgroundCpu | "background cpu time";
    /// Time in which sessions executed statements and blocks and fetched from them, without that of parsing them.
    SqlExecute | "sql execute elapsed time";
    /// Time of parse calls, hard and soft.
    Parse | "parse time elapsed";
    /// Processor time of parse calls. Not in Oracle's list, where the statistic `parse time cpu` has it.
    ParseCpu | "parse time cpu";
    /// Time of parse calls that made a shared cursor.
    HardParse | "hard parse elapsed time";
    /// Time of parse calls that ended in an error.
    FailedParse | "failed parse elapsed time";
    /// Time from the process's attaching to the end of its logon.
    Connection | "connection management call elapsed time";
}

impl TimeStat {
    /// How many there are.
    pub const COUNT: usize = ROWS.len();

    /// All of them in order.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        ROWS.iter().map(|row| row.0)
    }

    /// The column STAT_NAME.
    #[must_use]
    pub fn name(self) -> &'static str {
        ROWS[self as usize].1
    }

    /// The column STAT_ID: a hash of the name.
    #[must_use]
    pub fn id(self) -> u32 {
        crate::events::name_hash(self.name())
    }
}
