//! Packs a folder of inputs, such as the output of `cargo fuzz cmin`, into the corpus of a target.
//!
//! Usage: `cargo run --package fuzzing --example pack -- TARGET FOLDER`

use std::path::Path;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, folder] = &words[..] else {
        eprintln!("usage: pack TARGET FOLDER");
        std::process::exit(2);
    };
    let name = fuzzing::target(name).name;
    let entries = std::fs::read_dir(Path::new(folder)).expect("a folder");
    let inputs: Vec<Vec<u8>> = entries.map(|e| std::fs::read(e.expect("an entry").path()).expect("a file")).collect();
    let packed = fuzzing::packed(&inputs);
    let to = fuzzing::corpora().join(name).with_extension("bin");
    std::fs::create_dir_all(fuzzing::corpora()).expect("a folder");
    std::fs::write(&to, &packed).expect("a file");
    println!("{name}: {} inputs, {} bytes", fuzzing::unpacked(&packed).len(), packed.len());
}
