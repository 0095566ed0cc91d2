//! BULK COLLECT.

use super::fault::Run;
use super::frames::Machine;
use super::scalar;
use crate::code::Compiled;
use crate::datum::{Coll, Datum, Rec};
use crate::op::BulkTarget;
use crate::state::Plsql;
use crate::world::World;
use std::rc::Rc;
use types::{Ora, Result, Value};

impl Machine {
    /// Fetches rows into the collections of a bulk list; returns their number.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn collect<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        bulk: u32,
        append: bool,
        limit: u64,
        next: &mut dyn FnMut(&mut W, &mut Vec<Value>) -> Result<bool>,
    ) -> Run<u64> {
        let bulk = &unit.pool.bulks[bulk as usize];
        let mut built: Vec<Coll> = bulk.targets.iter().map(|t| Coll::empty(&t.coll)).collect();
        let mut row = Vec::new();
        let mut rows = 0;
        while rows < limit && next(w, &mut row)? {
            rows += 1;
            w.check_cancel()?;
            for (t, c) in bulk.targets.iter().zip(&mut built) {
                let element = element(w, unit, t, &row)?;
                c.push(element).map_err(Ora::new)?;
            }
        }
        for (t, c) in bulk.targets.iter().zip(built) {
            self.at_path(s, w, unit, base, t.path, |d| {
                match d {
                    Datum::Coll(Some(old)) if append => {
                        let old = Rc::make_mut(old);
                        for e in c.elements() {
                            old.push(e.clone()).map_err(Ora::new)?;
                        }
                    }
                    _ => *d = Datum::Coll(Some(Rc::new(c))),
                }
                Ok(())
            })?;
        }
        Ok(rows)
    }
}

fn element<W: World>(w: &W, unit: &Compiled, t: &BulkTarget, row: &[Value]) -> Run<Datum> {
    let mut values = Vec::with_capacity(t.n as usize);
    for (i, ty) in t.types.iter().enumerate() {
        let v = row.get(t.first as usize + i).unwrap_or(&Value::Null);
        values.push(scalar::coerce(v, &unit.pool.targets[*ty as usize], w.nls())?);
    }
    if t.record {
        return Ok(Datum::Rec(Rc::new(Rec { scalars: values, nested: Vec::new() })));
    }
    Ok(Datum::Val(values.pop().unwrap_or(Value::Null)))
}
