//! Decoding the bytes of rows into registers.

use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::measure::by_rowid;
use crate::table::{At, Storage};
use plan::Reg;
use txn::Snapshot;
use types::row::RowReader;
use types::{DataType, Ora, Result, Value, codec};

/// A column to decode: position in the row, register and type. In row order.
pub(super) type Wanted = (u16, Reg, DataType);

/// Destination of a row that was found.
#[derive(Clone, Copy)]
pub(super) struct Into<'a> {
    pub(super) columns: &'a [Wanted],
    pub(super) rowid: Option<Reg>,
    pub(super) keeps: bool,
}

#[inline]
pub(super) fn fetch(
    storage: &Storage,
    at: At<'_>,
    s: &Snapshot,
    row: &mut Vec<u8>,
    cx: &mut ExecCtx<'_>,
) -> Result<bool> {
    by_rowid(cx, |cx| storage.fetch(cx, at, s, row))
}

/// Decodes the wanted columns of a row into their registers.
#[inline]
pub(super) fn decode(
    bytes: &[u8],
    at: At<'_>,
    columns: &[Wanted],
    rowid_reg: Option<Reg>,
    m: &mut Machine,
) -> Result<()> {
    if let Some(r) = rowid_reg {
        at.put(m, r);
    }
    let mut reader = RowReader::new(bytes).ok_or_else(damaged)?;
    let mut at = 0;
    for (column, reg, ty) in columns {
        while at < *column {
            reader.next_column().ok_or_else(damaged)?;
            at += 1;
        }
        let stored = reader.next_column().ok_or_else(damaged)?;
        at += 1;
        let value = &mut m.regs[*reg as usize];
        match stored.bytes() {
            Some(bytes) => codec::decode_into(bytes, ty, value)?,
            None => *value = Value::Null,
        }
    }
    Ok(())
}

pub(super) fn no_bytes() -> Ora {
    Ora::internal("access path without row bytes")
}

pub(super) fn damaged() -> Ora {
    Ora::internal("row bytes are damaged")
}
