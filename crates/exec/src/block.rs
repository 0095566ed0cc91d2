//! Blocks of PL/SQL as cursors: what a client sends, what EXECUTE IMMEDIATE runs and what a job does has a place in the
//! library cache like a statement. What it does, and how it is compiled, is PL/SQL's; here is how it is found, counted
//! and shown.
//!
//! An execution of a block that the session has open writes nothing shared in the versioned design: it is noted in the
//! session's own words, and its figures are told at the end of the call.

use crate::ctx::ExecCtx;
use crate::objects;
use crate::statistics::Place;
use library_cache::{Content, OuterBlock};
use plan::BindType;
use std::rc::Rc;
use types::{ObjectId, Result};
use wait::Stat;

/// A session's cursor on a block.
pub struct BlockCursor {
    text: Rc<str>,
    command: u32,
    place: Place,
    /// What was shown before the execution in progress.
    outer: OuterBlock,
}

impl BlockCursor {
    /// Looks a block up by its text, as `v$sql` shows it; a soft parse when it is found, otherwise it is to be compiled
    /// and [`BlockCursor::load`]ed. `command` is the number of `v$sql`; with binds of other types it is another child.
    ///
    /// Latches: none held on entry or return; gets and waits of a soft parse, of the design in force.
    pub fn parse(text: &str, command: u32, binds: &[BindType], cx: &mut ExecCtx<'_>) -> BlockCursor {
        let place = Place::parse(text, &cx.host.rights(), binds, cx);
        BlockCursor { text: text.into(), command, place, outer: OuterBlock::default() }
    }

    /// Whether there is a shared cursor.
    pub fn is_found(&self) -> bool {
        self.place.is_found()
    }

    /// Puts a block that has been compiled into the library cache; a hard parse. What it names is got and pinned for a
    /// moment, and makes the cursor invalid when it changes.
    ///
    /// # Errors
    /// Those of reading the dictionary.
    pub fn load(&mut self, names: &[ObjectId], binds: &[BindType], cx: &mut ExecCtx<'_>) -> Result<()> {
        let catalog = cx.host.catalog()?;
        let depends = objects::touch_all(cx, &*catalog, names);
        self.place.load(&self.text, self.command, binds, &Content { depends: &depends, ..Content::default() }, cx);
        Ok(())
    }

    /// Whether the shared cursor is still there and not out of date; otherwise the block is to be parsed again.
    pub fn is_valid(&self, cx: &ExecCtx<'_>) -> bool {
        self.place.is_valid(cx)
    }

    /// Counts a parse call.
    pub fn parsed(&mut self, cx: &mut ExecCtx<'_>) {
        self.place.parsed(&self.text, self.command, cx);
    }

    /// Begins an execution, which [`BlockCursor::end`] ends. Blocks that run inside of others end before them.
    pub fn begin(&mut self, cx: &mut ExecCtx<'_>) {
        cx.p.count(Stat::ExecuteCount, 1);
        self.outer = self.place.block_begins(&self.text, self.command, cx);
    }

    /// Ends the execution; `done` when it did not fail.
    pub fn end(&mut self, done: bool, cx: &mut ExecCtx<'_>) {
        self.place.block_ends(&self.text, self.command, self.outer, done.into(), cx);
    }

    /// Says that the cursor is closed and kept by its session, or used again, which is a parse call.
    pub fn set_kept(&mut self, kept: bool, cx: &mut ExecCtx<'_>) {
        self.place.keep(kept);
        if !kept {
            self.parsed(cx);
        }
    }

    /// The text that it is known by.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What `v$sql` has as COMMAND_TYPE.
    pub fn command(&self) -> u32 {
        self.command
    }
}
