//! Column values as bytes that order with `memcmp`.

use crate::error::Result;
use crate::{DataType, Value};

/// Appends the stored form of a value that is not NULL (NULL appends nothing).
pub fn encode(_value: &Value, _out: &mut Vec<u8>) {
    todo!()
}

/// Reads a stored value of a type into `value`, reusing its buffer. ORA-00600 when the bytes are not of the type.
pub fn decode_into(_bytes: &[u8], _data_type: &DataType, _value: &mut Value) -> Result<()> {
    todo!()
}

/// Appends one part of an index key: self-delimiting, NULL after everything, reversed when `descending`.
/// `stored` is the stored form of the column, `None` for NULL.
pub fn push_key_part(_stored: Option<&[u8]>, _descending: bool, _out: &mut Vec<u8>) {
    todo!()
}

/// Takes one part off the front of a key, writing its stored form into `out` (cleared first). Returns the rest and whether the part
/// was not NULL; `None` when the key is damaged.
pub fn pop_key_part<'a>(_key: &'a [u8], _descending: bool, _out: &mut Vec<u8>) -> Option<(&'a [u8], bool)> {
    todo!()
}
