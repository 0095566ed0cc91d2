//! Special cases in the image of a plan: functions and objects of the dictionary.
//!
//! The image of a [`crate::Plan`] is encoded and decoded by `types::image` (P24). Tables, indexes and sequences are
//! stored as numbers, scalar functions as names. A function of the host is stored as the position of its look-up in the
//! list of look-ups ([`crate::names`]), through which each session finds its own handle.

use crate::function::Func;
use crate::ir::{HostFunction, NESTED_CURSOR, SequenceRef};
use std::rc::Rc;
use types::image::{Damaged, Image, Reader, SharedImage, Writer};

impl Image for Func {
    fn put(&self, w: &mut Writer) {
        w.bytes(self.0.name.as_bytes());
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Damaged> {
        let name = std::str::from_utf8(r.bytes()?).map_err(|_| Damaged)?;
        functions::lookup(name).map(Func).ok_or(Damaged)
    }
}

impl SharedImage for SequenceRef {
    fn put_shared(of: &Rc<SequenceRef>, w: &mut Writer) {
        SequenceRef::put(of, w);
    }
    fn take_shared(r: &mut Reader<'_>) -> Result<Rc<SequenceRef>, Damaged> {
        SequenceRef::take(r).map(Rc::new)
    }
}

impl Image for HostFunction {
    fn put(&self, w: &mut Writer) {
        let HostFunction {
            owner,
            package,
            name,
            handle,
            arg_types,
            arg_names,
            has_default,
            omitted,
            ty,
            deterministic,
            is_pipelined,
            dependencies,
            invokers,
            caller,
            nested,
        } = self;
        let is_nested = *handle == NESTED_CURSOR;
        is_nested.put(w);
        if !is_nested {
            w.handle(*handle);
        }
        owner.put(w);
        package.put(w);
        name.put(w);
        arg_types.put(w);
        arg_names.put(w);
        has_default.put(w);
        omitted.put(w);
        ty.put(w);
        deterministic.put(w);
        is_pipelined.put(w);
        dependencies.put(w);
        invokers.put(w);
        caller.put(w);
        nested.put(w);
    }
    fn take(r: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok(HostFunction {
            handle: if bool::take(r)? { NESTED_CURSOR } else { r.handle()? },
            owner: Image::take(r)?,
            package: Image::take(r)?,
            name: Image::take(r)?,
            arg_types: Image::take(r)?,
            arg_names: Image::take(r)?,
            has_default: Image::take(r)?,
            omitted: Image::take(r)?,
            ty: Image::take(r)?,
            deterministic: Image::take(r)?,
            is_pipelined: Image::take(r)?,
            dependencies: Image::take(r)?,
            invokers: Image::take(r)?,
            caller: Image::take(r)?,
            nested: Image::take(r)?,
        })
    }
}

impl SharedImage for HostFunction {
    fn put_shared(of: &Rc<HostFunction>, w: &mut Writer) {
        HostFunction::put(of, w);
    }
    fn take_shared(r: &mut Reader<'_>) -> Result<Rc<HostFunction>, Damaged> {
        HostFunction::take(r).map(Rc::new)
    }
}
