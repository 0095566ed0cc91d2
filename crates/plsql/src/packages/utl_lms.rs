//! UTL_LMS: the texts of errors, and texts with places for values.

use super::package::*;
use crate::world::World;

/// The places that FORMAT_MESSAGE fills at most.
const PLACES_MAX: usize = 50;

package! {
    "UTL_LMS",
    "package utl_lms is
       function get_message(errnum pls_integer, product varchar2, facility varchar2, language varchar2,
         message out varchar2) return pls_integer;
       function format_message(format varchar2,
         a1 varchar2 default null, a2 varchar2 default null, a3 varchar2 default null, a4 varchar2 default null,
         a5 varchar2 default null, a6 varchar2 default null, a7 varchar2 default null, a8 varchar2 default null,
         a9 varchar2 default null, a10 varchar2 default null, a11 varchar2 default null, a12 varchar2 default null,
         a13 varchar2 default null, a14 varchar2 default null, a15 varchar2 default null, a16 varchar2 default null,
         a17 varchar2 default null, a18 varchar2 default null, a19 varchar2 default null, a20 varchar2 default null)
         return varchar2;
     end;";
    "GET_MESSAGE" 1 => get_message,
    "FORMAT_MESSAGE" 1 => format_message,
}

/// 0 and the text of an error of the server; -1 and NULL for a product, a facility or an error that is not known. The
/// texts are in English, whatever the language.
fn get_message<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let known = c.a.text(1).eq_ignore_ascii_case("rdbms") && c.a.text(2).eq_ignore_ascii_case("ora");
    let code = c.a.integer(0).and_then(|code| u32::try_from(code).ok());
    let text = code.filter(|_| known).and_then(::types::bare_message);
    let found = number(if text.is_some() { 0 } else { -1 });
    c.a.set(4, text.map_or(Value::Null, Value::text));
    Ok(found)
}

/// `%s` and `%d` are replaced by the arguments in their order, `%%` by a percent sign.
fn format_message<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let format = c.a.text(0).to_owned();
    let mut out = String::with_capacity(format.len());
    let mut rest = format.as_str();
    let mut place = 0;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        rest = after;
        match rest.chars().next() {
            Some('%') => out.push('%'),
            Some('s' | 'd') if place < PLACES_MAX => {
                place += 1;
                if place < c.a.0.len() {
                    out.push_str(c.a.text(place));
                }
            }
            _ => {
                out.push('%'); // not a clause: any other character stands for itself
                continue;
            }
        }
        rest = &rest[1..];
    }
    out.push_str(rest);
    limited_text(out)
}
