//! Numbers for LOBs in segments.

use types::{LOB_ID_BYTES, Ora, Result};

/// The numbers that a session gives to its LOBs: random bytes of its own, followed by a count. A segment that already
/// has the number refuses it, and the session takes the next one.
#[derive(Default)]
pub struct LobIds {
    prefix: Option<[u8; 8]>,
    next: u32,
}

impl LobIds {
    /// The next number.
    ///
    /// # Errors
    /// ORA-00600 when the operating system has no random bytes.
    pub fn take(&mut self) -> Result<[u8; LOB_ID_BYTES]> {
        let prefix = match self.prefix {
            Some(prefix) if self.next < u32::MAX => prefix,
            _ => {
                let prefix = os::random::bytes().map_err(|_| Ora::internal("random bytes"))?;
                (self.prefix, self.next) = (Some(prefix), 0);
                prefix
            }
        };
        self.next += 1;
        let mut id = [0; LOB_ID_BYTES];
        id[..8].copy_from_slice(&prefix);
        id[8..].copy_from_slice(&self.next.to_be_bytes());
        Ok(id)
    }
}
