//! The numbers of the format: `apache/parquet-format`, version 1 pages.

pub const MAGIC: &[u8; 4] = b"PAR1";

// Physical types, encodings, page types.
pub const INT64: i64 = 2;
pub const DOUBLE: i64 = 5;
pub const BYTE_ARRAY: i64 = 6;
pub const PLAIN: i64 = 0;
pub const PLAIN_DICTIONARY: i64 = 2;
pub const RLE: i64 = 3;
pub const RLE_DICTIONARY: i64 = 8;
pub const DATA_PAGE: i64 = 0;
pub const DICTIONARY_PAGE: i64 = 2;
