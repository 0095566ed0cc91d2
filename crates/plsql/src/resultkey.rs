//! Arguments and results of RESULT_CACHE functions as bytes.

use types::{DataType, Ora, Result, Value, codec};

/// Appends a value: its presence, its length, its bytes.
pub fn write_value(v: &Value, out: &mut Vec<u8>) {
    match v {
        Value::Null => out.push(0),
        Value::Boolean(b) => out.extend([2, u8::from(*b)]),
        other => {
            out.push(1);
            let at = out.len();
            out.extend([0; 4]);
            codec::encode(other, out);
            let len = (out.len() - at - 4) as u32;
            out[at..at + 4].copy_from_slice(&len.to_le_bytes());
        }
    }
}

/// Reads what [`write_value`] wrote; a damaged value is ORA-00600, never a wrong one.
pub fn read_value(bytes: &[u8], ty: &DataType) -> Result<Value> {
    let bad = || Ora::internal("cached function result");
    match bytes {
        [0] => Ok(Value::Null),
        [2, b] => Ok(Value::Boolean(*b != 0)),
        [1, a, b, c, d, rest @ ..] if u32::from_le_bytes([*a, *b, *c, *d]) as usize == rest.len() => {
            let mut v = Value::Null;
            let ty = if *ty == DataType::PlsInteger { DataType::NUMBER } else { *ty };
            codec::decode_into(rest, &ty, &mut v)?;
            Ok(v)
        }
        _ => Err(bad()),
    }
}
