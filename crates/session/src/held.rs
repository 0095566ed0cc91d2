//! The waiting cursors of the statements that a client executes by number.
//!
//! A statement that is executed again by its number is not parsed again: its compiled cursor waits here between two
//! executions (invariant 13). It runs again only for the identity that compiled it, and only while the dictionary, the
//! settings of the session and the types of the binds are those of its compilation; otherwise the text is parsed again.
//! When the client closes the statement, its cursor goes into the session cursor cache ([`crate::kept`]).
//!
//! There are no more waiting cursors than statements that the client may have. A cursor whose execution failed is not
//! put back.

use crate::core::Core;
use crate::cursors::{Asker, OpenBlock};
use crate::identity::Identity;
use crate::world::World;
use exec::{Cursor, ExecCtx};
use net::StatementKind;
use net::local::{Bind, TableBind};
use std::collections::HashMap;

enum Waiting {
    Cursor(Box<Cursor>, Identity),
    Block(Box<OpenBlock>),
}

/// A session's cursors that wait for their next execution, by the client's numbers.
#[derive(Default)]
pub(crate) struct Held {
    waiting: HashMap<u16, Waiting>,
    /// The statement of this call, and whether it may have been executed before.
    statement: Option<(u16, bool)>,
}

impl Held {
    /// Notes that the next call executes the statement of this number.
    pub(crate) fn begin_call(&mut self, number: u16, is_again: bool) {
        self.statement = Some((number, is_again));
    }

    pub(crate) fn end_call(&mut self) {
        self.statement = None;
    }

    /// The number of the statement that this call executes.
    pub(crate) fn statement(&self) -> Option<u16> {
        self.statement.map(|(number, _)| number)
    }

    /// The kind of the block that this call executes again.
    pub(crate) fn kind_of_block(&self) -> Option<StatementKind> {
        let (number, is_again) = self.statement?;
        match self.waiting.get(&number) {
            Some(Waiting::Block(open)) if is_again => Some(StatementKind(open.cursor.command() as u16)),
            _ => None,
        }
    }

    fn take(&mut self) -> Option<Waiting> {
        let (number, is_again) = self.statement?;
        if is_again { self.waiting.remove(&number) } else { None }
    }

    /// The cursor of the statement that this call executes again, if it can be used again.
    pub(crate) fn take_cursor(
        &mut self,
        core: &Core,
        cx: &ExecCtx<'_>,
        takes: impl Fn(&Cursor) -> bool,
    ) -> Option<Cursor> {
        let number = self.statement()?;
        if !matches!(self.waiting.get(&number), Some(Waiting::Cursor(..))) {
            return None;
        }
        let Some(Waiting::Cursor(mut cursor, identity)) = self.take() else { return None };
        (identity == core.identity() && takes(&cursor) && cursor.is_current(cx)).then_some(*cursor)
    }

    /// The block that this call executes again, if it can be used again.
    pub(crate) fn take_block(&mut self, w: &mut World<'_>, binds: (&[Bind], &[TableBind])) -> Option<OpenBlock> {
        let Some(Waiting::Block(open)) = self.take() else { return None };
        open.runs_again(w, binds).then_some(*open)
    }

    /// Takes a closed cursor back: it waits for the next execution of its statement, or goes into the session cursor
    /// cache if the statement has no number.
    pub(crate) fn put_back(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        cursor: Cursor,
        identity: Identity,
        statement: Option<u16>,
    ) {
        match statement {
            Some(number) => {
                self.waiting.insert(number, Waiting::Cursor(Box::new(cursor), identity));
            }
            None => core.keep_cursor(cx, cursor, identity, Asker::Client),
        }
    }

    /// As [`Held::put_back`], for a block that has ended.
    pub(crate) fn put_block_back(&mut self, core: &Core, cx: &mut ExecCtx<'_>, open: OpenBlock) {
        match self.statement() {
            Some(number) => {
                self.waiting.insert(number, Waiting::Block(Box::new(open)));
            }
            None => open.close(true, core, cx),
        }
    }

    /// Closes all cursors that wait.
    pub(crate) fn close_all(&mut self, core: &Core, cx: &mut ExecCtx<'_>) {
        let numbers: Vec<u16> = self.waiting.keys().copied().collect();
        numbers.into_iter().for_each(|number| self.close(core, cx, number));
    }

    /// Closes the cursor that waits for a statement.
    pub(crate) fn close(&mut self, core: &Core, cx: &mut ExecCtx<'_>, number: u16) {
        match self.waiting.remove(&number) {
            Some(Waiting::Cursor(cursor, identity)) => core.keep_cursor(cx, *cursor, identity, Asker::Client),
            Some(Waiting::Block(open)) => open.close(true, core, cx),
            None => {}
        }
    }
}
