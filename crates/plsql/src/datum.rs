//! The content of a PL/SQL variable: a scalar, a record, a collection or a cursor.
//!
//! Records and collections are shared and copied on write (invariant 2): PL/SQL's assignment and parameter passing
//! copy, and most copies are never changed. A record keeps its scalar fields in one vector of values, so that a fetch
//! writes a row directly into it.

use crate::intmap::IntMap;
use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use types::Value;
use types::image::{Damaged, Image, Reader, SharedImage, Writer};

/// An open cursor, shared by all cursor variables with the same cursor.
pub type CursorRef = Rc<RefCell<dyn Any>>;

/// The content of a variable.
#[derive(Clone)]
pub enum Datum {
    Val(Value),
    Rec(Rc<Rec>),
    /// `None` is the atomically null collection.
    Coll(Option<Rc<Coll>>),
    Cur(Option<CursorRef>),
}

impl Datum {
    /// An index-by table, from subscript 1 on.
    pub fn table(elements: impl IntoIterator<Item = Value>) -> Datum {
        let info = CollInfo { element: Datum::default(), limit: None, kind: CollKind::ByInteger };
        let mut table = Coll::empty(&Rc::new(info));
        for (at, value) in (1..).zip(elements) {
            if let Ok(place) = table.slot(Key::Int(at)) {
                *place = Datum::Val(value);
            }
        }
        Datum::Coll(Some(Rc::new(table)))
    }
}

/// Encodes initial contents of variables. Open cursors, and collections with elements, belong to one session.
impl Image for Datum {
    fn put(&self, w: &mut Writer) {
        match self {
            Datum::Val(value) => {
                w.byte(0);
                value.put(w);
            }
            Datum::Rec(rec) => {
                w.byte(1);
                rec.put(w);
            }
            Datum::Coll(None) => w.byte(2),
            Datum::Coll(Some(coll)) if coll.count() == 0 => {
                w.byte(3);
                coll.info.put(w);
            }
            Datum::Cur(None) => w.byte(4),
            Datum::Coll(Some(_)) | Datum::Cur(Some(_)) => w.fail(),
        }
    }
    fn take(r: &mut Reader<'_>) -> Result<Datum, Damaged> {
        r.enter()?;
        let datum = match r.byte()? {
            0 => Datum::Val(Value::take(r)?),
            1 => Datum::Rec(Rc::take(r)?),
            2 => Datum::Coll(None),
            3 => Datum::Coll(Some(Rc::new(Coll::empty(&Rc::take(r)?)))),
            4 => Datum::Cur(None),
            _ => return Err(Damaged),
        };
        r.leave();
        Ok(datum)
    }
}

/// Types whose shared values are encoded each time.
macro_rules! shared {
    ($($ty:ty),*) => {$(
        impl SharedImage for $ty {
            fn put_shared(of: &Rc<$ty>, w: &mut Writer) {
                Image::put(&**of, w);
            }
            fn take_shared(r: &mut Reader<'_>) -> Result<Rc<$ty>, Damaged> {
                <$ty>::take(r).map(Rc::new)
            }
        }
    )*};
}

pub(crate) use shared;

shared!(Rec, CollInfo);

impl Default for Datum {
    fn default() -> Datum {
        Datum::Val(Value::Null)
    }
}

impl std::fmt::Debug for Datum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Datum::Val(v) => write!(f, "{v:?}"),
            Datum::Rec(r) => write!(f, "{r:?}"),
            Datum::Coll(c) => write!(f, "{c:?}"),
            Datum::Cur(_) => f.write_str("Cursor"),
        }
    }
}

/// A record: its scalar fields, and its composite ones.
#[derive(Clone, Debug, Default, Image)]
pub struct Rec {
    pub scalars: Vec<Value>,
    pub nested: Vec<Datum>,
}

/// A collection, with the information for making its elements.
#[derive(Clone, Debug)]
pub struct Coll {
    pub info: Rc<CollInfo>,
    pub data: CollData,
}

/// The information that all collections of a type share.
#[derive(Clone, Debug, Image)]
pub struct CollInfo {
    /// The content of a new element: NULL, or a record of NULLs.
    pub element: Datum,
    /// The maximum size of a VARRAY.
    pub limit: Option<u32>,
    pub kind: CollKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Image)]
pub enum CollKind {
    Nested,
    Varray,
    ByInteger,
    ByText,
}

#[derive(Clone, Debug)]
pub enum CollData {
    /// Element `i` is at `i - 1`; `None` is a deleted element.
    Dense(Vec<Option<Datum>>),
    ByInteger(IntMap<Datum>),
    ByText(BTreeMap<String, Datum>),
}

/// A subscript.
#[derive(Clone, Debug, PartialEq)]
pub enum Key {
    Int(i64),
    Text(String),
}

impl Key {
    pub fn to_value(&self) -> Value {
        match self {
            Key::Int(i) => Value::Number(types::Number::from_i64(*i)),
            Key::Text(s) => Value::text(s.as_str()),
        }
    }
}

impl Coll {
    /// An empty collection of the type.
    pub fn empty(info: &Rc<CollInfo>) -> Coll {
        let data = match info.kind {
            CollKind::Nested | CollKind::Varray => CollData::Dense(Vec::new()),
            CollKind::ByInteger => CollData::ByInteger(IntMap::default()),
            CollKind::ByText => CollData::ByText(BTreeMap::new()),
        };
        Coll { info: info.clone(), data }
    }

    pub fn is_associative(&self) -> bool {
        !matches!(self.data, CollData::Dense(_))
    }

    pub fn count(&self) -> usize {
        match &self.data {
            CollData::Dense(v) => v.iter().filter(|e| e.is_some()).count(),
            CollData::ByInteger(m) => m.len(),
            CollData::ByText(m) => m.len(),
        }
    }

    /// The element with an integer subscript.
    #[inline]
    pub fn at(&self, i: i64) -> Option<&Datum> {
        match &self.data {
            CollData::Dense(v) => v.get(usize::try_from(i.checked_sub(1)?).ok()?)?.as_ref(),
            CollData::ByInteger(m) => m.get(i),
            CollData::ByText(_) => None,
        }
    }

    pub fn get(&self, key: &Key) -> Option<&Datum> {
        match (&self.data, key) {
            (CollData::Dense(v), Key::Int(i)) => v.get(usize::try_from(*i - 1).ok()?)?.as_ref(),
            (CollData::ByInteger(m), Key::Int(i)) => m.get(*i),
            (CollData::ByText(m), Key::Text(s)) => m.get(s),
            _ => None,
        }
    }

    /// The element at `key`, created if the collection is associative; the error is Oracle's number.
    pub fn slot(&mut self, key: Key) -> Result<&mut Datum, u32> {
        let element = &self.info.element;
        match (&mut self.data, key) {
            (CollData::Dense(v), Key::Int(i)) => {
                let limit = self.info.limit.map_or(i64::from(i32::MAX), i64::from);
                if i < 1 || i > limit {
                    return Err(6532);
                }
                match v.get_mut(i as usize - 1) {
                    // An assignment restores a deleted element of a nested table.
                    Some(place) => Ok(place.get_or_insert_with(|| element.clone())),
                    None => Err(6533),
                }
            }
            (CollData::ByInteger(m), Key::Int(i)) => Ok(m.entry(i, || element.clone())),
            (CollData::ByText(m), Key::Text(s)) => Ok(m.entry(s).or_insert_with(|| element.clone())),
            _ => Err(6502),
        }
    }

    pub fn first(&self) -> Option<Key> {
        match &self.data {
            CollData::Dense(v) => v.iter().position(Option::is_some).map(|i| Key::Int(i as i64 + 1)),
            CollData::ByInteger(m) => m.first().map(Key::Int),
            CollData::ByText(m) => m.keys().next().map(|s| Key::Text(s.clone())),
        }
    }

    pub fn last(&self) -> Option<Key> {
        match &self.data {
            CollData::Dense(v) => v.iter().rposition(Option::is_some).map(|i| Key::Int(i as i64 + 1)),
            CollData::ByInteger(m) => m.last().map(Key::Int),
            CollData::ByText(m) => m.keys().next_back().map(|s| Key::Text(s.clone())),
        }
    }

    /// The first subscript above `key`.
    pub fn next(&self, key: &Key) -> Option<Key> {
        use std::ops::Bound::{Excluded, Unbounded};
        match (&self.data, key) {
            (CollData::Dense(v), Key::Int(i)) => {
                let from = usize::try_from((*i).max(0)).ok()?;
                (from..v.len()).find(|n| v[*n].is_some()).map(|n| Key::Int(n as i64 + 1))
            }
            (CollData::ByInteger(m), Key::Int(i)) => m.next(*i).map(Key::Int),
            (CollData::ByText(m), Key::Text(s)) => {
                m.range::<str, _>((Excluded(s.as_str()), Unbounded)).next().map(|(k, _)| Key::Text(k.clone()))
            }
            _ => None,
        }
    }

    /// The last subscript below `key`.
    pub fn prior(&self, key: &Key) -> Option<Key> {
        use std::ops::Bound::{Excluded, Unbounded};
        match (&self.data, key) {
            (CollData::Dense(v), Key::Int(i)) => {
                let to = usize::try_from((*i - 1).clamp(0, v.len() as i64)).ok()?;
                (0..to).rev().find(|n| v[*n].is_some()).map(|n| Key::Int(n as i64 + 1))
            }
            (CollData::ByInteger(m), Key::Int(i)) => m.prior(*i).map(Key::Int),
            (CollData::ByText(m), Key::Text(s)) => {
                m.range::<str, _>((Unbounded, Excluded(s.as_str()))).next_back().map(|(k, _)| Key::Text(k.clone()))
            }
            _ => None,
        }
    }

    /// Appends an element: EXTEND and BULK COLLECT.
    pub fn push(&mut self, element: Datum) -> Result<(), u32> {
        match &mut self.data {
            CollData::Dense(v) => {
                if self.info.limit.is_some_and(|limit| v.len() >= limit as usize) {
                    return Err(6532);
                }
                v.push(Some(element));
            }
            CollData::ByInteger(m) => {
                let at = m.last().map_or(1, |k| k + 1);
                *m.entry(at, Datum::default) = element;
            }
            CollData::ByText(_) => return Err(6502),
        }
        Ok(())
    }

    /// TRIM(n).
    pub fn trim(&mut self, n: usize) -> Result<(), u32> {
        let CollData::Dense(v) = &mut self.data else { return Err(6502) };
        let left = v.len().checked_sub(n).ok_or(6533u32)?;
        v.truncate(left);
        Ok(())
    }

    /// DELETE without arguments.
    pub fn clear(&mut self) {
        match &mut self.data {
            CollData::Dense(v) => v.clear(),
            CollData::ByInteger(m) => m.clear(),
            CollData::ByText(m) => m.clear(),
        }
    }

    /// DELETE(from, to), both ends included.
    pub fn delete_range(&mut self, from: &Key, to: &Key) {
        match (&mut self.data, from, to) {
            (CollData::Dense(v), Key::Int(a), Key::Int(b)) => {
                let (a, b) = ((*a).max(1), (*b).min(v.len() as i64));
                for i in a..=b {
                    v[i as usize - 1] = None;
                }
            }
            (CollData::ByInteger(m), Key::Int(a), Key::Int(b)) => m.remove_range(*a, *b),
            (CollData::ByText(m), Key::Text(a), Key::Text(b)) if a <= b => {
                let doomed: Vec<String> = m.range(a.clone()..=b.clone()).map(|(k, _)| k.clone()).collect();
                doomed.iter().for_each(|k| {
                    m.remove(k);
                });
            }
            _ => {}
        }
    }

    /// The elements in subscript order.
    pub fn elements(&self) -> Box<dyn Iterator<Item = &Datum> + '_> {
        match &self.data {
            CollData::Dense(v) => Box::new(v.iter().flatten()),
            CollData::ByInteger(m) => Box::new(m.values()),
            CollData::ByText(m) => Box::new(m.values()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coll(kind: CollKind, limit: Option<u32>) -> Coll {
        Coll::empty(&Rc::new(CollInfo { element: Datum::default(), limit, kind }))
    }

    fn number(i: i64) -> Datum {
        Datum::Val(Value::Number(types::Number::from_i64(i)))
    }

    #[test]
    fn nested_tables_keep_holes() {
        let mut c = coll(CollKind::Nested, None);
        for i in 1..=4 {
            c.push(number(i)).unwrap();
        }
        c.delete_range(&Key::Int(2), &Key::Int(3));
        assert_eq!((c.count(), c.first(), c.last()), (2, Some(Key::Int(1)), Some(Key::Int(4))));
        assert_eq!(c.next(&Key::Int(1)), Some(Key::Int(4)));
        assert_eq!(c.prior(&Key::Int(4)), Some(Key::Int(1)));
        assert!(c.get(&Key::Int(2)).is_none());
        assert!(c.slot(Key::Int(2)).is_ok());
        assert_eq!(c.slot(Key::Int(5)).err(), Some(6533));
        assert_eq!(c.slot(Key::Int(0)).err(), Some(6532));
        assert!(c.trim(9).is_err());
        c.trim(1).unwrap();
        assert_eq!(c.count(), 2);
    }

    #[test]
    fn varrays_have_a_limit() {
        let mut c = coll(CollKind::Varray, Some(1));
        c.push(number(1)).unwrap();
        assert_eq!(c.push(number(2)), Err(6532));
        assert_eq!(c.slot(Key::Int(2)).err(), Some(6532));
    }

    #[test]
    fn associative_arrays_walk_in_order() {
        let mut c = coll(CollKind::ByText, None);
        for k in ["b", "a", "c"] {
            *c.slot(Key::Text(k.into())).unwrap() = number(1);
        }
        assert_eq!(c.first(), Some(Key::Text("a".into())));
        assert_eq!(c.next(&Key::Text("a".into())), Some(Key::Text("b".into())));
        assert_eq!(c.prior(&Key::Text("b".into())), Some(Key::Text("a".into())));
        c.delete_range(&Key::Text("a".into()), &Key::Text("b".into()));
        assert_eq!(c.count(), 1);
        let mut c = coll(CollKind::ByInteger, None);
        *c.slot(Key::Int(-5)).unwrap() = number(1);
        *c.slot(Key::Int(7)).unwrap() = number(1);
        assert_eq!((c.first(), c.next(&Key::Int(-5))), (Some(Key::Int(-5)), Some(Key::Int(7))));
    }
}
