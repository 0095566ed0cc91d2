//! The source of the rows of an open query.

use crate::core::Core;
use crate::world::World;
use exec::{Cursor, ExecCtx};
use plsql::Datum;
use types::{Result, Value};

/// The source of the rows of an open query.
pub(crate) enum Source {
    /// A cursor of the client alone.
    Own(Box<Cursor>),
    /// A cursor that PL/SQL may hold too ([`crate::references`]).
    Shared(Datum),
}

impl Source {
    pub(crate) fn begin_fetch(&mut self, core: &Core, cx: &mut ExecCtx<'_>) -> Result<()> {
        match self {
            Source::Own(cursor) => {
                cursor.begin_clients_fetch();
                cursor.pause(false, cx);
                Ok(())
            }
            Source::Shared(cursor) => core.plsql.fetches_cursor(&mut World { cx: cx.reborrow(), core }, cursor, true),
        }
    }

    /// The text of the statement; `None` for a cursor that PL/SQL may hold.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Source::Own(cursor) => Some(cursor.text()),
            Source::Shared(_) => None,
        }
    }

    #[inline]
    pub(crate) fn fetch(&mut self, core: &Core, cx: &mut ExecCtx<'_>, row: &mut Vec<Value>) -> Result<bool> {
        match self {
            Source::Own(cursor) => cursor.fetch(cx, row),
            Source::Shared(cursor) => core.plsql.fetch_cursor(&mut World { cx: cx.reborrow(), core }, cursor, row),
        }
    }

    /// Ends a fetch of the client; `sent` is its number of rows.
    pub(crate) fn end_fetch(&mut self, sent: u64, core: &Core, cx: &mut ExecCtx<'_>) {
        match self {
            Source::Own(cursor) => cursor.end_clients_fetch(sent, cx),
            Source::Shared(cursor) => {
                // A function of the query may have closed the cursor; it then needs no pause.
                let _ = core.plsql.fetches_cursor(&mut World { cx: cx.reborrow(), core }, cursor, false);
            }
        }
    }
}
