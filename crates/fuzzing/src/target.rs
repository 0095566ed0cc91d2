//! A fuzz target.

/// A function over bytes and its initial inputs.
#[derive(Clone, Copy)]
pub struct Target {
    /// The name of the libFuzzer program and of the folder of its corpus.
    pub name: &'static str,
    /// Panics when an invariant is violated.
    pub run: fn(&[u8]),
    /// Valid inputs, made by the encoders.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Inputs are texts, changed by words.
    pub is_text: bool,
}
