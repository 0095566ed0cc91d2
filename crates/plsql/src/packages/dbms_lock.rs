//! DBMS_LOCK.

use super::args::Args;
use super::package::*;
use crate::world::World;

package! {
    "DBMS_LOCK",
    "package dbms_lock is
       nl_mode constant integer := 1; ss_mode constant integer := 2; sx_mode constant integer := 3;
       s_mode constant integer := 4; ssx_mode constant integer := 5; x_mode constant integer := 6;
       maxwait constant integer := 32767;
       procedure sleep(seconds number);
       function request(id integer, lockmode integer default 6, timeout integer default 32767,
         release_on_commit boolean default false) return integer;
       function release(id integer) return integer;
       procedure allocate_unique(lockname varchar2, lockhandle out varchar2, expiration_secs integer default 864000);
       function request(lockhandle varchar2, lockmode integer default 6, timeout integer default 32767,
         release_on_commit boolean default false) return integer;
       function release(lockhandle varchar2) return integer;
       function convert(id integer, lockmode integer, timeout number default 32767) return integer;
       function convert(lockhandle varchar2, lockmode integer, timeout number default 32767) return integer;
     end;";
    "SLEEP" 1 => sleep,
    "REQUEST" 1 => request,
    "RELEASE" 1 => release,
    "ALLOCATE_UNIQUE" 1 => allocate_unique,
    "REQUEST" 2 => lock_request_handle,
    "RELEASE" 2 => lock_release_handle,
    "CONVERT" 1 => convert,
    "CONVERT" 2 => lock_convert_handle,
}

/// Sleeps for the seconds of the first argument.
pub(super) fn sleep<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let seconds = c.a.number(0).ok_or_else(|| scalar::value_error(""))?.to_f64();
    if !(0.0..=32767.0).contains(&seconds) {
        return Err(Ora::with(38148, &[]).into());
    }
    c.w.sleep(seconds)?;
    Ok(())
}

fn request<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let id = lock_id(c.a.integer(0))?;
    lock_request(c.w, &c.a, id)
}

fn release<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(number(c.w.user_lock_release(lock_id(c.a.integer(0))?)?))
}

fn allocate_unique<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let hash = c.a.text(0).bytes().fold(0x811c_9dc5u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    // Handles stand for locks with numbers above those that programs choose.
    let id = 1_073_741_824 + hash % 800_000_000;
    c.a.set(1, Value::text(format!("{id}{:010}", id % 97)));
    Ok(())
}

fn lock_request_handle<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let id = lock_handle(c.a.text(0))?;
    lock_request(c.w, &c.a, id)
}

fn lock_release_handle<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(number(c.w.user_lock_release(lock_handle(c.a.text(0))?)?))
}

fn convert<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let id = lock_id(c.a.integer(0))?;
    lock_convert(c.w, &c.a, id)
}

fn lock_convert_handle<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let id = lock_handle(c.a.text(0))?;
    lock_convert(c.w, &c.a, id)
}

fn lock_id(id: Option<i64>) -> Run<u32> {
    match id {
        Some(id @ 0..=1_073_741_823) => Ok(id as u32),
        _ => Err(scalar::value_error("").into()),
    }
}

fn lock_handle(handle: &str) -> Run<u32> {
    handle.get(..10).and_then(|h| h.parse().ok()).ok_or_else(|| scalar::value_error("").into())
}

fn lock_request<W: World>(w: &mut W, a: &Args<'_>, id: u32) -> Run<Value> {
    let mode = match a.integer(1) {
        Some(m @ 1..=6) => m as u8,
        _ => return Ok(number(3)),
    };
    let timeout = match a.integer(2) {
        Some(t) if t < 32767 => Some(t.max(0) as u32),
        _ => None,
    };
    Ok(number(w.user_lock_request(id, mode, timeout, a.flag(3))?))
}

fn lock_convert<W: World>(w: &mut W, a: &Args<'_>, id: u32) -> Run<Value> {
    let mode = match a.integer(1) {
        Some(m @ 1..=6) => m as u8,
        _ => return Ok(number(3)),
    };
    let timeout = match a.integer(2) {
        Some(t) if t < 32767 => Some(t.max(0) as u32),
        _ => None,
    };
    Ok(number(w.user_lock_convert(id, mode, timeout)?))
}
