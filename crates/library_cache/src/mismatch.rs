//! The reasons why a statement gets another child.

/// Reasons why a cursor was not shared: the bits of MISMATCH, the columns of `v$sql_shared_cursor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mismatch {
    AuthCheck = 0,
    Translation = 1,
    Optimizer = 2,
    Language = 3,
    Bind = 4,
    /// No child's ranges contain the selectivities of its values.
    BindEquivFailure = 5,
    /// The first child that is shared by selectivity.
    LoadOptimizerStats = 6,
    /// Planned with corrections from an execution.
    UseFeedbackStats = 7,
    /// Sharing of the previous child ended after a change of statistics.
    RollInvalid = 8,
}
