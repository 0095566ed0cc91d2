//! Measuring calls: of an operation, of reading rows by rowid, of the whole statement.

use super::reading::Reading;
use super::run::Place;
use crate::ctx::ExecCtx;
use crate::machine::Machine;

/// Calls `read` and counts its work as reading a table by rowid.
#[inline]
pub fn by_rowid<'x, R>(cx: &mut ExecCtx<'x>, read: impl FnOnce(&mut ExecCtx<'x>) -> R) -> R {
    if !cx.session.noted.is_on() {
        return read(cx);
    }
    noted_by_rowid(cx, read)
}

#[cold]
fn noted_by_rowid<'x, R>(cx: &mut ExecCtx<'x>, read: impl FnOnce(&mut ExecCtx<'x>) -> R) -> R {
    let before = Reading::of(cx.p);
    let result = read(cx);
    let noted = &cx.session.noted.by_rowid;
    noted.set(noted.get().plus(Reading::of(cx.p).since(before)));
    result
}

/// Calls `f` for an operation and adds the work to its figures.
pub fn counted<T, R>(
    place: Place,
    inner: &mut T,
    m: &mut Machine,
    cx: &mut ExecCtx<'_>,
    f: impl FnOnce(&mut T, &mut Machine, &mut ExecCtx<'_>) -> R,
) -> R {
    let was_on = cx.session.noted.switch(true);
    let outside = cx.session.noted.by_rowid.take();
    let values_outside = cx.session.noted.more_values.take();
    // These belong to the calling operation: a hash join has built its table before it asks for the other side.
    let areas_outside = cx.session.noted.areas.take();
    let before = Reading::of(cx.p);
    let result = f(inner, m, cx);
    let done = Reading::of(cx.p).since(before);
    let noted = &cx.session.noted;
    noted.switch(was_on);
    let of_table = noted.by_rowid.replace(outside);
    let more_values = noted.more_values.replace(values_outside);
    let areas = noted.areas.replace(areas_outside);
    if let Some(run) = &mut m.run {
        run.is_new = true;
        run.lines[place.line - place.over..place.line].iter_mut().for_each(|(counts, _)| done.add_to(counts));
        let (counts, area) = &mut run.lines[place.line];
        done.add_to(counts);
        counts.starts += more_values;
        areas.iter().for_each(|noted| area.add(noted));
        if let Some(entries) = place.entries {
            let counts = &mut run.lines[entries].0;
            done.since(of_table).add_to(counts);
            counts.starts += more_values;
        }
    }
    result
}

/// Begins measuring a call of a counted statement.
pub fn begin(cx: &ExecCtx<'_>) -> Reading {
    Reading::of(cx.p)
}

/// Ends the measurement and adds the work to the statement's figures.
pub fn end(before: Reading, m: &mut Machine, cx: &ExecCtx<'_>) {
    if let Some(run) = &mut m.run {
        let done = Reading::of(cx.p).since(before);
        run.is_new = true;
        let above = run.above;
        run.lines[..above].iter_mut().for_each(|(counts, _)| done.add_to(counts));
    }
}
