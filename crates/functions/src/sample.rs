//! SAMPLE: whether a row belongs to a sample, by its address.
//!
//! A condition on the address gives the same sample whatever the access path, and a seed gives it again. Rejected: a
//! random number for each row, which a plan may ask for more than once.

use crate::FnCtx;
use crate::args::null;
use types::{Result, Value, codec};

/// Bits of a hash that are compared with the percentage.
const BITS: u32 = 53;

pub(crate) fn sample(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let number = |v: &Value| v.to_number(ctx.nls).map(|n| n.map_or(0.0, |n| n.to_f64()));
    let (percent, blocks) = (number(&args[1])?, number(&args[2])? != 0.0);
    let seed = match args.get(3) {
        Some(seed) => number(seed)? as u64,
        None => {
            let now = ctx.clock.now();
            now.instant() as u64 ^ u64::from(now.nanos) << 32
        }
    };
    let hash = match &args[0] {
        Value::Null => return null(out),
        Value::Rowid(rowid) => {
            let slot = if blocks { 0 } else { u64::from(rowid.slot) + 1 };
            let block = u64::from(rowid.obj.0) << 32 | u64::from(rowid.rdba.0);
            mixed(mixed(mixed(seed) ^ block) ^ slot)
        }
        address => {
            let mut bytes = Vec::new();
            codec::encode(address, &mut bytes);
            bytes.iter().fold(mixed(seed), |hash, byte| mixed(hash ^ u64::from(*byte)))
        }
    };
    let place = (hash >> (64 - BITS)) as f64 / (1u64 << BITS) as f64;
    *out = Value::Boolean(place * 100.0 < percent);
    Ok(())
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
fn mixed(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}
