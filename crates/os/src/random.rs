//! Random bytes from the kernel.

use crate::{OsError, OsResult};

/// Fills `bytes` with unpredictable bytes.
///
/// # Errors
/// The kernel has none available.
pub fn fill(bytes: &mut [u8]) -> OsResult<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        let rest = &mut bytes[filled..];
        // SAFETY: `rest` may be written for its length.
        let n = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        match usize::try_from(n) {
            Ok(n) => filled += n,
            Err(_) => {
                let error = OsError::last("getrandom", "");
                if !error.is_interrupted() {
                    return Err(error);
                }
            }
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
