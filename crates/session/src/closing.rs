//! Closing the cursors of a session's client, and counting the open ones.

use crate::core::Core;
use crate::held::Held;
use crate::open::Calls;
use crate::source::Source;
use crate::world::World;
use exec::ExecCtx;
use wait::Stat;

impl Calls {
    /// Closes a cursor; does nothing if it is not open.
    pub fn close(&mut self, core: &Core, cx: &mut ExecCtx<'_>, cursor: u32) {
        if let Some(open) = self.open.remove(&cursor) {
            let (statement, identity) = (open.statement, open.identity);
            match open.source {
                Source::Own(mut own) if statement.is_some() => {
                    own.close(cx);
                    self.held.put_back(core, cx, *own, identity, statement);
                }
                source => self.close_source(core, cx, source),
            }
            core.bound_cursors.borrow_mut().retain(|(number, _)| *number != cursor);
            self.nested.retain(|(_, number)| *number != cursor);
            self.close_nested(core, cx, cursor);
            self.show_counts(core);
        }
    }

    /// Closes all open, waiting and kept cursors.
    pub fn close_all(&mut self, core: &Core, cx: &mut ExecCtx<'_>) {
        for (_, open) in std::mem::take(&mut self.open) {
            self.close_source(core, cx, open.source);
        }
        self.nested.clear();
        self.held = Held::default();
        core.bound_cursors.borrow_mut().clear();
        core.close_nested(cx);
        core.close_kept();
    }

    /// Closes the nested cursors of a query that is closed before its last row.
    pub(crate) fn close_nested(&mut self, core: &Core, cx: &mut ExecCtx<'_>, parent: u32) {
        let mut at = 0;
        while let Some((of, number)) = self.nested.get(at).copied() {
            if of != parent {
                at += 1;
                continue;
            }
            self.nested.swap_remove(at);
            self.close(core, cx, number);
        }
    }

    /// Closes a nested cursor after its last row, because clients close nested cursors only with the outer query. The
    /// cursors in its own rows stay open, as nested cursors of the outer query.
    pub(crate) fn end_nested(&mut self, core: &Core, cx: &mut ExecCtx<'_>, number: u32) {
        let parent = self.nested.iter().find(|(_, other)| *other == number).map_or(0, |(parent, _)| *parent);
        self.nested.retain(|(_, other)| *other != number);
        self.nested.iter_mut().filter(|(of, _)| *of == number).for_each(|(of, _)| *of = parent);
        if let Some(open) = self.open.remove(&number) {
            self.close_source(core, cx, open.source);
        }
    }

    pub(crate) fn close_source(&mut self, core: &Core, cx: &mut ExecCtx<'_>, source: Source) {
        match source {
            Source::Own(mut cursor) => cursor.close(cx),
            Source::Shared(cursor) => {
                self.shared -= 1;
                core.plsql.close_cursor(&mut World { cx: cx.reborrow(), core }, &cursor);
            }
        }
    }

    /// Sets `opened cursors current` and `session cursor cache count`.
    pub(crate) fn show_counts(&mut self, core: &Core) {
        core.trim_kept();
        core.client_cursors.set(self.open.len() - self.shared);
        self.count_open(core, 0);
    }

    /// Sets `opened cursors current` to the number of open cursors and `more`.
    pub(crate) fn count_open(&self, core: &Core, more: usize) {
        let open = self.open.len() - self.shared + core.plsql.cursors_open() + more;
        core.p.stats().set(Stat::OpenedCursorsCurrent, open as u64);
    }
}
