//! The reasons why a lock is not obtained.

use types::Ora;

/// The reason why a lock was not obtained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnqueueError {
    /// ORA-00054: another session owns it, and the request was NOWAIT.
    Busy,
    /// ORA-30006: another session owned it for the whole time.
    TimedOut,
    /// ORA-00060: the wait would never end.
    Deadlock,
    /// ORA-00052: none of this many resources is free.
    OutOfResources(u32),
    /// ORA-00053: no lock is free.
    OutOfLocks,
    /// ORA-00028 or ORA-01013 while waiting.
    Cancelled(Ora),
}

impl From<EnqueueError> for Ora {
    fn from(error: EnqueueError) -> Self {
        match error {
            EnqueueError::Busy => Ora::new(54),
            EnqueueError::TimedOut => Ora::new(30006),
            EnqueueError::Deadlock => Ora::new(60),
            EnqueueError::OutOfResources(most) => Ora::with(52, &[&most]),
            EnqueueError::OutOfLocks => Ora::new(53),
            EnqueueError::Cancelled(ora) => ora,
        }
    }
}
