//! PL/SQL blocks as cursors. A block sent by a client, run by EXECUTE IMMEDIATE or by a job has a place in the library
//! cache, as a statement has. This module finds, counts and shows blocks; `plsql` compiles and runs them.
//!
//! In the versioned design, an execution of a block that the session has open writes nothing shared: it is noted in
//! words of the session, and its figures are added to the library cache at the end of the call.

use crate::ctx::ExecCtx;
use crate::objects;
use crate::shared_plan::Head;
use crate::statistics::Place;
use library_cache::{Content, Edition, Handle, Mismatch, OuterBlock};
use plan::BindType;
use std::ops::Range;
use std::rc::Rc;
use types::image::{Image, NoObjects, Reader, Writer};
use types::{ObjectId, Result};

/// Code of a block that a session may try to take.
#[derive(Debug)]
pub struct BlockCode {
    handle: Handle,
    edition: Edition,
    /// Where the code is in the bytes of the image.
    pub part: Range<usize>,
    pub trust: Trust,
}

/// How far a session may trust the answers that a compiler got from the dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The answers were verified against the current dictionary, with the session's rights.
    Known,
    /// The answers were given to a session with equal rights.
    Own,
    /// The answers were given to another user, or for another schema or other roles.
    Others,
}

/// Why a session cannot take code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnfitCode {
    /// The code is for another text or other settings, or the dictionary is being changed.
    Other,
    /// Names, privileges or sources have changed, or the image is damaged: no session with these rights can take the
    /// code.
    Changed,
}

/// A session's cursor on a block.
pub struct BlockCursor {
    text: Rc<str>,
    command: u32,
    place: Place,
    /// The block that was shown before the execution in progress.
    outer: OuterBlock,
}

impl BlockCursor {
    /// Looks a block up by its text as shown in `v$sql`. If found, this is a soft parse; otherwise the caller compiles
    /// the block and calls [`BlockCursor::load`]. `command` is the COMMAND_TYPE of `v$sql`. Binds of other types make
    /// another child.
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

    /// The number of shared cursors whose code the session may try: its own, or those of others if it has none.
    pub fn candidates(&self) -> usize {
        if self.place.is_found() { 1 } else { self.place.candidates().handles().len() }
    }

    /// Copies the image of candidate `nth`; `None` if it has no code, or is for other settings.
    pub fn code(&mut self, nth: usize, image: &mut Vec<u8>, cx: &mut ExecCtx<'_>) -> Option<BlockCode> {
        let is_own = self.place.is_found();
        let (handle, edition) = match is_own {
            true => {
                if !self.place.image(image, cx) {
                    return None;
                }
                (self.place.handle(), self.place.edition()?)
            }
            false => {
                let handle = *self.place.candidates().handles().get(nth)?;
                (handle, cx.shared.library.image(handle, image)?)
            }
        };
        let head = Head::of(&self.text, cx.host.rights(), cx);
        let mut r = Reader::new(image, &NoObjects);
        let made_for = Head::take(&mut r).ok()?;
        if !(if is_own { made_for == head } else { made_for.is_alike(&head) }) {
            return None;
        }
        let part = image.len() - r.rest().len()..image.len();
        let trust = match is_own {
            true if self.place.known_epoch(cx.host.epoch(), cx).is_some() => Trust::Known,
            true => Trust::Own,
            false => Trust::Others,
        };
        Some(BlockCode { handle, edition, part, trust })
    }

    /// Records that the session has taken the code. `is_news`: the compiler's questions were asked again and had the
    /// same answers.
    pub fn take(&mut self, code: &BlockCode, binds: &[BindType], is_news: bool, cx: &mut ExecCtx<'_>) {
        if code.trust == Trust::Others {
            self.place.take_kin((&self.text, binds), (code.handle, code.edition), cx);
        } else if is_news {
            self.place.set_known(cx.host.epoch(), cx);
        }
    }

    /// Records why the session has not taken the code.
    pub fn refuse(&mut self, code: &BlockCode, why: UnfitCode) {
        match (code.trust, why) {
            (Trust::Known | Trust::Own, UnfitCode::Changed) => self.place.set_stale(),
            (Trust::Known | Trust::Own, UnfitCode::Other) => {}
            (Trust::Others, UnfitCode::Changed) => self.place.refuse_kin(Mismatch::Translation),
            (Trust::Others, UnfitCode::Other) => self.place.refuse_kin(Mismatch::AuthCheck),
        }
    }

    /// Whether the library cache would again refuse the image of the code.
    pub fn refuses_image(&self, cx: &ExecCtx<'_>) -> bool {
        self.place.refuses_image(cx)
    }

    /// Puts a compiled block into the library cache, with its code if it has an image; a hard parse. The objects that
    /// the block names are got and pinned for a moment, and make the cursor invalid when they change.
    ///
    /// # Errors
    /// Those of reading the dictionary.
    pub fn load(&mut self, names: &[ObjectId], code: &[u8], binds: &[BindType], cx: &mut ExecCtx<'_>) -> Result<()> {
        let catalog = cx.host.catalog()?;
        let depends = objects::touch_all(cx, &*catalog, names);
        let image = match code {
            [] => Vec::new(),
            code => {
                let mut w = Writer::default();
                Head::of(&self.text, cx.host.rights(), cx).put(&mut w);
                let head = w.finish().unwrap_or_default();
                if head.is_empty() { head } else { [&head, code].concat() }
            }
        };
        let content = Content { depends: &depends, image: &image, ..Content::default() };
        self.place.load(&self.text, self.command, binds, &content, cx);
        Ok(())
    }

    /// Whether the shared cursor still exists and is valid; otherwise the block must be parsed again.
    pub fn is_valid(&self, cx: &ExecCtx<'_>) -> bool {
        self.place.is_valid(cx)
    }

    /// Counts a parse call.
    pub fn parsed(&mut self, cx: &mut ExecCtx<'_>) {
        self.place.parsed(&self.text, self.command, cx);
    }

    /// Begins an execution; [`BlockCursor::end`] ends it. A block that runs inside another one ends before it.
    pub fn begin(&mut self, cx: &mut ExecCtx<'_>) {
        cx.p.count_execution();
        self.outer = self.place.block_begins(&self.text, self.command, cx);
    }

    /// Ends the execution. `done`: it did not fail.
    pub fn end(&mut self, done: bool, cx: &mut ExecCtx<'_>) {
        self.place.block_ends(&self.text, self.command, self.outer, done.into(), cx);
    }

    /// Records that the session keeps the closed cursor, or uses it again, which is a parse call.
    pub fn set_kept(&mut self, kept: bool, cx: &mut ExecCtx<'_>) {
        self.place.keep(kept);
        if !kept {
            self.parsed(cx);
        }
    }

    /// The text of the block.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// COMMAND_TYPE in `v$sql`.
    pub fn command(&self) -> u32 {
        self.command
    }
}
