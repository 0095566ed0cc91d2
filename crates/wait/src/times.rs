//! The time model: how sessions spend their time, in microseconds.
//!
//! A session is busy whenever it is not in a wait of the class Idle. `DB time` is the age of the session without those
//! waits, kept by a stopwatch that idle waits stop. `DB CPU` is the processor time of its process, capped at `DB time`.
//! The other figures are stopwatches that the session starts and stops, so work in progress counts. All are read when
//! they are shown, and are added to the line of ended sessions when the session ends. Only `failed parse elapsed time`
//! is added up by the session, because the failure is known only at the end of the call.
//!
//! Apart from the two figures of background processes, the model contains the time of user sessions only.

macro_rules! times {
    ($( $(#[$doc:meta])* $id:ident | $name:literal; )*) => {
        /// A figure of the time model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum TimeStat { $( $(#[$doc])* $id ),* }

        const ROWS: &[(TimeStat, &str)] = &[ $( (TimeStat::$id, $name) ),* ];
    };
}

times! {
    /// Time in which user sessions were not idle.
    DbTime | "DB time";
    /// Processor time of user sessions.
    DbCpu | "DB CPU";
    /// Time in which background processes were not idle.
    BackgroundElapsed | "background elapsed time";
    /// Processor time of background processes.
    BackgroundCpu | "background cpu time";
    /// Time in which sessions executed statements and blocks and fetched from them, without the time to parse them.
    SqlExecute | "sql execute elapsed time";
    /// Time of parse calls, hard and soft, including the time to read the text.
    Parse | "parse time elapsed";
    /// Processor time of parse calls. Not in Oracle's list, where the statistic `parse time cpu` has this figure.
    ParseCpu | "parse time cpu";
    /// Time of parse calls that made a shared cursor or failed to make one.
    HardParse | "hard parse elapsed time";
    /// Time of parse calls that ended in an error.
    FailedParse | "failed parse elapsed time";
    /// Time from the attachment of the process to the end of its logon, successful or not.
    Connection | "connection management call elapsed time";
}

impl TimeStat {
    /// The figures of background processes.
    pub const OF_BACKGROUND: [Self; 2] = [Self::BackgroundElapsed, Self::BackgroundCpu];

    /// The number of figures.
    pub const COUNT: usize = ROWS.len();

    /// All figures in order.
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
