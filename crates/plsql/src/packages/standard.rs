//! STANDARD.

use super::args::Args;
use super::package::*;
use crate::machine::Machine;
use crate::world::World;

package! {
    "STANDARD",
    "package standard is
       procedure raise_application_error(num number, msg varchar2, keeperrorstack boolean default false);
     end;";
    "RAISE_APPLICATION_ERROR" 1 => raise_application_error,
}

fn raise_application_error<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    Err(application_error(&c.a, c.m).into())
}

fn application_error(a: &Args<'_>, m: &Machine) -> Ora {
    let code = a.integer(0).unwrap_or(0);
    if !(-20999..=-20000).contains(&code) {
        return Ora::with(21000, &[&code]);
    }
    let mut message = a.text(1).to_string();
    if message.len() > 2048 {
        let cut = (0..=2048).rev().find(|i| message.is_char_boundary(*i)).unwrap_or(0);
        message.truncate(cut);
    }
    let error = Ora::user(code.unsigned_abs() as u32, message);
    match m.current_error() {
        Some(below) if a.flag(2) => error.because(below.clone()),
        _ => error,
    }
}
