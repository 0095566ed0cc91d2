//! UTL_ENCODE: BASE64.

use super::package::*;
use crate::world::World;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

package! {
    "UTL_ENCODE",
    "package utl_encode is
       base64 constant pls_integer := 1; quoted_printable constant pls_integer := 2;
       function base64_encode(r raw) return raw;
       function base64_decode(r raw) return raw;
     end;";
    "BASE64_ENCODE" 1 => base64_encode, "BASE64_DECODE" 1 => base64_decode,
}

/// Characters of a line.
const LINE: usize = 64;

/// Lines of 64 characters, with carriage return and line feed between them.
fn base64_encode<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let text = STANDARD.encode(c.a.raw(0));
    let lines: Vec<&[u8]> = text.as_bytes().chunks(LINE).collect();
    limited_raw(lines.join(&b"\r\n"[..]))
}

fn base64_decode<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let text: Vec<u8> = c.a.raw(0).iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let bytes = STANDARD.decode(text).map_err(|_| scalar::value_error(""))?;
    Ok(Value::raw(bytes))
}
