//! UTL_I18N: conversions between character sets, and references to characters in HTML and XML.

use super::charset::Charset;
use super::package::*;
use crate::world::World;
use types::Result;

package! {
    "UTL_I18N",
    "package utl_i18n is
       generic_context constant pls_integer := 0; mail_context constant pls_integer := 1;
       iana_charset constant pls_integer := 1; oracle_charset constant pls_integer := 0;
       function string_to_raw(data varchar2, dst_charset varchar2 default null) return raw;
       function raw_to_char(data raw, src_charset varchar2 default null) return varchar2;
       function raw_to_nchar(data raw, src_charset varchar2 default null) return nvarchar2;
       function escape_reference(str varchar2, page_cs_name varchar2 default null) return varchar2;
       function unescape_reference(str varchar2) return varchar2;
     end;";
    "STRING_TO_RAW" 1 => string_to_raw, "RAW_TO_CHAR" 1 => raw_to_char, "RAW_TO_NCHAR" 1 => raw_to_char,
    "ESCAPE_REFERENCE" 1 => escape_reference, "UNESCAPE_REFERENCE" 1 => unescape_reference,
}

/// The character set in an argument; the default is that of the database.
fn charset(a: &Args<'_>, at: usize) -> Result<Charset> {
    a.optional_text(at).map_or(Ok(Charset::Utf8), |name| Charset::named(&name))
}

fn string_to_raw<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    limited_raw(charset(&c.a, 1)?.encode(c.a.text(0)).0)
}

fn raw_to_char<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    limited_text(charset(&c.a, 1)?.decode(c.a.raw(0)).0)
}

/// Markup becomes named references, and what the page's character set does not have becomes numeric ones.
fn escape_reference<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let page = charset(&c.a, 1)?;
    let mut out = String::new();
    for c in c.a.text(0).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c if page.encode(c.encode_utf8(&mut [0; 4])).1 => out.push_str(&format!("&#x{:x};", u32::from(c))),
            c => out.push(c),
        }
    }
    limited_text(out)
}

/// The character of a reference without `&` and `;`.
fn referred(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some('\u{a0}'),
        _ => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            code.ok().and_then(char::from_u32)
        }
    }
}

fn unescape_reference<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let mut rest = c.a.text(0);
    let mut out = String::new();
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.find(';');
        match end.and_then(|end| Some((end, referred(&rest[1..end])?))) {
            Some((end, c)) => {
                out.push(c);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    Ok(Value::text(out))
}
