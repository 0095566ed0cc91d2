//! The options of a start and of a stop.

use params::InitParams;
use std::path::PathBuf;

/// Makes a checkpoint of the instance of a database that is copied.
pub type Checkpoint = Box<dyn FnMut() -> types::Result<()>>;

/// The options of an instance.
pub struct StartOptions {
    /// The database directory; `None` makes a throw-away instance in a temporary directory.
    pub dir: Option<PathBuf>,
    pub params: InitParams,
    /// The directory of a throw-away instance becomes a copy of this database, open or stopped.
    pub fork_of: Option<(PathBuf, Checkpoint)>,
    /// The instance ends when standard input does.
    pub owner_on_stdin: bool,
}

/// The ways to stop an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopMode {
    /// Waits until every session has ended.
    Normal,
    /// Ends the sessions and rolls their transactions back.
    Immediate,
    /// Ends at once.
    Abort,
}

impl StopMode {
    /// The word in the alert log.
    pub fn name(self) -> &'static str {
        match self {
            StopMode::Normal => "normal",
            StopMode::Immediate => "immediate",
            StopMode::Abort => "abort",
        }
    }
}
