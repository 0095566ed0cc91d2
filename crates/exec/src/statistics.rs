//! What statements count: executions, parse calls and rows, kept in the session and added to the shared entries of the library
//! cache from time to time, so that an execution writes nothing shared.

use crate::ctx::ExecCtx;
use library_cache::{Delta, Digest, Handle, LibraryCache};
use md5::Digest as _;
use process::Process;

/// Statements a session keeps figures of before it starts anew.
const STATEMENTS_MOST: usize = 4096;

/// MD5 of a statement's text and a NUL.
pub fn digest(text: &str) -> Digest {
    let mut hasher = md5::Md5::new();
    hasher.update(text.as_bytes());
    hasher.update([0]);
    Digest(hasher.finalize().into())
}

struct Figure {
    handle: Handle,
    delta: Delta,
    /// The shared entry has given way to another statement.
    stale: bool,
}

/// A session's figures by statement.
#[derive(Default)]
pub struct Figures {
    list: Vec<Figure>,
    /// Grows when the list starts anew: indexes into it are then void.
    generation: u32,
}

impl Figures {
    fn slot(&mut self, key: &StatementKey) -> Option<&mut Figure> {
        if key.generation != self.generation + 1 {
            return None;
        }
        self.list.get_mut(key.index as usize).filter(|f| !f.stale)
    }

    /// Adds everything counted to the shared entries. To be called at the end of a call, and before the session ends.
    pub fn flush(&mut self, _p: &Process, library: &LibraryCache) {
        for f in &mut self.list {
            if f.delta != Delta::default() {
                f.stale |= !library.add(f.handle, &f.delta);
                f.delta = Delta::default();
            }
        }
        if self.list.len() >= STATEMENTS_MOST {
            self.list.clear();
            self.generation += 1;
        }
    }
}

/// Where a cursor counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatementKey {
    index: u32,
    /// The list's generation plus one; 0 is nowhere yet.
    generation: u32,
}

impl StatementKey {
    fn with(&mut self, text: &str, command: u32, cx: &mut ExecCtx<'_>, f: impl FnOnce(&mut Delta)) {
        if cx.session.figures.slot(self).is_none() {
            let handle = cx.shared.library.intern(cx.p, digest(text), text, &cx.session.schema, command);
            let figures = &mut cx.session.figures;
            if figures.list.len() >= 2 * STATEMENTS_MOST {
                figures.flush(cx.p, cx.shared.library);
            }
            self.index = figures.list.len() as u32;
            self.generation = figures.generation + 1;
            figures.list.push(Figure { handle, delta: Delta::default(), stale: false });
        }
        if let Some(figure) = cx.session.figures.slot(self) {
            f(&mut figure.delta);
        }
    }

    /// Counts a parse call.
    pub fn parsed(&mut self, text: &str, command: u32, cx: &mut ExecCtx<'_>) {
        self.with(text, command, cx, |d| d.parse_calls += 1);
    }

    /// Counts an execution.
    #[inline]
    pub fn executed(&mut self, text: &str, command: u32, cx: &mut ExecCtx<'_>) {
        if let Some(figure) = cx.session.figures.slot(self) {
            figure.delta.executions += 1;
            return;
        }
        self.with(text, command, cx, |d| d.executions += 1);
    }

    /// Counts rows fetched or changed.
    #[inline]
    pub fn processed(&mut self, rows: u64, cx: &mut ExecCtx<'_>) {
        if let Some(figure) = cx.session.figures.slot(self) {
            figure.delta.rows_processed += rows;
            figure.delta.fetches += 1;
        }
    }
}
