//! Password verifiers: what the dictionary stores instead of a password.

use pbkdf2::pbkdf2_hmac;
use sha2::Sha512;

/// Bytes of salt.
pub const SALT_BYTES: usize = 16;
/// PBKDF2 rounds, as Oracle's 12c verifier has them.
pub const ROUNDS: u32 = 4096;
const KEY_BYTES: usize = 64;

/// A salted PBKDF2-HMAC-SHA512 of a password. The password itself is nowhere stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    salt: [u8; SALT_BYTES],
    key: [u8; KEY_BYTES],
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Verifier(..)")
    }
}

impl Verifier {
    /// The verifier of `password` with a salt the caller drew at random.
    pub fn new(password: &str, salt: [u8; SALT_BYTES]) -> Verifier {
        Verifier { salt, key: derive(password, &salt) }
    }

    /// A verifier that no password has, to spend the same time on an unknown user.
    pub(crate) fn nobody() -> Verifier {
        Verifier { salt: [0; SALT_BYTES], key: [0; KEY_BYTES] }
    }

    /// Whether `password` is the one this was made from. Takes the same time whatever the answer.
    pub fn matches(&self, password: &str) -> bool {
        let key = derive(password, &self.salt);
        key.iter().zip(&self.key).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
    }

    /// `T:` and the bytes in hexadecimal, as SPARE4 of USER$ has it.
    pub fn to_text(&self) -> String {
        let mut text = String::from("T:");
        for byte in self.key.iter().chain(&self.salt) {
            text.push_str(&format!("{byte:02X}"));
        }
        text
    }

    /// Reads [`Verifier::to_text`]; `None` for anything else.
    pub fn from_text(text: &str) -> Option<Verifier> {
        let digits = text.strip_prefix("T:").filter(|digits| digits.is_ascii())?;
        if digits.len() != 2 * (KEY_BYTES + SALT_BYTES) {
            return None;
        }
        let mut bytes = [0u8; KEY_BYTES + SALT_BYTES];
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).ok()?;
        }
        let (key, salt) = bytes.split_at(KEY_BYTES);
        Some(Verifier { salt: salt.try_into().ok()?, key: key.try_into().ok()? })
    }
}

fn derive(password: &str, salt: &[u8]) -> [u8; KEY_BYTES] {
    let mut key = [0; KEY_BYTES];
    pbkdf2_hmac::<Sha512>(password.as_bytes(), salt, ROUNDS, &mut key);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_knows_its_password_only() {
        let verifier = Verifier::new("tiger", [7; SALT_BYTES]);
        assert!(verifier.matches("tiger"));
        assert!(!verifier.matches("TIGER") && !verifier.matches(""));
        let again = Verifier::from_text(&verifier.to_text()).expect("its own text");
        assert!(again == verifier);
        assert!(Verifier::from_text("T:00").is_none() && Verifier::from_text("").is_none());
        assert!(Verifier::new("tiger", [8; SALT_BYTES]) != verifier);
    }
}
