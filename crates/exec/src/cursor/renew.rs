//! Replacing the plan of a cursor: decoded, compiled again, or made for the values of its binds.

use super::build::{Watch, build};
use super::compile::{How, Use, compile_inner};
use super::state::Cursor;
use crate::ctx::ExecCtx;
use crate::statistics::Place;
use types::{Ora, Result, Value};

impl Cursor {
    /// Called before the first execution of a cursor made from an image: decodes the plan and builds its row sources.
    ///
    /// # Errors
    /// ORA-08103 if a segment was replaced; those of compiling the statement.
    #[cold]
    pub(super) fn make_plan(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        let Some(later) = &self.later else { return Ok(()) };
        let catalog = cx.host.catalog()?;
        if catalog.epoch() != self.epoch {
            // The epoch has moved since the cursor was found to be current.
            return Err(Ora::new(8103));
        }
        match later.plan(&*catalog) {
            Some(plan) => {
                let sharing = self.key.sharing(cx);
                let built = build(&plan, Watch { sharing, monitor: false }, compile_inner, cx)?;
                self.take_plan(cx, &plan, built, sharing)?;
                self.later = None;
                Ok(())
            }
            // An object is gone, although no look-up gave another answer.
            None => {
                self.key.finished(cx);
                let place = self.key.again(cx);
                let parsed = (self.statement.clone(), self.by_place);
                let clock = cx.p.begin_parse();
                cx.p.parse_is_hard();
                let made = Cursor::make(cx, &self.text, parsed, &self.bind_types, How::default(), place);
                cx.p.end_parse(&clock, made.is_err());
                self.replace(&mut made?);
                Ok(())
            }
        }
    }

    /// Compiles the statement again, because the dictionary, the settings or the types of the binds have changed.
    /// Counts as a parse, without a parse call.
    #[cold]
    #[inline(never)]
    pub(super) fn renew(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.key.finished(cx);
        let parsed = (self.statement.clone(), self.by_place);
        let mut new = if self.internal {
            let how = How { internal: true, ..How::default() };
            Cursor::make(cx, &self.text, parsed, &self.bind_types, how, Place::default())?
        } else {
            Cursor::parse(cx, &self.text, parsed, &self.bind_types, Use::Any)?
        };
        self.replace(&mut new);
        self.make_plan(cx)
    }

    /// Replaces the cursor by another one for the same statement; the bind values stay.
    pub(super) fn replace(&mut self, new: &mut Cursor) {
        new.values = std::mem::take(&mut self.values);
        new.values.resize(new.binds.len(), Value::Null);
        new.continues = self.continues;
        std::mem::swap(self, new);
    }

    /// Called before an execution of a cursor whose plan depends on bind values: takes the plan for these values.
    ///
    /// # Errors
    /// Those of compiling the statement.
    #[cold]
    pub(super) fn adapt(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        if self.adaptive.as_ref().is_some_and(|adaptive| !adaptive.is_peeked) && self.key.is_loaded_again(cx) {
            // Another session has executed the shared cursor first.
            self.renew(cx)?;
        }
        let Some(adaptive) = &self.adaptive else { return Ok(()) };
        if self.internal || self.text.is_empty() {
            return Ok(());
        }
        let parsed = (self.statement.clone(), self.by_place);
        let mut new = if !adaptive.is_peeked {
            self.key.finished(cx);
            let how = How { values: Some(&self.values), is_first: true, ..How::default() };
            let place = self.key.again(cx);
            // This is part of the parse that made the plan without values.
            cx.p.parse_is_hard();
            let clock = cx.p.begin_parse();
            let made = Cursor::make(cx, &self.text, parsed, &self.bind_types, how, place);
            cx.p.end_parse(&clock, made.is_err());
            made?
        } else {
            let selectivities = || adaptive.selectivities(&self.values);
            if self.key.fits(selectivities, cx) {
                return Ok(());
            }
            let selectivities = selectivities();
            self.key.finished(cx);
            let of = Use::Values(&self.values, selectivities.as_ref());
            Cursor::parse(cx, &self.text, parsed, &self.bind_types, of)?
        };
        self.replace(&mut new);
        self.make_plan(cx)
    }
}
