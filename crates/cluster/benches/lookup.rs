//! The hottest path of the product: a hash-cluster lookup that copies a row of 200 bytes.

#[path = "../../heap/tests/common/mod.rs"]
mod common;

use buffer_cache::{ChainDesign, GetKind};
use cluster::{Clusters, Geometry, RowSet};
use common::{Shape, database_of};
use datafile::tablespace;
use std::hint::black_box;
use std::time::Instant;
use testing::Random;
use txn::{NoHook, Txn};
use types::ObjectId;
use types::row::RowWriter;

const ROWS: u32 = 10_000;

fn key(n: u32) -> [u8; 4] {
    [0xC3, (n / 10_000) as u8 + 1, (n / 100 % 100) as u8 + 1, (n % 100) as u8 + 1]
}

fn measure(design: ChainDesign) {
    let shape = Shape { design, buffers: 4000, more_layers: Clusters::register_apply, ..Shape::default() };
    let db = database_of(&shape, 8192);
    let p = db.attach();
    let clusters = Clusters::new(&db.heap);
    let g = Geometry::new(15_000, 230, 8192, 2).expect("a geometry");
    let header = clusters.create_segment(&p, tablespace::USERS, ObjectId(90), &g, 2).expect("room");
    let c = clusters.describe(&p, ObjectId(91), ObjectId(90), header, &[0]).expect("a cluster");
    let (mut t, mut random) = (Txn::new(), Random::new(9));
    for n in 1..=ROWS {
        let mut row = Vec::new();
        let mut w = RowWriter::new(&mut row, 2);
        w.bytes(&key(n));
        w.bytes(&random.bytes(200));
        clusters.insert(&p, &mut t, &c, &row).expect("room");
    }
    db.txns.commit(&p, &mut t, &NoHook).expect("a commit");
    let s = db.now(&p, &t);
    let keys: Vec<[u8; 6]> = (1..=ROWS)
        .map(|n| {
            let k = key(n);
            [1, 4, k[0], k[1], k[2], k[3]]
        })
        .collect();
    let mut rows = RowSet::new();
    // The first round cleans the blocks out.
    for round in 0..6 {
        let begin = Instant::now();
        for key in &keys {
            clusters.lookup(&p, &s, &c, key, &mut rows).expect("a row");
            assert_eq!(rows.len(), 1);
            black_box(rows.get(0).1);
        }
        let ns = begin.elapsed().as_nanos() as f64 / f64::from(ROWS);
        if round > 0 {
            println!("{design:?}: lookup {ns:.1} ns");
        }
    }
    for round in 0..5 {
        let begin = Instant::now();
        for _ in 0..1_000_000 {
            clusters.lookup(&p, &s, &c, black_box(&keys[77]), &mut rows).expect("a row");
        }
        println!("{design:?}: lookup of one key, round {round}: {:.1} ns", begin.elapsed().as_nanos() as f64 / 1e6);
    }
    let at = rows.get(0).0.rdba;
    let begin = Instant::now();
    for _ in 0..1_000_000 {
        black_box(db.cache.read(&p, at, GetKind::Examination, &mut |v| v.rba()).expect("a block"));
    }
    println!("{design:?}: logical read of one block {:.1} ns", begin.elapsed().as_nanos() as f64 / 1e6);
}

fn main() {
    for design in [ChainDesign::Versioned, ChainDesign::Shared, ChainDesign::Exclusive] {
        measure(design);
    }
}
