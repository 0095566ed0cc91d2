//! Images: compiled values as bytes in shared memory, which other sessions decode.
//!
//! `#[derive(Image)]` encodes a definition in field order, so that a new field or variant needs no other change.
//! Numbers have variable length; texts and lists are preceded by their lengths. Objects of the dictionary are not
//! copied: an image has their numbers, and [`Objects`] finds them for the reader.
//!
//! - A reader trusts nothing (V11): lengths are checked against the bytes left, nesting against [`DEPTH_MOST`], and
//!   values like those of damaged blocks. Any bytes give a value or [`Damaged`].
//! - An image does not depend on the process: it has no address and no handle of a session.
//!
//! Rejected: encoding by `serde`. Dictionary definitions do not fit its data model, and the nesting of decoded data is
//! not bounded.

use crate::ids::{ObjectId, Scn, TypeId};
use std::any::Any;
use std::rc::Rc;

pub use image_derive::Image;

/// The bytes are not an image, or refer to a missing object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// Deepest nesting of values.
pub const DEPTH_MOST: u32 = 256;

/// Objects that an image refers to by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Table = 0,
    Index = 1,
    Sequence = 2,
}

/// The dictionary, as the decoder of an image needs it.
pub trait Objects {
    /// The definition with that number: an `Rc` of its type.
    fn object(&self, kind: Kind, number: u32) -> Option<Rc<dyn Any>>;
    /// The reader's own handle of the host function with this number in the image.
    fn handle(&self, function: usize) -> Option<u64>;
}

/// For an image without objects.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObjects;

impl Objects for NoObjects {
    fn object(&self, _kind: Kind, _number: u32) -> Option<Rc<dyn Any>> {
        None
    }
    fn handle(&self, _function: usize) -> Option<u64> {
        None
    }
}

/// A value with an image.
pub trait Image: Sized {
    fn put(&self, w: &mut Writer);
    /// # Errors
    /// [`Damaged`].
    fn take(r: &mut Reader<'_>) -> Result<Self, Damaged>;
}

/// A value shared by `Rc`.
pub trait SharedImage {
    fn put_shared(of: &Rc<Self>, w: &mut Writer);
    /// # Errors
    /// [`Damaged`].
    fn take_shared(r: &mut Reader<'_>) -> Result<Rc<Self>, Damaged>;
}

/// Writes an image.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    /// The session's handles of host functions, by their numbers in the image.
    handles: Vec<u64>,
    failed: bool,
    depth: u32,
}

/// Greatest length of an image. Values shared in memory are encoded at each use, which can multiply the size.
const BYTES_MOST: usize = 8 << 20;

impl Writer {
    /// Whether encoding is pointless, because a value has no image or the image is too long.
    pub fn is_over(&self) -> bool {
        self.failed || self.bytes.len() > BYTES_MOST
    }

    /// Begins a value that may contain others; false if encoding is pointless. Must be ended by [`Writer::leave`].
    pub fn enter(&mut self) -> bool {
        if self.depth == DEPTH_MOST {
            self.failed = true;
        }
        let goes_on = !self.is_over();
        self.depth += u32::from(goes_on);
        goes_on
    }

    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// An image that names host functions by their positions among these handles.
    pub fn new(handles: Vec<u64>) -> Writer {
        Writer { handles, ..Writer::default() }
    }

    #[inline]
    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub fn number(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.bytes.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.bytes.push(n as u8);
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes the number of an object of the dictionary.
    pub fn object(&mut self, number: ObjectId) {
        self.number(number.0.into());
    }

    /// Writes the number of a host function.
    pub fn handle(&mut self, handle: u64) {
        match self.handles.iter().position(|have| *have == handle) {
            Some(at) => self.number(at as u64),
            None => self.fail(),
        }
    }

    /// Records that the value has no image.
    pub fn fail(&mut self) {
        self.failed = true;
    }

    /// The image, unless a value in it has none.
    pub fn finish(self) -> Option<Vec<u8>> {
        (!self.is_over()).then_some(self.bytes)
    }
}

/// Reads an image.
pub struct Reader<'a> {
    bytes: &'a [u8],
    objects: &'a dyn Objects,
    depth: u32,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], objects: &'a dyn Objects) -> Reader<'a> {
        Reader { bytes, objects, depth: 0 }
    }

    /// Begins a nested value.
    ///
    /// # Errors
    /// [`Damaged`] if the nesting is too deep.
    #[inline]
    pub fn enter(&mut self) -> Result<(), Damaged> {
        self.depth += 1;
        if self.depth > DEPTH_MOST { Err(Damaged) } else { Ok(()) }
    }

    #[inline]
    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// # Errors
    /// [`Damaged`] at the end.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, Damaged> {
        let (first, rest) = self.bytes.split_first().ok_or(Damaged)?;
        self.bytes = rest;
        Ok(*first)
    }

    /// # Errors
    /// [`Damaged`] beyond 64 bits.
    #[inline]
    pub fn number(&mut self) -> Result<u64, Damaged> {
        let (mut n, mut shift) = (0u64, 0);
        loop {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                return Err(Damaged);
            }
            n |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(n);
            }
            shift += 7;
        }
    }

    /// # Errors
    /// [`Damaged`] if the length exceeds the bytes left.
    pub fn bytes(&mut self) -> Result<&'a [u8], Damaged> {
        let len = self.len()?;
        let (own, rest) = self.bytes.split_at(len);
        self.bytes = rest;
        Ok(own)
    }

    /// Reads a length; there cannot be more elements than bytes left.
    fn len(&mut self) -> Result<usize, Damaged> {
        let len = self.number()?;
        usize::try_from(len).ok().filter(|len| *len <= self.bytes.len()).ok_or(Damaged)
    }

    /// Reads a reference to an object and returns its definition.
    ///
    /// # Errors
    /// [`Damaged`] if the object does not exist.
    pub fn object<T: Any>(&mut self, kind: Kind) -> Result<Rc<T>, Damaged> {
        let number = u32::try_from(self.number()?).map_err(|_| Damaged)?;
        self.objects.object(kind, number).and_then(|object| object.downcast().ok()).ok_or(Damaged)
    }

    /// Reads a reference to a host function and returns the reader's handle.
    ///
    /// # Errors
    /// [`Damaged`] if there is none.
    pub fn handle(&mut self) -> Result<u64, Damaged> {
        let function = usize::try_from(self.number()?).map_err(|_| Damaged)?;
        self.objects.handle(function).ok_or(Damaged)
    }

    /// The bytes not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }
}

/// Decodes a single value from all of the bytes.
///
/// # Errors
/// [`Damaged`].
pub fn read<T: Image>(bytes: &[u8], objects: &dyn Objects) -> Result<T, Damaged> {
    let mut reader = Reader::new(bytes, objects);
    let value = T::take(&mut reader)?;
    if reader.rest().is_empty() { Ok(value) } else { Err(Damaged) }
}

macro_rules! unsigned {
    ($($ty:ty),*) => {$(
        impl Image for $ty {
            #[inline]
            fn put(&self, w: &mut Writer) {
                w.number(*self as u64);
            }
            #[inline]
            fn take(r: &mut Reader<'_>) -> Result<Self, Damaged> {
                <$ty>::try_from(r.number()?).map_err(|_| Damaged)
            }
        }
    )*};
}

macro_rules! signed {
    ($($ty:ty),*) => {$(
        impl Image for $ty {
            fn put(&self, w: &mut Writer) {
                let n = i64::from(*self);
                w.number((n << 1 ^ n >> 63) as u64);
            }
            fn take(r: &mut Reader<'_>) -> Result<Self, Damaged> {
                let n = r.number()?;
                <$ty>::try_from((n >> 1) as i64 ^ -((n & 1) as i64)).map_err(|_| Damaged)
            }
        }
    )*};
}

unsigned!(u8, u16, u32, u64, usize);
signed!(i8, i16, i32, i64);

impl Image for i128 {
    fn put(&self, w: &mut Writer) {
        w.bytes(&self.to_le_bytes());
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Damaged> {
        r.bytes()?.try_into().map(i128::from_le_bytes).map_err(|_| Damaged)
    }
}

impl Image for bool {
    fn put(&self, w: &mut Writer) {
        w.byte(u8::from(*self));
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Damaged> {
        match r.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Damaged),
        }
    }
}

impl Image for f64 {
    fn put(&self, w: &mut Writer) {
        w.bytes(&self.to_le_bytes());
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Damaged> {
        r.bytes()?.try_into().map(f64::from_le_bytes).map_err(|_| Damaged)
    }
}

impl Image for String {
    fn put(&self, w: &mut Writer) {
        w.bytes(self.as_bytes());
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Damaged> {
        std::str::from_utf8(r.bytes()?).map(str::to_owned).map_err(|_| Damaged)
    }
}

impl<T: Image> Image for Option<T> {
    fn put(&self, w: &mut Writer) {
        w.byte(u8::from(self.is_some()));
        if let Some(value) = self {
            value.put(w);
        }
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok(if bool::take(r)? { Some(T::take(r)?) } else { None })
    }
}

impl<T: Image> Image for Box<T> {
    fn put(&self, w: &mut Writer) {
        (**self).put(w);
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Damaged> {
        T::take(r).map(Box::new)
    }
}

impl<T: Image> Image for Vec<T> {
    fn put(&self, w: &mut Writer) {
        w.number(self.len() as u64);
        for value in self {
            if w.is_over() {
                return;
            }
            value.put(w);
        }
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Damaged> {
        let len = r.len()?;
        // An element may need much more memory than its image.
        let mut all = Vec::with_capacity(len.min(64));
        for _ in 0..len {
            all.push(T::take(r)?);
        }
        Ok(all)
    }
}

impl<T: SharedImage + ?Sized> Image for Rc<T> {
    fn put(&self, w: &mut Writer) {
        if w.enter() {
            T::put_shared(self, w);
            w.leave();
        }
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Damaged> {
        T::take_shared(r)
    }
}

impl SharedImage for str {
    fn put_shared(of: &Rc<str>, w: &mut Writer) {
        w.bytes(of.as_bytes());
    }
    fn take_shared(r: &mut Reader<'_>) -> Result<Rc<str>, Damaged> {
        std::str::from_utf8(r.bytes()?).map(Rc::from).map_err(|_| Damaged)
    }
}

macro_rules! tuples {
    ($(($($name:ident),*))*) => {$(
        impl<$($name: Image),*> Image for ($($name,)*) {
            fn put(&self, w: &mut Writer) {
                #[allow(non_snake_case)]
                let ($($name,)*) = self;
                $($name.put(w);)*
            }
            fn take(r: &mut Reader<'_>) -> Result<Self, Damaged> {
                Ok(($($name::take(r)?,)*))
            }
        }
    )*};
}

tuples! { (A, B) (A, B, C) (A, B, C, D) }

impl Image for ObjectId {
    fn put(&self, w: &mut Writer) {
        self.0.put(w);
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Damaged> {
        u32::take(r).map(ObjectId)
    }
}

impl Image for Scn {
    fn put(&self, w: &mut Writer) {
        self.0.put(w);
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Damaged> {
        u64::take(r).map(Scn)
    }
}

/// The definition of a schema type may change without affecting a plan's look-ups, so a plan that names one is not
/// shared.
impl Image for TypeId {
    fn put(&self, w: &mut Writer) {
        w.fail();
    }
    fn take(_r: &mut Reader<'_>) -> Result<Self, Damaged> {
        Err(Damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataType, Value};
    use proptest::prelude::*;

    fn image<T: Image>(value: &T) -> Vec<u8> {
        let mut w = Writer::default();
        value.put(&mut w);
        w.finish().expect("it has an image")
    }

    #[test]
    fn images_too_long_or_too_deep_are_not_written() {
        struct Node(Vec<Rc<Node>>);
        impl Image for Node {
            fn put(&self, w: &mut Writer) {
                self.0.put(w);
            }
            fn take(_: &mut Reader<'_>) -> Result<Node, Damaged> {
                Err(Damaged)
            }
        }
        impl SharedImage for Node {
            fn put_shared(of: &Rc<Node>, w: &mut Writer) {
                Image::put(&**of, w);
            }
            fn take_shared(_: &mut Reader<'_>) -> Result<Rc<Node>, Damaged> {
                Err(Damaged)
            }
        }
        // Each value contains the one below it several times.
        let image_of = |depth: u32, times: usize| {
            let mut node = Rc::new(Node(Vec::new()));
            for _ in 0..depth {
                node = Rc::new(Node(vec![node; times]));
            }
            let mut w = Writer::default();
            node.put(&mut w);
            w.finish().map(|bytes| bytes.len())
        };
        assert_eq!(image_of(10, 2), Some((1 << 11) - 1));
        assert_eq!(image_of(100, 2), None);
        assert_eq!(image_of(DEPTH_MOST - 1, 1), Some(DEPTH_MOST as usize));
        assert_eq!(image_of(DEPTH_MOST, 1), None);
    }

    #[test]
    fn images_nested_too_deeply_are_damaged() {
        #[derive(Image, Debug)]
        enum Deep {
            In(Box<Deep>),
            #[allow(dead_code)]
            End,
        }
        let bytes = vec![0; 1_000_000];
        assert!(read::<Deep>(&bytes, &NoObjects).is_err());
        let mut shallow = vec![0; 100];
        shallow.push(1);
        assert!(read::<Deep>(&shallow, &NoObjects).is_ok());
    }

    #[derive(Image, Debug, PartialEq, Clone)]
    enum Shape {
        None,
        Some(u32, Option<String>),
        Named { r#type: DataType, list: Vec<(i64, bool)> },
    }

    proptest! {
        #[test]
        fn numbers_round_trip(a: u64, b: i64, c: i128) {
            let value = (a, b, c);
            prop_assert_eq!(read(&image(&value), &NoObjects), Ok(value));
        }

        #[test]
        fn any_bytes_give_a_value_or_are_damaged(bytes: Vec<u8>) {
            let _ = read::<Vec<Shape>>(&bytes, &NoObjects);
            let _ = read::<Vec<Value>>(&bytes, &NoObjects);
        }

        #[test]
        fn a_shape_round_trips(n: u32, text: Option<String>, list: Vec<(i64, bool)>) {
            let all = vec![Shape::None, Shape::Some(n, text), Shape::Named { r#type: DataType::Date, list }];
            prop_assert_eq!(read(&image(&all), &NoObjects), Ok(all));
        }
    }
}
