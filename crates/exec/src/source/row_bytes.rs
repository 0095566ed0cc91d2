//! Decoding the bytes of rows into registers.

use crate::ctx::ExecCtx;
use crate::lob_store;
use crate::machine::Machine;
use crate::measure::by_rowid;
use crate::table::{At, Storage};
use plan::Reg;
use txn::Snapshot;
use types::row::{Column, RowReader};
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

/// Decodes the wanted columns of a row into their registers. A LOB that is stored apart is read as of `moment`, or the
/// statement's snapshot.
#[inline]
pub(super) fn decode(
    bytes: &[u8],
    at: At<'_>,
    (columns, rowid_reg): (&[Wanted], Option<Reg>),
    moment: Option<&Snapshot>,
    m: &mut Machine,
    cx: &ExecCtx<'_>,
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
        match stored {
            Column::Bytes(bytes) => codec::decode_into(bytes, ty, &mut m.regs[*reg as usize])?,
            Column::Null => m.regs[*reg as usize] = Value::Null,
            Column::Out(locator) => {
                let seen = moment.copied().unwrap_or(*m.snapshot());
                lob_store::load(locator, ty, &seen, cx, &mut m.regs[*reg as usize])?;
            }
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
