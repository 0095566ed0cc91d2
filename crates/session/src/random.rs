//! Random bytes of the operating system.

/// # Panics
/// When the kernel has none.
pub(crate) fn random_bytes<const N: usize>() -> [u8; N] {
    os::random::bytes().expect("a kernel that this program runs on has random bytes")
}
