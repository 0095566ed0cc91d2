//! Names and numbers of a new database.

/// Name of the control file in the database directory.
pub const CONTROL_FILE: &str = "control";
/// Name of the second copy of the control file.
pub const CONTROL_COPY: &str = "control02";
/// Name of the double-write area's file in the database directory.
pub const DOUBLE_WRITE_FILE: &str = "double_write";

/// Tablespace numbers of a new database.
pub mod tablespace {
    /// Dictionary.
    pub const SYSTEM: u32 = 0;
    /// Undo segments.
    pub const UNDO: u32 = 1;
    /// Users' segments.
    pub const USERS: u32 = 2;
    /// Temporary segments.
    pub const TEMP: u32 = 3;
}
