//! Password verifiers: what the dictionary stores instead of a password.
//!
//! SPARE4 has `T:` and the hexadecimal digits of 64 bytes and a salt, as Oracle's 12C verifier has them; a logon over
//! the network proves the password against them without sending it. Databases made before the network was served have
//! another hash in the same shape: its passwords go on being accepted where they are sent, on the local socket, until
//! they are set anew.

use net::oracle::o5logon;
use pbkdf2::pbkdf2_hmac;
use sha2::Sha512;

/// Bytes of salt.
pub const SALT_BYTES: usize = o5logon::SALT_LEN;
/// Bytes of the hash.
pub const KEY_BYTES: usize = o5logon::KEY_LEN;

/// A salted hash of a password. The password itself is nowhere stored.
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
        let key = o5logon::verifier(&o5logon::speedy_key(password.as_bytes(), &salt), &salt);
        Verifier { salt, key }
    }

    /// A verifier that no password is known to have, to spend the same time on an unknown user.
    pub fn nobody(salt: [u8; SALT_BYTES], key: [u8; KEY_BYTES]) -> Verifier {
        Verifier { salt, key }
    }

    /// Whether `password` is the one this was made from. Every password that is not takes the same time.
    pub fn matches(&self, password: &str) -> bool {
        o5logon::are_equal(&Verifier::new(password, self.salt).key, &self.key)
            || o5logon::are_equal(&earlier(password, &self.salt), &self.key)
    }

    /// The salt.
    pub fn salt(&self) -> [u8; SALT_BYTES] {
        self.salt
    }

    /// The hash, for a proof over the network.
    pub fn key(&self) -> [u8; KEY_BYTES] {
        self.key
    }

    /// `T:` and the bytes in hexadecimal, as SPARE4 of USER$ has it.
    pub fn to_text(&self) -> String {
        format!("T:{}{}", o5logon::to_hex(&self.key), o5logon::to_hex(&self.salt))
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

/// The hash that databases had before.
fn earlier(password: &str, salt: &[u8]) -> [u8; KEY_BYTES] {
    let mut key = [0; KEY_BYTES];
    pbkdf2_hmac::<Sha512>(password.as_bytes(), salt, o5logon::ROUNDS, &mut key);
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

    #[test]
    fn a_verifier_of_an_earlier_database_knows_its_password_too() {
        let salt = [9; SALT_BYTES];
        let verifier = Verifier { salt, key: earlier("tiger", &salt) };
        assert!(verifier != Verifier::new("tiger", salt));
        assert!(verifier.matches("tiger") && !verifier.matches("lion"));
    }
}
