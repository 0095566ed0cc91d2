//! Prints the cost of a logical read of a cached block in each design: `cargo run --release -p buffer_cache --example
//! read_cost`.

#[path = "../tests/common/mod.rs"]
mod common;
use buffer_cache::GetKind;
use common::*;

fn main() {
    const READS: u64 = 2_000_000;
    for design in DESIGNS {
        let db = database(design, 512);
        let p = testing::attach(db.all, "bench");
        let at = loose_blocks(64);
        for a in &at {
            db.cache.in_group(&p, &scn, &mut |g| make_block(g, *a, 1)).expect("a block");
        }
        for kind in [GetKind::Consistent, GetKind::Examination] {
            let (start, mut sum) = (os::clock::now_ns(), 0u64);
            for i in 0..READS {
                let a = at[(i % 64) as usize];
                sum += db.cache.read(&p, a, kind, &mut |v| v.u64(VALUE_AT)).expect("a cached block");
            }
            let each = (os::clock::now_ns() - start) as f64 / READS as f64;
            assert_eq!(sum, READS);
            println!("{design:?} {kind:?}: {each:.1} ns");
        }
    }
}
