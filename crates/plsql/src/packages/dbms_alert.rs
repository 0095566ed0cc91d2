//! DBMS_ALERT. The session carries the calls out.

use super::package::*;
use crate::requests::AlertRequest;
use crate::world::World;

package! {
    "DBMS_ALERT",
    "package dbms_alert is
       maxwait constant integer := 86400000;
       procedure set_defaults(sensitivity number);
       procedure register(name varchar2, cleanup boolean default true);
       procedure remove(name varchar2);
       procedure removeall;
       procedure waitany(name out varchar2, message out varchar2, status out integer, timeout number default 86400000);
       procedure waitone(name varchar2, message out varchar2, status out integer, timeout number default 86400000);
       procedure signal(name varchar2, message varchar2);
     end;";
    "SET_DEFAULTS" 1 => set_defaults,
    "REGISTER" 1 => register,
    "REMOVE" 1 => remove,
    "REMOVEALL" 1 => remove_all,
    "WAITANY" 1 => wait_any,
    "WAITONE" 1 => wait_one,
    "SIGNAL" 1 => signal,
}

/// The longest name and the longest message, in bytes.
const NAME_MAX: usize = 30;
const MESSAGE_MAX: usize = 1800;

fn name<W: World>(c: &Call<'_, W>) -> Run<String> {
    let name = c.a.text(0).trim().to_uppercase();
    if (1..=NAME_MAX).contains(&name.len()) { Ok(name) } else { Err(scalar::value_error("").into()) }
}

/// The sensitivity is the interval at which Oracle looks for alerts; a wait looks more often here.
fn set_defaults<W: World>(_: &mut Call<'_, W>) -> Run<()> {
    Ok(())
}

fn register<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let request = AlertRequest::Register { name: name(c)?, cleanup: c.a.flag(1) };
    c.w.alert(&request)?;
    Ok(())
}

fn remove<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let name = name(c)?;
    c.w.alert(&AlertRequest::Remove(name))?;
    Ok(())
}

fn remove_all<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.w.alert(&AlertRequest::RemoveAll)?;
    Ok(())
}

fn timeout<W: World>(c: &Call<'_, W>, at: usize) -> Run<f64> {
    let seconds = c.a.number(at).map_or(f64::NAN, |n| n.to_f64());
    if (0.0..=86_400_000.0).contains(&seconds) { Ok(seconds) } else { Err(scalar::value_error("").into()) }
}

fn wait_any<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let request = AlertRequest::Wait { name: None, timeout_s: timeout(c, 3)? };
    let [name, message, status] = c.w.alert(&request)?;
    c.a.set(0, name);
    c.a.set(1, message);
    c.a.set(2, status);
    Ok(())
}

fn wait_one<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let request = AlertRequest::Wait { name: Some(name(c)?), timeout_s: timeout(c, 3)? };
    let [_, message, status] = c.w.alert(&request)?;
    c.a.set(1, message);
    c.a.set(2, status);
    Ok(())
}

fn signal<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let message = c.a.optional_text(1);
    if message.as_ref().is_some_and(|message| message.len() > MESSAGE_MAX) {
        return Err(scalar::value_error("character string buffer too small").into());
    }
    let request = AlertRequest::Signal { name: name(c)?, message };
    c.w.alert(&request)?;
    Ok(())
}
