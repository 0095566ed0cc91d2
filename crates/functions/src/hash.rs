//! ORA_HASH and STANDARD_HASH.

use crate::FnCtx;
use crate::args::{give, null, number, out_of_range};
use crate::text::text;
use types::{Date, Number, Ora, Result, Value, codec};

fn bytes_of(arg: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    codec::encode(arg, &mut bytes);
    bytes
}

/// ORA_HASH(value, greatest bucket, seed), over the bytes that DUMP shows; a date has the form of function results
/// (Typ=13).
pub(crate) fn ora_hash(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let mut given = [u32::MAX, 0];
    for (place, arg) in given.iter_mut().zip(&args[1..]) {
        let Some(n) = number(ctx, arg)? else { return null(out) };
        let cut = n.trunc(0);
        *place = cut.as_i64().and_then(|n| u32::try_from(n).ok()).ok_or_else(|| out_of_range(&n))?;
    }
    let [bucket, seed] = given;
    if args[0].is_null() {
        return give(out, Number::ZERO);
    }
    let hash = match &args[0] {
        Value::Date(date) => mix(&date_bytes(date), seed),
        value => mix(&bytes_of(value), seed),
    };
    give(out, Number::from_u64(u64::from(hash) % (u64::from(bucket) + 1)))
}

/// A date as DUMP shows the result of a function: year in little-endian order, five bytes for the other fields, a zero.
fn date_bytes(date: &Date) -> [u8; 8] {
    let fields = date.fields();
    let [low, high, ..] = fields.year.to_le_bytes();
    let rest = [fields.month, fields.day, fields.hour, fields.minute, fields.second].map(|n| n as u8);
    let [month, day, hour, minute, second] = rest;
    [low, high, month, day, hour, minute, second, 0]
}

/// Bob Jenkins' hash in Oracle's variant: four words of state, sixteen bytes a round, the seed in the fourth word. The
/// last round takes the remaining bytes, with their number in the low byte of the fourth word. This is the form in
/// Oracle's sharding library (kgghash); the values in the tests are published results of a database.
fn mix(bytes: &[u8], seed: u32) -> u32 {
    let (rounds, rest) = bytes.as_chunks::<16>();
    let mut last = [0; 16];
    last[..rest.len()].copy_from_slice(rest);
    let mut state = [0x9e37_79b9, 0x9e37_79b9, 0x9e37_79b9, seed];
    for round in rounds {
        state = mixed(state, words(round));
    }
    let [x, y, z, w] = words(&last);
    mixed(state, [x, y, z, (w << 8).wrapping_add(bytes.len() as u32)])[3]
}

fn words(bytes: &[u8; 16]) -> [u32; 4] {
    std::array::from_fn(|n| u32::from_le_bytes(std::array::from_fn(|i| bytes[4 * n + i])))
}

fn mixed(state: [u32; 4], words: [u32; 4]) -> [u32; 4] {
    /// Adds each of the two words to the other.
    fn step(x: &mut u32, y: &mut u32) {
        *x = x.wrapping_add(*y);
        *y = y.wrapping_add(*x);
    }
    let [mut a, mut b, mut c, mut d]: [u32; 4] = std::array::from_fn(|n| state[n].wrapping_add(words[n]));
    step(&mut a, &mut d);
    a ^= a >> 7;
    step(&mut b, &mut a);
    b ^= b << 13;
    step(&mut c, &mut b);
    c ^= c >> 17;
    step(&mut d, &mut c);
    d ^= d << 9;
    step(&mut a, &mut d);
    a ^= a >> 3;
    step(&mut b, &mut a);
    b ^= b << 7;
    step(&mut c, &mut b);
    c ^= c >> 15;
    step(&mut d, &mut c);
    d ^= d << 11;
    [a, b, c, d]
}

/// STANDARD_HASH(value, method); the default method is SHA1.
///
/// # Errors
/// ORA-00904 for an unknown method, as in Oracle.
pub(crate) fn standard_hash(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let method = match args.get(1) {
        Some(arg) => text(ctx, arg)?.map_or_else(String::new, |m| m.to_ascii_uppercase()),
        None => "SHA1".to_owned(),
    };
    let bytes = bytes_of(&args[0]);
    let digest = match method.as_str() {
        "SHA1" => sha1(&bytes).to_vec(),
        "MD5" => md5(&bytes),
        "SHA256" => sha2_digest::<sha2::Sha256>(&bytes),
        "SHA384" => sha2_digest::<sha2::Sha384>(&bytes),
        "SHA512" => sha2_digest::<sha2::Sha512>(&bytes),
        _ => return Err(Ora::with(904, &[&format_args!("\"{method}\"")])),
    };
    *out = Value::Raw(digest);
    Ok(())
}

fn md5(bytes: &[u8]) -> Vec<u8> {
    use md5::Digest;
    md5::Md5::digest(bytes).to_vec()
}

fn sha2_digest<D: sha2::Digest>(bytes: &[u8]) -> Vec<u8> {
    D::digest(bytes).to_vec()
}

/// SHA-1 (FIPS 180-4).
fn sha1(bytes: &[u8]) -> [u8; 20] {
    let mut message = bytes.to_vec();
    message.push(0x80);
    while message.len() % 64 != 56 {
        message.push(0);
    }
    message.extend_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
    let mut h: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    for block in message.chunks_exact(64) {
        let mut w = [0u32; 80];
        for (word, chunk) in w.iter_mut().zip(block.chunks_exact(4)) {
            *word = u32::from_be_bytes(chunk.try_into().expect("a chunk of four"));
        }
        for i in 16..80 {
            w[i] = (w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16]).rotate_left(1);
        }
        let [mut a, mut b, mut c, mut d, mut e] = h;
        for (i, word) in w.iter().enumerate() {
            let (f, k) = match i {
                0..20 => ((b & c) | (!b & d), 0x5a82_7999),
                20..40 => (b ^ c ^ d, 0x6ed9_eba1),
                40..60 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6),
            };
            let next = a.rotate_left(5).wrapping_add(f).wrapping_add(e).wrapping_add(k).wrapping_add(*word);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
        }
        for (sum, x) in h.iter_mut().zip([a, b, c, d, e]) {
            *sum = sum.wrapping_add(x);
        }
    }
    let mut digest = [0; 20];
    for (chunk, word) in digest.chunks_exact_mut(4).zip(h) {
        chunk.copy_from_slice(&word.to_be_bytes());
    }
    digest
}
