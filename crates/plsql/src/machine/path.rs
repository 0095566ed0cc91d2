//! Elements and fields: reading, writing, collection methods.

use super::fault::Run;
use super::frames::{Machine, owned, up_base, val};
use super::scalar;
use crate::code::Compiled;
use crate::datum::{Coll, Datum, Key};
use crate::op::*;
use crate::state::Plsql;
use crate::world::World;
use std::rc::Rc;
use std::sync::Arc;
use types::{Nls, Number, Ora, Value};

/// Elements that EXTEND makes between two checks of the limits.
const EXTEND_PIECE: i64 = 1 << 16;

/// A step with its evaluated subscript.
enum Resolved {
    Scalar(u32),
    Nested(u32),
    Key(Key),
    Attribute(u32),
}

/// The attribute at the end of the steps; NULL if there is no object.
fn attribute<'v>(mut value: &'v Value, steps: &[Resolved]) -> &'v Value {
    for step in steps {
        value = match (step, value) {
            (Resolved::Attribute(n), Value::Composite(object)) => object.parts.get(*n as usize).unwrap_or(&Value::Null),
            _ => &Value::Null,
        };
    }
    value
}

/// The place of the attribute at the end of the steps. ORA-06530 if there is no object.
fn attribute_place<'v>(mut value: &'v mut Value, steps: &[Resolved]) -> Result<&'v mut Value, Ora> {
    for step in steps {
        value = match (step, value) {
            (Resolved::Attribute(n), Value::Composite(object)) => {
                Arc::make_mut(object).parts.get_mut(*n as usize).ok_or_else(|| Ora::new(6530))?
            }
            _ => return Err(Ora::new(6530)),
        };
    }
    Ok(value)
}

fn key_of(v: &Value, text: bool, nls: &Nls) -> Run<Key> {
    if v.is_null() {
        return Err(scalar::value_error("NULL index table key value").into());
    }
    if text {
        return Ok(Key::Text(v.to_text(nls).map_err(scalar::conversion_error)?.unwrap_or_default().into_owned()));
    }
    let n = scalar::number(v, nls)?.expect("not null");
    let i = n.as_i64().or_else(|| n.round(0).as_i64()).ok_or_else(|| Ora::new(1426))?;
    if i32::try_from(i).is_err() {
        return Err(Ora::new(1426).into());
    }
    Ok(Key::Int(i))
}

/// A subscript that the compiler has already converted to the collection's type.
fn plain_key(v: &Value) -> Run<Key> {
    match v {
        Value::Number(n) => Ok(Key::Int(n.as_i64().ok_or_else(|| Ora::new(1426))?)),
        Value::Text(s) => Ok(Key::Text(s.clone())),
        _ => Err(scalar::value_error("NULL index table key value").into()),
    }
}

impl Machine {
    fn steps<W: World>(&self, w: &W, unit: &Compiled, base: usize, path: &Path) -> Run<Vec<Resolved>> {
        path.steps
            .iter()
            .map(|s| {
                Ok(match s {
                    Step::Scalar(n) => Resolved::Scalar(*n),
                    Step::Nested(n) => Resolved::Nested(*n),
                    Step::Attribute(n) => Resolved::Attribute(*n),
                    Step::Index { key, text } => {
                        Resolved::Key(key_of(val(&self.stack, &self.frames, unit, base, *key), *text, w.nls())?)
                    }
                })
            })
            .collect()
    }

    fn with_root<W: World, R>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        path: &Path,
        f: impl FnOnce(&mut Datum) -> Run<R>,
    ) -> Run<R> {
        match path.root {
            Root::Slot(o) => {
                let at = match o.place() {
                    Place::Local(slot) => base + slot as usize,
                    Place::Up(levels, slot) => up_base(&self.frames, levels) + slot as usize,
                    _ => return Err(Ora::internal("path in a constant").into()),
                };
                f(&mut self.stack[at])
            }
            Root::Package { external, slot } => {
                let state = s.package(w, unit, external)?;
                s.package_with(state, slot, f)
            }
        }
    }

    /// The slot of a path's root; `None` when it is in a package.
    pub(super) fn root_slot(&self, base: usize, path: &Path) -> Option<usize> {
        let Root::Slot(o) = path.root else { return None };
        match o.place() {
            Place::Local(slot) => Some(base + slot as usize),
            Place::Up(levels, slot) => Some(up_base(&self.frames, levels) + slot as usize),
            _ => None,
        }
    }

    /// The subscript of a path `c(i)` or `c(i).field`, when it is an integer, and the field.
    fn subscript(&self, unit: &Compiled, base: usize, path: &Path) -> Option<(i64, Option<u32>)> {
        let (key, field) = match path.steps.as_slice() {
            [Step::Index { key, text: false }] => (*key, None),
            [Step::Index { key, text: false }, Step::Scalar(field)] => (*key, Some(*field)),
            _ => return None,
        };
        let Value::Number(n) = val(&self.stack, &self.frames, unit, base, key) else { return None };
        let i = n.as_i64()?;
        i32::try_from(i).is_ok().then_some((i, field))
    }

    /// Reads `c(i)` or `c(i).field` into the buffer of slot `d`. False, without any effect, for other paths.
    pub(super) fn get_element(&mut self, unit: &Compiled, base: usize, d: Opd, path: u32) -> bool {
        let path = &unit.pool.paths[path as usize];
        let Place::Local(to) = d.place() else { return false };
        let (Some(at), Some((i, field))) = (self.root_slot(base, path), self.subscript(unit, base, path)) else {
            return false;
        };
        let Datum::Coll(Some(c)) = &self.stack[at] else { return false };
        let c = c.clone();
        let value = match (c.at(i), field) {
            (Some(Datum::Val(v)), None) => v,
            (Some(Datum::Rec(r)), Some(n)) => &r.scalars[n as usize],
            _ => return false,
        };
        match &mut self.stack[base + to as usize] {
            Datum::Val(old) => old.set(value),
            other => *other = Datum::Val(value.clone()),
        }
        true
    }

    /// Assigns a value to `c(i)` or `c(i).field` in its buffer. False for other paths or on an error; any effect is
    /// then the same as that of the first steps of [`Machine::set_path`].
    pub(super) fn set_element(&mut self, unit: &Compiled, base: usize, path: u32, from: Opd) -> bool {
        let path = &unit.pool.paths[path as usize];
        let (Some(at), Some((i, field))) = (self.root_slot(base, path), self.subscript(unit, base, path)) else {
            return false;
        };
        let is_value = match from.place() {
            Place::Const(_) | Place::Field(..) => true,
            Place::Local(slot) => matches!(self.stack[base + slot as usize], Datum::Val(_)),
            Place::Up(levels, slot) => {
                matches!(self.stack[up_base(&self.frames, levels) + slot as usize], Datum::Val(_))
            }
        };
        if !is_value || !matches!(self.stack[at], Datum::Coll(Some(_))) {
            return false;
        }
        // Taken out of its slot, so that the value can be read by reference.
        let mut root = std::mem::take(&mut self.stack[at]);
        let Datum::Coll(Some(c)) = &mut root else { unreachable!("seen a moment ago") };
        let value = val(&self.stack, &self.frames, unit, base, from);
        let done = match (Rc::make_mut(c).slot(Key::Int(i)), field) {
            (Ok(Datum::Val(old)), None) => {
                old.set(value);
                true
            }
            (Ok(Datum::Rec(r)), Some(n)) => {
                owned(r).scalars[n as usize].set(value);
                true
            }
            _ => false,
        };
        self.stack[at] = root;
        done
    }

    pub(super) fn get_path<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        path: u32,
    ) -> Run<Datum> {
        let path = &unit.pool.paths[path as usize];
        let steps = self.steps(w, unit, base, path)?;
        let in_forall = self.is_in_forall();
        self.with_root(s, w, unit, base, path, |root| {
            let mut at = &*root;
            for (i, step) in steps.iter().enumerate() {
                at = match (step, at) {
                    (Resolved::Scalar(n), Datum::Rec(r)) => {
                        return Ok(Datum::Val(attribute(&r.scalars[*n as usize], &steps[i + 1..]).clone()));
                    }
                    (Resolved::Attribute(_), Datum::Val(v)) => {
                        return Ok(Datum::Val(attribute(v, &steps[i..]).clone()));
                    }
                    (Resolved::Nested(n), Datum::Rec(r)) => &r.nested[*n as usize],
                    (Resolved::Key(_), Datum::Coll(None)) => return Err(Ora::new(6531).into()),
                    (Resolved::Key(k), Datum::Coll(Some(c))) => match c.get(k) {
                        Some(e) => e,
                        None if in_forall => return Err(missing_in_forall(c, k).into()),
                        None => return Err(missing(c, k).into()),
                    },
                    _ => return Err(Ora::new(6530).into()),
                };
            }
            Ok(at.clone())
        })
    }

    pub(super) fn set_path<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        path: u32,
        value: Datum,
    ) -> Run<()> {
        let path = &unit.pool.paths[path as usize];
        let steps = self.steps(w, unit, base, path)?;
        self.with_root(s, w, unit, base, path, |root| {
            let mut at = root;
            let mut value = Some(value);
            for (i, step) in steps.iter().enumerate() {
                at = match (step, at) {
                    (Resolved::Scalar(n), Datum::Rec(r)) => {
                        let place = attribute_place(&mut Rc::make_mut(r).scalars[*n as usize], &steps[i + 1..])?;
                        *place = match value.take() {
                            Some(Datum::Val(mut v)) => {
                                v.make_content();
                                v
                            }
                            _ => Value::Null,
                        };
                        return Ok(());
                    }
                    (Resolved::Attribute(_), Datum::Val(object)) => {
                        let place = attribute_place(object, &steps[i..])?;
                        *place = match value.take() {
                            Some(Datum::Val(mut v)) => {
                                v.make_content();
                                v
                            }
                            _ => Value::Null,
                        };
                        return Ok(());
                    }
                    (Resolved::Nested(n), Datum::Rec(r)) => &mut Rc::make_mut(r).nested[*n as usize],
                    (Resolved::Key(_), Datum::Coll(None)) => return Err(Ora::new(6531).into()),
                    (Resolved::Key(k), Datum::Coll(Some(c))) => Rc::make_mut(c)
                        .slot(k.clone())
                        .map_err(|code| if code == 6502 { scalar::value_error("") } else { Ora::new(code) })?,
                    _ => return Err(Ora::new(6530).into()),
                };
            }
            if let Some(v) = value {
                *at = v;
            }
            Ok(())
        })
    }

    /// Applies `f` to the place at the end of a path.
    pub(super) fn at_path<W: World, R>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        path: u32,
        f: impl FnOnce(&mut Datum) -> Run<R>,
    ) -> Run<R> {
        let path = &unit.pool.paths[path as usize];
        let steps = self.steps(w, unit, base, path)?;
        self.with_root(s, w, unit, base, path, |root| {
            let mut at = root;
            for step in steps {
                at = match (step, at) {
                    (Resolved::Nested(n), Datum::Rec(r)) => &mut Rc::make_mut(r).nested[n as usize],
                    (Resolved::Key(_), Datum::Coll(None)) => return Err(Ora::new(6531).into()),
                    (Resolved::Key(k), Datum::Coll(Some(c))) => Rc::make_mut(c).slot(k).map_err(Ora::new)?,
                    _ => return Err(Ora::new(6530).into()),
                };
            }
            f(at)
        })
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn method<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        method: Method,
        path: u32,
        a: Value,
        b: Value,
    ) -> Run<Value> {
        if !matches!(method, Method::Extend | Method::Trim | Method::Delete) {
            // Read-only methods must neither create elements on the way nor copy shared data.
            let d = self.get_path(s, w, unit, base, path);
            let d = match (d, method) {
                (Ok(d), _) => d,
                (Err(_), Method::Exists) => return Ok(Value::Boolean(false)),
                (Err(e), _) => return Err(e),
            };
            let c = match d {
                Datum::Coll(Some(c)) => c,
                _ if method == Method::Exists => return Ok(Value::Boolean(false)),
                _ => return Err(Ora::new(6531).into()),
            };
            return read_method(&c, method, &a);
        }
        let count = |v: &Value| -> Run<i64> {
            match v {
                Value::Number(n) => Ok(n.as_i64().unwrap_or(0)),
                _ => Err(scalar::value_error("").into()),
            }
        };
        if method == Method::Extend {
            // One EXTEND may request more elements than memory has: it works in pieces, so that limits and Ctrl-C can
            // end it.
            let mut left = count(&a)?;
            loop {
                let piece = left.min(EXTEND_PIECE);
                self.at_path(s, w, unit, base, path, |d| {
                    let Datum::Coll(Some(c)) = d else { return Err(Ora::new(6531).into()) };
                    let c = Rc::make_mut(c);
                    let element = match &b {
                        Value::Null => c.info.element.clone(),
                        i => {
                            let key = plain_key(i)?;
                            c.get(&key).cloned().ok_or_else(|| missing(c, &key))?
                        }
                    };
                    (0..piece).try_for_each(|_| c.push(element.clone())).map_err(|e| Ora::new(e).into())
                })?;
                left -= piece;
                if left <= 0 {
                    return Ok(Value::Null);
                }
                w.check_cancel()?;
            }
        }
        self.at_path(s, w, unit, base, path, |d| {
            let Datum::Coll(Some(c)) = d else { return Err(Ora::new(6531).into()) };
            let c = Rc::make_mut(c);
            match method {
                Method::Trim => {
                    let n = usize::try_from(count(&a)?).map_err(|_| scalar::value_error(""))?;
                    c.trim(n).map_err(Ora::new)?;
                }
                _ if a.is_null() => c.clear(),
                _ => {
                    let from = plain_key(&a)?;
                    let to = if b.is_null() { from.clone() } else { plain_key(&b)? };
                    c.delete_range(&from, &to);
                }
            }
            Ok(Value::Null)
        })
    }
}

fn read_method(c: &Coll, method: Method, a: &Value) -> Run<Value> {
    let key = |k: Option<Key>| k.map_or(Value::Null, |k| k.to_value());
    Ok(match method {
        Method::Count => Value::Number(Number::from_u64(c.count() as u64)),
        Method::First => key(c.first()),
        Method::Last => key(c.last()),
        Method::Limit => c.info.limit.map_or(Value::Null, |n| Value::Number(Number::from_i64(i64::from(n)))),
        Method::Exists if a.is_null() => Value::Boolean(false),
        Method::Exists => Value::Boolean(c.get(&plain_key(a)?).is_some()),
        Method::Next | Method::Prior if a.is_null() => Value::Null,
        Method::Next => key(c.next(&plain_key(a)?)),
        _ => key(c.prior(&plain_key(a)?)),
    })
}

/// Like [`missing`], for a value in the statement of a FORALL.
#[cold]
fn missing_in_forall(c: &Coll, k: &Key) -> Ora {
    match k {
        Key::Int(i) => Ora::with(22160, &[i]),
        Key::Text(_) => missing(c, k),
    }
}

/// The error of reading a missing element.
fn missing(c: &Coll, k: &Key) -> Ora {
    if c.is_associative() {
        return Ora::new(1403);
    }
    let crate::datum::CollData::Dense(v) = &c.data else { return Ora::new(1403) };
    match k {
        Key::Int(i) if *i < 1 || c.info.limit.is_some_and(|l| *i > i64::from(l)) => Ora::new(6532),
        Key::Int(i) if *i > v.len() as i64 => Ora::new(6533),
        _ => Ora::new(1403),
    }
}
