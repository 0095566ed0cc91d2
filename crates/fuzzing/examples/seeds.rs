//! Writes the seeds and the corpus of each target into a folder for each, for libFuzzer.
//!
//! Usage: `cargo run --package fuzzing --example seeds -- fuzz/found`

use std::path::PathBuf;

fn main() {
    let Some(to) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: seeds DIR");
        std::process::exit(2);
    };
    for target in fuzzing::TARGETS {
        let folder = to.join(target.name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let seeds = fuzzing::corpus_of(&target);
        for (n, input) in seeds.iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{n:03}")), input).expect("a file");
        }
        println!("{}: {} inputs", target.name, seeds.len());
    }
}
