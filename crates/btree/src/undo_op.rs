//! Operations of undo records of `Layer::Index`.

/// The entry was added: sort key.
pub const TAKE_OUT: u8 = 1;
/// The entry was marked or revived: flags u8, xid u64, sort key.
pub const PUT_BACK: u8 = 2;
/// The row was inserted: key.
pub const TAKE_OUT_ROW: u8 = 3;
/// The row was changed, locked, deleted or revived: flags u8, head, length of the key u16, key, patch that makes
/// the older version from the newer one.
pub const PUT_BACK_ROW: u8 = 4;
/// Entries were added: sort keys as in [`crate::list`].
pub const TAKE_OUT_MANY: u8 = 7;
/// Entries were marked: for each flags u8, xid u64 (left out when [`SAME_XID`] says that it equals the previous
/// one), and the sort key as in [`crate::list`].
pub const PUT_BACK_MANY: u8 = 8;
/// Entries were added: in each range all entries of the transaction (R15). First and last sort keys as in
/// [`crate::list`].
pub const TAKE_OUT_RANGES: u8 = 9;
/// Entries were marked that had the same mark: flags u8, xid u64, then as TAKE_OUT_RANGES.
pub const PUT_BACK_RANGES: u8 = 10;

/// Flag of an entry that was marked: its transaction is that of the previous entry in the list.
pub const SAME_XID: u8 = 0x80;
