//! The session cursor cache (invariant 13): closed cursors of statements, ready for the next parse call of the same
//! text.
//!
//! The cursor of a text is kept after its third parse call in the session. `session_cached_cursors` limits the number
//! of kept cursors and kept blocks ([`crate::blocks`]) together; the least recently used one is closed first. A parse
//! call that finds its cursor here is a hit. A kept cursor is used only for an equal identity (user, schema, set of
//! enabled roles, SYSDBA), and only while the session has the settings and the flashback mode of the compilation. All
//! its names must still stand for the same objects, with the privileges to use them: every GRANT and REVOKE moves the
//! dictionary's epoch, and the next use then checks the names again.
//!
//! EXECUTE IMMEDIATE keeps the cursor of its last text beside the statement, as PL/SQL keeps the cursors of static SQL.
//! Running that text again is no parse call. Before another text runs, the cursor goes to this cache.

use crate::core::Core;
use crate::cursors::{Asker, Kept};
use crate::identity::Identity;
use exec::{Cursor, ExecCtx};
use wait::Stat;

impl Core {
    /// Takes the kept cursor of a text for use. Counts a parse call and a hit.
    pub fn take_kept(&self, cx: &mut ExecCtx<'_>, text: &str, asker: &Asker) -> Option<Cursor> {
        self.take_kept_if(cx, text, asker, |_| true)
    }

    /// As [`Core::take_kept`], among the cursors that `takes` accepts.
    pub fn take_kept_if(
        &self,
        cx: &mut ExecCtx<'_>,
        text: &str,
        asker: &Asker,
        takes: impl Fn(&Cursor) -> bool,
    ) -> Option<Cursor> {
        let mut cursor = self.kept.borrow_mut().take(text, self.identity(), asker, takes)?;
        // An outdated cursor is dropped, and the text is parsed again.
        if !cursor.is_current(cx) {
            return None;
        }
        cursor.set_kept(false, cx);
        self.p.count(Stat::ParseCountTotal, 1);
        self.p.count(Stat::SessionCursorCacheHits, 1);
        Some(cursor)
    }

    /// Keeps the closed cursor of an identity, if the limit is not 0 and its text has been parsed often enough.
    pub fn keep_cursor(&self, cx: &mut ExecCtx<'_>, mut cursor: Cursor, identity: Identity, asker: Asker) {
        if self.kept_most() == 0 {
            return;
        }
        let mut kept = self.kept.borrow_mut();
        // The bind types of the cursor have changed since it was opened.
        let is_other = match &asker {
            Asker::Client => false,
            Asker::PlSql { types, .. } => cursor.bind_types() != types,
        };
        if is_other || !kept.is_worth_it(cursor.text()) {
            return;
        }
        drop(kept.take(cursor.text(), identity, &asker, |_| true));
        cursor.set_kept(true, cx);
        kept.list.push(Kept { at: self.tick_kept(), cursor, identity, asker });
        drop(kept);
        self.trim_kept();
    }

    /// Closes the least recently used statements and blocks above the limit, and sets `session cursor cache count`.
    pub fn trim_kept(&self) {
        let most = self.kept_most();
        let (mut kept, mut blocks) = (self.kept.borrow_mut(), self.blocks.borrow_mut());
        while kept.len() + blocks.kept() > most {
            match (kept.oldest(), blocks.oldest()) {
                (Some(statement), block) if block.is_none_or(|block| statement < block) => kept.close_oldest(),
                _ => blocks.close_oldest(),
            }
        }
        self.p.stats().set(Stat::SessionCursorCacheCount, (kept.len() + blocks.kept()) as u64);
    }

    /// `session_cached_cursors`.
    pub fn kept_most(&self) -> usize {
        self.params.borrow().number(params::Param::SessionCachedCursors).max(0) as usize
    }

    /// Closes all kept cursors and blocks.
    pub fn close_kept(&self) {
        self.kept.borrow_mut().close_all();
        self.blocks.borrow_mut().close_kept();
    }
}
