//! The time model: what sessions spend their time on, in microseconds.
//!
//! A session is busy whenever it does not wait for an event of the class Idle. So `DB time` is its age without those
//! waits: a stopwatch that they stop. `DB CPU` is the processor time of its process, as far as it is no more than that.
//! The others are stopwatches too, which the session starts and stops as it goes, so that what is in progress counts.
//! All are read where they are shown, and put into the line of the gone when the session ends; only what is known when
//! it is over, `failed parse elapsed time`, is added up by the session.
//!
//! But for the two of background processes, the model has the time of sessions of users.

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
    /// Time of parse calls, hard and soft, with that of reading the text.
    Parse | "parse time elapsed";
    /// Processor time of parse calls. Not in Oracle's list, where the statistic `parse time cpu` has it.
    ParseCpu | "parse time cpu";
    /// Time of parse calls that made a shared cursor, or failed to.
    HardParse | "hard parse elapsed time";
    /// Time of parse calls that ended in an error.
    FailedParse | "failed parse elapsed time";
    /// Time from the process's attaching to the end of its logon, or of the session that could not log on.
    Connection | "connection management call elapsed time";
}

impl TimeStat {
    /// Those of background processes.
    pub const OF_BACKGROUND: [Self; 2] = [Self::BackgroundElapsed, Self::BackgroundCpu];

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
