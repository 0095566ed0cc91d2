//! The session cursor cache: closed cursors of statements, ready for the next parse call of the same text.
//!
//! A text is kept from its third parse call in the session on, as `session_cached_cursors` allows, in turn with the
//! blocks of [`crate::blocks`]. A parse call that finds its cursor here is a hit. A kept cursor answers an equal
//! identity only (user, schema, set of enabled roles, SYSDBA), and only while the settings of the session and the
//! flashback mode are those that it was compiled for, and all names mean what they meant and may be used as they might:
//! every GRANT and REVOKE moves the dictionary on, and then that is looked at again.
//!
//! EXECUTE IMMEDIATE keeps the cursor of the text that it ran last beside the statement, as PL/SQL keeps those of
//! static SQL; running that again is no parse call. That of another text goes back here.

use crate::core::Core;
use crate::cursors::{Asker, Kept};
use crate::identity::Identity;
use exec::{Cursor, ExecCtx};
use wait::Stat;

impl Core {
    /// The cursor that is kept for a text, in use again: a parse call and a hit.
    pub fn take_kept(&self, cx: &mut ExecCtx<'_>, text: &str, asker: &Asker) -> Option<Cursor> {
        self.take_kept_if(cx, text, asker, |_| true)
    }

    /// As [`Core::take_kept`], if that cursor will do.
    pub fn take_kept_if(
        &self,
        cx: &mut ExecCtx<'_>,
        text: &str,
        asker: &Asker,
        takes: impl Fn(&Cursor) -> bool,
    ) -> Option<Cursor> {
        let mut cursor = self.kept.borrow_mut().take(text, self.identity(), asker, takes)?;
        // A cursor that is out of date is parsed again.
        if !cursor.is_current(cx) {
            return None;
        }
        cursor.set_kept(false, cx);
        self.p.count(Stat::ParseCountTotal, 1);
        self.p.count(Stat::SessionCursorCacheHits, 1);
        Some(cursor)
    }

    /// Keeps a closed cursor of an identity, if that is allowed and worth it.
    pub fn keep_cursor(&self, cx: &mut ExecCtx<'_>, mut cursor: Cursor, identity: Identity, asker: Asker) {
        if self.kept_most() == 0 {
            return;
        }
        let mut kept = self.kept.borrow_mut();
        // A retyped bind, and one that ran inside of itself.
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

    /// Of statements and blocks together no more are kept than is allowed. Shows `session cursor cache count`.
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

    /// Closes all cursors and blocks that are kept.
    pub fn close_kept(&self) {
        self.kept.borrow_mut().close_all();
        self.blocks.borrow_mut().close_kept();
    }
}
