//! Implicit conversions, and constructors of collections.

use plan::HostFunction;
use types::{DataType, Ora, Result, Value};

/// An implicit conversion.
pub fn convert(v: &Value, ty: &DataType, nls: &types::Nls, out: &mut Value) -> Result<()> {
    *out = match ty {
        _ if v.is_null() => Value::Null,
        DataType::Clob | DataType::Nclob | DataType::Blob if *v == Value::EmptyLob => Value::EmptyLob,
        DataType::Number { .. } | DataType::Float { .. } | DataType::PlsInteger => {
            v.to_number(nls)?.map_or(Value::Null, Value::Number)
        }
        DataType::Date => v.to_date(nls)?.map_or(Value::Null, Value::Date),
        DataType::Timestamp { zone, .. } => {
            let mut copy = v.clone();
            DataType::Timestamp { digits: 9, zone: *zone }.cast(&mut copy, nls)?;
            copy
        }
        DataType::BinaryDouble => v.to_double(nls)?.map_or(Value::Null, Value::Double),
        DataType::BinaryFloat => v.to_double(nls)?.map_or(Value::Null, |d| Value::Float(d as f32)),
        DataType::Raw { .. } => v.to_raw()?.map_or(Value::Null, Value::Raw),
        ty if ty.is_text() || matches!(ty, DataType::Clob | DataType::Nclob | DataType::Long) => {
            let text = out.text_buffer();
            v.write_text(nls, text)?;
            out.normalize();
            return Ok(());
        }
        DataType::Rowid | DataType::Urowid => match v {
            Value::Rowid(r) => Value::Rowid(*r),
            Value::Text(s) if types::urowid::is_key(s) => Value::Text(s.clone()),
            Value::Text(s) => Value::Rowid(s.parse().map_err(|_| Ora::new(1410))?),
            _ => return Err(Ora::new(1410)),
        },
        ty => {
            let mut copy = v.clone();
            ty.cast(&mut copy, nls)?;
            copy
        }
    };
    Ok(())
}

/// A collection whose elements have the class of the element type.
pub fn construct(f: &HostFunction, mut parts: Vec<Value>, nls: &types::Nls) -> Result<Value> {
    let DataType::Named(ty) = f.ty else { return Err(Ora::internal("constructor without a named type")) };
    for (value, element) in parts.iter_mut().zip(&f.arg_types).filter(|(value, _)| !value.is_null()) {
        element.assign(value, nls, &"").map_err(|e| if e.is(12899) { Ora::new(22814) } else { e })?;
    }
    Ok(Value::Composite(std::sync::Arc::new(types::Composite { ty, parts })))
}

/// Whether an error means that a value is not one of the target type.
pub fn is_conversion_error(e: &Ora) -> bool {
    e.facility() == types::Facility::Ora
        && matches!(e.code(), 932 | 1410 | 1426 | 1438 | 1465 | 1481 | 1722 | 1800..1900)
}
