//! Dynamic SQL: EXECUTE IMMEDIATE and OPEN FOR with a text.
//!
//! EXECUTE IMMEDIATE keeps the cursor of its last text with the unit, and running that text again is no parse call.
//! OPEN FOR parses each time; the session may have the closed cursor of its text.

use super::cursor::with;
use super::fault::Run;
use super::frames::{Machine, val};
use super::statement::one_row;
use super::values::text;
use crate::code::Compiled;
use crate::datum::Datum;
use crate::op::*;
use crate::state::Plsql;
use crate::world::{DynamicKind, World};
use std::rc::Rc;
use types::{DataType, Ora, Result, Value};

/// The last statement of an EXECUTE IMMEDIATE.
struct Ran<C> {
    text: String,
    kind: DynamicKind,
    placeholders: usize,
    /// Its closed cursor. The cursor of a block belongs to the session.
    cursor: Option<C>,
}

impl Machine {
    fn using(&self, unit: &Rc<Compiled>, base: usize, d: &Dynamic) -> Vec<Datum> {
        d.using.iter().map(|(o, _, _)| self.datum(unit, base, *o)).collect()
    }

    /// Sets the IN arguments, and executes.
    fn run_dynamic<W: World>(&self, w: &mut W, cursor: &mut W::Cursor, base: usize, d: &Dynamic) -> Run<u64> {
        for (i, (o, _, _)) in d.using.iter().filter(|using| !using.2).enumerate() {
            let Place::Local(slot) = o.place() else { return Err(Ora::internal("an argument is local").into()) };
            let Datum::Val(v) = &self.stack[base + slot as usize] else { return Err(Ora::new(6553).into()) };
            w.bind(cursor, i, v)?;
        }
        Ok(w.execute(cursor)?)
    }

    /// Parses a dynamic statement for its IN arguments.
    fn parse_dynamic<W: World>(w: &mut W, text: &str, d: &Dynamic) -> Run<W::Cursor> {
        let types: Vec<DataType> = d.using.iter().filter(|using| !using.2).map(|using| using.1).collect();
        Ok(w.parse_cursor(text, &types, false)?)
    }

    pub(super) fn open_dynamic<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        dynamic: u32,
        cursor: Opd,
    ) -> Run<()> {
        let d = &unit.pool.dynamics[dynamic as usize];
        let statement = text(val(&self.stack, &self.frames, unit, base, d.text));
        let (kind, placeholders) = w.dynamic_kind(&statement)?;
        if kind != DynamicKind::Query {
            return Err(Ora::new(6539).into());
        }
        if let Err(e) = check_placeholders(placeholders, d.using.len()) {
            w.check_text(&statement)?;
            return Err(e.into());
        }
        let slot = self.cursor_slot(s, base, cursor)?;
        s.cursors.close_left(w);
        with::<W::Cursor, _>(&slot, |o| {
            o.close(w);
            Ok(())
        })?;
        w.may_open_cursor(s.cursors.count())?;
        let mut c = Self::parse_dynamic(w, &statement, d)?;
        if let Err(e) = self.run_dynamic(w, &mut c, base, d) {
            w.close_cursor(c);
            return Err(e);
        }
        w.pause(&mut c, true);
        with::<W::Cursor, _>(&slot, |o| {
            o.opened(w, Box::new(c), None);
            Ok(())
        })
    }

    pub(super) fn execute_immediate<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        dynamic: u32,
        row: Opd,
    ) -> Run<()> {
        let d = &unit.pool.dynamics[dynamic as usize];
        let mut ran = self.last_ran(w, unit, base, dynamic)?;
        match ran.kind {
            DynamicKind::Other => {
                if !d.using.is_empty() {
                    return Err(Ora::new(1027).into());
                }
                w.execute_other(&ran.text)?;
                self.implicit(0);
            }
            DynamicKind::Block => self.dynamic_block(s, w, unit, base, d, &ran.text)?,
            DynamicKind::Query | DynamicKind::Dml => {
                let outs = d.using.iter().filter(|u| u.2).count();
                // In the old syntax OUT arguments stand for the targets of RETURNING.
                if let Err(e) = check_placeholders(ran.placeholders, d.using.len() + d.returning as usize) {
                    w.check_text(&ran.text)?;
                    return Err(e.into());
                }
                if outs > 0 && ran.kind == DynamicKind::Query {
                    return Err(Ora::new(6536).into());
                }
                let mut cursor = match ran.cursor.take() {
                    Some(cursor) => cursor,
                    None => Self::parse_dynamic(w, &ran.text, d)?,
                };
                let result = self
                    .run_dynamic(w, &mut cursor, base, d)
                    .and_then(|n| self.dynamic_rows(s, w, unit, base, d, ran.kind, &mut cursor, n, row));
                if w.keeps_cursors() {
                    w.end_fetch(&mut cursor);
                    ran.cursor = Some(cursor);
                } else {
                    w.close_cursor(cursor);
                }
                Self::note_ran(w, unit, dynamic, ran);
                return result;
            }
        }
        Self::note_ran(w, unit, dynamic, ran);
        Ok(())
    }

    /// The statement of an EXECUTE IMMEDIATE, with its cursor if it is the one that ran last.
    fn last_ran<W: World>(
        &self,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        dynamic: u32,
    ) -> Run<Box<Ran<W::Cursor>>> {
        let value = val(&self.stack, &self.frames, unit, base, unit.pool.dynamics[dynamic as usize].text);
        let last = unit.take_dynamic(dynamic).and_then(|ran| ran.downcast::<Ran<W::Cursor>>().ok());
        if let Some(mut ran) = last {
            let is_it = matches!(value, Value::Text(text) if **text == *ran.text);
            if ran.cursor.as_ref().is_some_and(|cursor| !is_it || !w.is_own(cursor))
                && let Some(cursor) = ran.cursor.take()
            {
                w.close_cursor(cursor);
            }
            if is_it {
                return Ok(ran);
            }
        }
        let statement = text(value);
        let (kind, placeholders) = w.dynamic_kind(&statement)?;
        Ok(Box::new(Ran { text: statement, kind, placeholders, cursor: None }))
    }

    fn note_ran<W: World>(w: &mut W, unit: &Rc<Compiled>, dynamic: u32, ran: Box<Ran<W::Cursor>>) {
        let before = unit.give_dynamic(dynamic, ran);
        if let Some(cursor) = before.and_then(|ran| ran.downcast::<Ran<W::Cursor>>().ok()).and_then(|ran| ran.cursor) {
            w.close_cursor(cursor);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn dynamic_rows<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        d: &Dynamic,
        kind: DynamicKind,
        cursor: &mut W::Cursor,
        n: u64,
        row: Opd,
    ) -> Run<()> {
        let query = kind == DynamicKind::Query;
        if query && (d.into > 0 || d.bulk.is_some()) && w.column_count(cursor) != d.into as usize {
            return Err(Ora::new(1007).into());
        }
        if let Some(bulk) = d.bulk {
            let rows = self.collect(s, w, unit, base, bulk, false, u64::MAX, &mut |w, r| w.fetch(cursor, r))?;
            self.implicit(if query { rows } else { n });
            return Ok(());
        }
        if query {
            if d.into == 0 {
                // A query without INTO is parsed but not executed.
                self.implicit(0);
                return Ok(());
            }
            let result = self.with_fields(base, row, |m, values| one_row(w, cursor, values, &mut m.row));
            self.implicit(u64::from(result.is_ok()));
            return Ok(result?);
        }
        self.implicit(n);
        if d.into > 0 {
            return Err(Ora::new(1007).into());
        }
        if d.returning > 0 && n == 1 {
            self.with_fields(base, row, |_, values| w.fetch(cursor, values))?;
        }
        let outs: Vec<Opd> = d.using.iter().filter(|u| u.2).map(|u| u.0).collect();
        if !outs.is_empty() && n == 1 {
            let mut values = Vec::new();
            w.fetch(cursor, &mut values)?;
            for (o, v) in outs.into_iter().zip(values) {
                self.put_value(base, o, v);
            }
        }
        if n > 1 && (d.returning > 0 || d.using.iter().any(|u| u.2)) {
            return Err(Ora::new(1422).into());
        }
        Ok(())
    }

    /// EXECUTE IMMEDIATE of a block: arguments are assigned to its binds in the order of their first use.
    fn dynamic_block<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        d: &Dynamic,
        statement: &str,
    ) -> Run<()> {
        let opened = w.open_block(statement)?;
        let has_cursor = opened.is_some();
        let block = opened.map_or_else(|| s.compile_block(w, statement), Ok)?;
        let mut args = self.using(unit, base, d);
        let result = check_placeholders(block.binds().len(), args.len()).and_then(|()| {
            if has_cursor {
                w.block_begins();
            }
            s.run_block(w, &block, &mut args)
        });
        if has_cursor {
            w.close_block(result.is_ok());
        }
        result?;
        for ((o, _, out), a) in d.using.iter().zip(args) {
            if *out {
                self.put(base, *o, a);
            }
        }
        self.implicit(1);
        Ok(())
    }
}

fn check_placeholders(wanted: usize, given: usize) -> Result<()> {
    match given.cmp(&wanted) {
        std::cmp::Ordering::Less => Err(Ora::new(1008)),
        std::cmp::Ordering::Greater => Err(Ora::new(1006)),
        std::cmp::Ordering::Equal => Ok(()),
    }
}
