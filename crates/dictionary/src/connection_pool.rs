//! The settings of a connection pool: the columns of CPOOL$ after its name and status.

/// The only pool.
pub const DEFAULT_POOL: &str = "SYS_DEFAULT_CONNECTION_POOL";

/// A setting: its name in ALTER_PARAM and DBA_CPOOL_INFO, its default and its range.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub name: &'static str,
    pub default: i64,
    pub least: i64,
    pub most: i64,
}

const fn setting(name: &'static str, default: i64, least: i64, most: i64) -> Setting {
    Setting { name, default, least, most }
}

const MOST: i64 = i32::MAX as i64;

/// In the order of the columns.
pub const SETTINGS: [Setting; 11] = [
    setting("MINSIZE", 4, 0, 32_767),
    setting("MAXSIZE", 40, 1, 32_767),
    setting("INCRSIZE", 2, 1, 32_767),
    setting("SESSION_CACHED_CURSORS", 20, 0, 65_535),
    setting("INACTIVITY_TIMEOUT", 300, 0, MOST),
    setting("MAX_THINK_TIME", 120, 0, MOST),
    setting("MAX_USE_SESSION", 500_000, 0, MOST),
    setting("MAX_LIFETIME_SESSION", 86_400, 0, MOST),
    setting("NUM_CBROK", 1, 1, 1),
    setting("MAXCONN_CBROK", 40_000, 1, 1_000_000),
    setting("MAX_TXN_THINK_TIME", 0, 0, MOST),
];

/// Positions in [`SETTINGS`].
pub mod place {
    pub const MINSIZE: usize = 0;
    pub const MAXSIZE: usize = 1;
    pub const INCRSIZE: usize = 2;
    pub const SESSION_CACHED_CURSORS: usize = 3;
    pub const INACTIVITY_TIMEOUT: usize = 4;
    pub const MAX_THINK_TIME: usize = 5;
    pub const MAX_USE_SESSION: usize = 6;
    pub const MAX_LIFETIME_SESSION: usize = 7;
    pub const MAXCONN_CBROK: usize = 9;
    pub const MAX_TXN_THINK_TIME: usize = 10;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Base;

    #[test]
    fn settings_are_the_columns() {
        let columns: Vec<&str> = Base::Cpool.table().columns.iter().skip(2).map(|(name, _)| *name).collect();
        assert_eq!(columns, SETTINGS.map(|setting| setting.name));
        assert!(SETTINGS.iter().all(|s| (s.least..=s.most).contains(&s.default)));
        for (at, name) in [
            (place::MINSIZE, "MINSIZE"),
            (place::MAXSIZE, "MAXSIZE"),
            (place::INCRSIZE, "INCRSIZE"),
            (place::SESSION_CACHED_CURSORS, "SESSION_CACHED_CURSORS"),
            (place::INACTIVITY_TIMEOUT, "INACTIVITY_TIMEOUT"),
            (place::MAX_THINK_TIME, "MAX_THINK_TIME"),
            (place::MAX_USE_SESSION, "MAX_USE_SESSION"),
            (place::MAX_LIFETIME_SESSION, "MAX_LIFETIME_SESSION"),
            (place::MAXCONN_CBROK, "MAXCONN_CBROK"),
            (place::MAX_TXN_THINK_TIME, "MAX_TXN_THINK_TIME"),
        ] {
            assert_eq!(SETTINGS[at].name, name);
        }
    }
}
