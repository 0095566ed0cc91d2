//! Random bytes from the kernel.

use crate::{OsError, OsResult};

/// Fills `bytes` with unpredictable bytes.
///
/// # Errors
/// The kernel has none available.
pub fn fill(bytes: &mut [u8]) -> OsResult<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(n) => filled += n,
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(OsError::of("getrandom", "", e)),
        }
    }
    Ok(())
}

/// `N` unpredictable bytes.
///
/// # Errors
/// As [`fill`].
pub fn bytes<const N: usize>() -> OsResult<[u8; N]> {
    let mut bytes = [0; N];
    fill(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn bytes_are_not_the_same_twice() {
        let (a, b) = (super::bytes::<32>().unwrap(), super::bytes::<32>().unwrap());
        assert!(a != b && a != [0; 32]);
    }
}
