//! Fetching rows of open queries for the client.

use crate::answer::{done, finish};
use crate::composite_text::shown;
use crate::core::Core;
use crate::flow::{Flow, ScrollTo};
use crate::open::{Calls, Open, Outcome};
use crate::sink::{RowSink, Sink};
use crate::source::Source;
use exec::{Cursor, ExecCtx};
use net::StatementKind;
use net::local::{Done, encode_rows, write_frame};
use types::{DataType, Ora, Result, Scn, Value};

/// Bytes of rows after which a fetch stops before the requested number of rows.
const REPLY_BYTES_SOFT: usize = 1 << 20;

/// The SCN as of which the LOBs of a cursor's rows are read: the SCN of its query. While a transaction is open they are
/// read in their present state, because its changes have no SCN before the commit and a later one than the query's
/// after it.
fn seen(cursor: Option<&Cursor>, cx: &ExecCtx<'_>) -> Scn {
    if cx.session.txn.is_active() {
        return Scn::MAX;
    }
    cursor.and_then(Cursor::seen).unwrap_or_else(|| cx.shared.txns.current_scn())
}

/// Sends stored rows until `most` rows are sent or the reply, of `bytes` bytes so far, is full. False at the end of the
/// query.
fn give_stored(
    cursor: &mut Cursor,
    cx: &mut ExecCtx<'_>,
    sink: &mut dyn RowSink,
    (most, mut bytes): (u32, usize),
    sent: &mut u32,
) -> Result<bool> {
    if *sent >= most || bytes > REPLY_BYTES_SOFT {
        return Ok(true);
    }
    cursor.fetch_stored(cx, &mut |row, columns| {
        bytes = sink.stored(row, columns)?;
        *sent += 1;
        Ok(*sent < most && bytes <= REPLY_BYTES_SOFT)
    })
}

impl Calls {
    /// Fetches up to `most` rows and sends them; closes the cursor behind its last row.
    pub(crate) fn fetch_some(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        number: u32,
        most: u32,
        out: &mut Vec<u8>,
    ) -> Result<Done> {
        self.fetch_rows(core, cx, (number, most), None, out)
    }

    /// As [`Calls::fetch_some`]; the rows go to `sink` if it is given.
    pub(crate) fn fetch_rows(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        (number, most): (u32, u32),
        sink: Sink<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Done> {
        let open = self.open.get_mut(&number).ok_or_else(|| Ora::new(1001))?;
        if open.has_objects && sink.is_some() {
            return Err(Ora::unsupported());
        }
        open.source.begin_fetch(core, cx)?;
        let looks_ahead = matches!(open.source, Source::Own(_));
        let before = out.len();
        let (mut sent, mut ended) = (0u32, false);
        let mut result = Ok(());
        if most > 0 {
            let mut packet = Vec::new();
            // Moves the next row into `open.row`; false at the end of the reply or of the query.
            let next = |open: &mut Open,
                        bytes: usize,
                        sent: &mut u32,
                        ended: &mut bool,
                        cx: &mut ExecCtx<'_>|
             -> Result<bool> {
                if *sent == most || bytes > REPLY_BYTES_SOFT {
                    return Ok(false);
                }
                if !open.ahead && !open.source.fetch(core, cx, &mut open.row)? {
                    *ended = true;
                    return Ok(false);
                }
                open.ahead = false;
                *sent += 1;
                Ok(true)
            };
            let is_direct = sink.is_some();
            let written = match sink {
                None => encode_rows(&mut packet, number, |w| -> Result<bool> {
                    let has_row = next(open, w.len(), &mut sent, &mut ended, cx)?;
                    if has_row && open.has_objects {
                        w.row(shown(&open.row, core, cx)?.iter());
                    } else if has_row {
                        w.row(open.row.iter());
                    }
                    Ok(has_row)
                })
                .map(drop),
                Some(sink) => {
                    let cursor = if let Source::Own(cursor) = &open.source { Some(&**cursor) } else { None };
                    sink.seen(seen(cursor, cx));
                    let mut bytes = 0;
                    loop {
                        if !open.ahead
                            && let Source::Own(cursor) = &mut open.source
                            && cursor.stored_columns().is_some_and(|columns| sink.takes_stored(columns))
                        {
                            break give_stored(cursor, cx, sink, (most, bytes), &mut sent).map(|more| ended = !more);
                        }
                        match next(open, bytes, &mut sent, &mut ended, cx) {
                            Ok(true) => {}
                            other => break other.map(drop),
                        }
                        match sink.row(&open.row, &cx.session.nls) {
                            Ok(n) => bytes = n,
                            Err(e) => break Err(e),
                        }
                    }
                }
            };
            // One more row is fetched ahead, so that the last fetch can report the end.
            result = match written {
                Ok(_) if !ended && looks_ahead => open.source.fetch(core, cx, &mut open.row).map(|found| {
                    open.ahead = found;
                    ended = !found;
                }),
                other => other,
            };
            if sent > 0 && result.is_ok() && !is_direct {
                write_frame(out, |o| o.extend_from_slice(&packet));
            }
        }
        if let Err(e) = &mut result {
            core.report(e, open.source.text());
        }
        if most > 0 {
            open.source.end_fetch(sent.into(), core, cx);
        }
        if let Err(e) = result {
            out.truncate(before);
            core.close_nested(cx);
            self.close(core, cx, number);
            return Err(e);
        }
        open.rows += u64::from(sent);
        let rows = open.rows;
        if !core.nested.borrow().is_empty() {
            self.take_nested(core, cx, number);
        }
        let mut answer = done(cx, Outcome { rows, ..Outcome::of(StatementKind::SELECT) });
        answer.more = !ended;
        // A cursor that PL/SQL may hold stays open.
        if ended && self.open.get(&number).is_some_and(|open| open.of_row) {
            self.end_nested(core, cx, number);
        } else if ended
            && looks_ahead
            && let Some(open) = self.open.remove(&number)
            && let Source::Own(mut cursor) = open.source
        {
            cursor.close(cx);
            self.held.put_back(core, cx, *cursor, open.identity, open.statement);
        }
        Ok(answer)
    }

    /// Fetches from an open cursor.
    pub fn fetch(&mut self, core: &Core, cx: &mut ExecCtx<'_>, cursor: u32, rows: u32, out: &mut Vec<u8>) -> Flow {
        let result = self.fetch_some(core, cx, cursor, rows.max(1), out);
        self.show_counts(core);
        finish(core, result, (StatementKind::SELECT, None), out)
    }

    /// Sends rows of an open query from row `to` on, in the order of the query.
    pub fn scroll(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        (cursor, to): (u32, ScrollTo),
        rows: u32,
        sink: Sink<'_>,
        out: &mut Vec<u8>,
    ) -> Flow {
        let before = out.len();
        let mut result = self.scroll_some(cx, (cursor, to), rows, sink, out);
        if let Err(e) = &mut result {
            core.report(e, self.open.get(&cursor).and_then(|open| open.source.text()));
            out.truncate(before);
            self.close(core, cx, cursor);
        }
        self.show_counts(core);
        finish(core, result, (StatementKind::SELECT, None), out)
    }

    fn scroll_some(
        &mut self,
        cx: &mut ExecCtx<'_>,
        (number, to): (u32, ScrollTo),
        most: u32,
        sink: Sink<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Done> {
        let Open { source, row, scroll, has_objects, .. } = self.open.get_mut(&number).ok_or_else(|| Ora::new(1001))?;
        // A cursor that PL/SQL may hold goes forwards only.
        let Source::Own(cursor) = source else { return Err(Ora::unsupported()) };
        // So does a cursor in a row: if its row were sent again, the cursor would stand where its last fetch ended.
        if *has_objects || cursor.columns().iter().any(|column| column.ty == DataType::Cursor) {
            return Err(Ora::unsupported());
        }
        let scroll = scroll.get_or_insert_default();
        cursor.begin_clients_fetch();
        cursor.pause(false, cx);
        let mut last = match to {
            ScrollTo::Row(number) => number.saturating_sub(1),
            ScrollTo::Last => scroll.last(cursor, cx)?.saturating_sub(1),
        };
        let is_row = to != ScrollTo::Row(0);
        let as_of = seen(Some(&*cursor), cx);
        let mut sent = 0u32;
        let mut next = |bytes: usize, row: &mut Vec<Value>, cx: &mut ExecCtx<'_>| -> Result<bool> {
            if sent == most || bytes > REPLY_BYTES_SOFT || !is_row || !scroll.row(last + 1, cursor, row, cx)? {
                return Ok(false);
            }
            last += 1;
            sent += 1;
            Ok(true)
        };
        match sink {
            Some(sink) => {
                sink.seen(as_of);
                let mut bytes = 0;
                while next(bytes, row, cx)? {
                    bytes = sink.row(row, &cx.session.nls)?;
                }
            }
            None => {
                let mut packet = Vec::new();
                encode_rows(&mut packet, number, |w| -> Result<bool> {
                    let has_row = next(w.len(), row, cx)?;
                    if has_row {
                        w.row(row.iter());
                    }
                    Ok(has_row)
                })?;
                if sent > 0 {
                    write_frame(out, |o| o.extend_from_slice(&packet));
                }
            }
        }
        let more = is_row && scroll.has(last + 1, cursor, cx)?;
        cursor.end_clients_fetch(sent.into(), cx);
        let mut answer = done(cx, Outcome { rows: last, ..Outcome::of(StatementKind::SELECT) });
        answer.more = more;
        Ok(answer)
    }

    /// Fetches from an open cursor; the rows go to `sink`, the end of the call to `out`.
    pub fn fetch_to(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        (cursor, rows): (u32, u32),
        sink: &mut dyn RowSink,
        out: &mut Vec<u8>,
    ) -> Flow {
        let result = self.fetch_rows(core, cx, (cursor, rows.max(1)), Some(sink), out);
        self.show_counts(core);
        finish(core, result, (StatementKind::SELECT, None), out)
    }
}
