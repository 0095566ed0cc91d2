//! The cost of the checksum of a block: `checksum VERSION BYTES COUNT`, with the version of the block's format.
//!
//! Under callgrind, the difference of two counts gives the instructions of one checksum.

#![forbid(unsafe_code)]

use block::BlockKind;
use std::hint::black_box;
use types::{ObjectId, Rdba};

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let [version, bytes, count] = numbers[..] else {
        eprintln!("usage: checksum VERSION BYTES COUNT");
        std::process::exit(2);
    };
    let mut image = vec![0; bytes];
    block::format(&mut image, BlockKind::Heap, Rdba(77), ObjectId(5), Rdba(76));
    image[1] = version as u8;
    let began = std::time::Instant::now();
    let sum = (0..count).fold(0, |sum, _| sum ^ block::checksum(black_box(&image)));
    println!("{:.1} ns a checksum ({:x})", began.elapsed().as_nanos() as f64 / count as f64, black_box(sum));
}
