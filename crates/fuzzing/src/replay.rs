//! The runner of `./check`: the corpus, and seeded changes of it. The same seed gives the same inputs.

use crate::{Target, words};
use fastrand::Rng;
use std::path::{Path, PathBuf};

/// The folder of the corpora.
pub fn corpora() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

/// The initial inputs of a target: those of the encoders, those of `fuzz/corpus/NAME.bin`, which a search kept for
/// their coverage, and the files of `fuzz/corpus/NAME`, in the order of their names.
///
/// # Panics
/// When a file of the corpus cannot be read.
pub fn corpus_of(target: &Target) -> Vec<Vec<u8>> {
    let mut all = (target.seeds)();
    if let Ok(packed) = std::fs::read(corpora().join(target.name).with_extension("bin")) {
        all.extend(unpacked(&packed));
    }
    let folder = corpora().join(target.name);
    let mut files: Vec<PathBuf> = match std::fs::read_dir(&folder) {
        Ok(entries) => entries.map(|e| e.expect("an entry").path()).collect(),
        Err(_) => Vec::new(),
    };
    files.sort();
    all.extend(files.iter().map(|f| std::fs::read(f).expect("a file of the corpus")));
    all
}

/// Inputs as one file: for each its length (u32, little-endian) and its bytes, the short ones first.
pub fn packed(inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut sorted: Vec<&Vec<u8>> = inputs.iter().collect();
    sorted.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    sorted.dedup();
    sorted.into_iter().flat_map(|input| (input.len() as u32).to_le_bytes().into_iter().chain(input.clone())).collect()
}

/// The inputs of a packed file.
///
/// # Panics
/// When the file is truncated.
pub fn unpacked(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    while let Some((len, rest)) = bytes.split_first_chunk::<4>() {
        let (input, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize).expect("a whole input");
        all.push(input.to_vec());
        bytes = rest;
    }
    assert!(bytes.is_empty(), "a whole length");
    all
}

fn changed(random: &mut Rng, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = corpus[random.usize(..corpus.len())].clone();
    for _ in 0..random.usize(1..=4) {
        let at = random.usize(..=bytes.len());
        match random.u8(..7) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] = random.u8(..),
            2 if at < bytes.len() => bytes[at] = [0, 1, 0x7f, 0x80, 0xfd, 0xfe, 0xff][random.usize(..7)],
            3 => {
                let more: Vec<u8> = (0..random.usize(..6)).map(|_| random.u8(..)).collect();
                bytes.splice(at..at, more).for_each(drop);
            }
            4 if at < bytes.len() => bytes[at] ^= 1 << random.u8(..8),
            5 => {
                let from = random.usize(..=at);
                bytes.drain(from..at.min(from + 16));
            }
            _ => bytes.extend_from_slice(&corpus[random.usize(..corpus.len())]),
        }
    }
    bytes.truncate(64 << 10);
    bytes
}

/// Runs a target over its corpus and over `changes` changed copies, and returns the number of inputs.
///
/// # Panics
/// When an invariant of the target is violated; the input is printed first.
pub fn replay(target: &Target, seed: u64, changes: usize) -> usize {
    replay_over(target, &corpus_of(target), seed, changes)
}

/// As [`replay`], over this corpus.
///
/// # Panics
/// As [`replay`].
pub fn replay_over(target: &Target, corpus: &[Vec<u8>], seed: u64, changes: usize) -> usize {
    assert!(!corpus.is_empty(), "{} has no corpus", target.name);
    let mut random = Rng::with_seed(seed);
    let made = (0..changes).map(|_| match target.is_text {
        true if random.u8(..8) > 0 => words::changed(&mut random, corpus),
        _ => changed(&mut random, corpus),
    });
    let mut inputs = 0;
    for input in corpus.iter().cloned().chain(made) {
        inputs += 1;
        let told = Told(target, &input);
        (target.run)(&input);
        std::mem::forget(told);
    }
    inputs
}

/// Prints the input when the target panics.
struct Told<'a>(&'a Target, &'a [u8]);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        let shown: String = self.1.iter().flat_map(|b| std::ascii::escape_default(*b)).map(char::from).collect();
        eprintln!("input of {}: b\"{shown}\"", self.0.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_packed_and_unpacked_and_every_corpus_is_whole_and_short() {
        let inputs = [vec![3, 4], vec![], vec![1, 2, 3], vec![3, 4]];
        assert_eq!(unpacked(&packed(&inputs)), [vec![], vec![3, 4], vec![1, 2, 3]]);
        assert!(std::panic::catch_unwind(|| unpacked(&[9, 0, 0, 0, 1])).is_err());
        let mut all = 0;
        for entry in std::fs::read_dir(corpora()).expect("corpora") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().and_then(|n| n.to_str()).expect("a name");
            assert!(crate::TARGETS.iter().any(|t| t.name == name), "{name} is no target");
            if path.is_file() {
                let bytes = std::fs::read(&path).expect("a corpus");
                assert_eq!(packed(&unpacked(&bytes)), bytes, "{name} is in another order");
                assert!(bytes.len() <= 200_000, "{name} has {} bytes", bytes.len());
                all += bytes.len();
            }
        }
        assert!((1..=2_000_000).contains(&all), "{all} bytes");
    }

    #[test]
    fn the_same_seed_gives_the_same_inputs_and_a_broken_invariant_is_found() {
        let corpus = [b"select 1 from dual".to_vec(), vec![0, 1, 2, 3]];
        let made = |seed| -> Vec<Vec<u8>> {
            let mut random = Rng::with_seed(seed);
            (0..200)
                .map(|n| if n % 2 == 0 { changed(&mut random, &corpus) } else { words::changed(&mut random, &corpus) })
                .collect()
        };
        assert_eq!(made(1), made(1));
        assert_ne!(made(1), made(2));
        let wrong = Target {
            name: "wrong",
            run: |bytes| assert!(!bytes.contains(&0xff), "found"),
            seeds: || vec![vec![0; 8]],
            is_text: false,
        };
        assert!(std::panic::catch_unwind(|| replay(&wrong, 1, 2_000)).is_err());
    }
}
