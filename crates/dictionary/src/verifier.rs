//! Password verifiers, stored instead of passwords (D6).
//!
//! SPARE4 contains `T:` and the hexadecimal digits of 64 bytes and a 16-byte salt, as in Oracle's 12C verifier. If the
//! database makes or was given one, an 11G verifier precedes it: `S:` and the digits of 20 bytes and a 10-byte salt. A
//! logon over the network proves the password against one of them. Databases created before the network was supported
//! have another hash in the format of the 12C verifier. Their passwords are accepted where the client sends the
//! password itself, on the local socket, until they are set again.

use net::oracle::o5logon::{self, Verifier as Stored};
use pbkdf2::pbkdf2_hmac;
use sha2::Sha512;

/// Bytes of the salt of a new password.
pub const SALT_BYTES: usize = o5logon::SALT_LEN;
/// Digits of the verifiers that Oracle stores in addition, which are ignored here: the HTTP digest and the 10G
/// verifier.
const DIGEST_DIGITS: usize = 32;
const VERIFIER_10G_DIGITS: usize = 16;

/// Salted hashes of a password, at least one. The password itself is never stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    sha512: Option<Stored>,
    sha1: Option<Stored>,
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Verifier(..)")
    }
}

impl Verifier {
    /// The 12C verifier of `password` with a random salt from the caller.
    pub fn new(password: &str, salt: [u8; SALT_BYTES]) -> Verifier {
        let key = o5logon::verifier(&o5logon::speedy_key(password.as_bytes(), &salt), &salt);
        Verifier { sha512: Some(Stored::Sha512 { key, salt }), sha1: None }
    }

    /// Adds an 11G verifier, with the first ten bytes of `salt` as its salt.
    pub fn with_11g(self, password: &str, salt: [u8; SALT_BYTES]) -> Verifier {
        let salt: [u8; o5logon::SHA1_SALT_LEN] = std::array::from_fn(|i| salt[i]);
        let key = o5logon::sha1_verifier(password.as_bytes(), &salt);
        Verifier { sha1: Some(Stored::Sha1 { key, salt }), ..self }
    }

    /// A verifier without a known password, with which a logon as an unknown user is asked for a proof.
    pub fn nobody(stored: Stored) -> Verifier {
        match stored {
            Stored::Sha512 { .. } => Verifier { sha512: Some(stored), sha1: None },
            Stored::Sha1 { .. } => Verifier { sha1: Some(stored), sha512: None },
        }
    }

    /// The verifiers that a logon may use: `None` for an account with only an 11G verifier, unless 11G is accepted.
    pub fn accepted(&self, accepts_11g: bool) -> Option<Verifier> {
        (accepts_11g || self.sha512.is_some()).then(|| self.clone())
    }

    /// True when `password` is the password of this verifier. Every wrong password takes the same time with
    /// every verifier.
    pub fn matches(&self, password: &str) -> bool {
        let nobodys = Stored::Sha512 { key: [0; o5logon::KEY_LEN], salt: [0; SALT_BYTES] };
        let sha512 = self.sha512.as_ref().unwrap_or(&nobodys);
        let is_sha512 = sha512.is_of(password.as_bytes()) || is_earlier(sha512, password);
        match (&self.sha512, &self.sha1) {
            (None, Some(sha1)) => sha1.is_of(password.as_bytes()),
            _ => is_sha512,
        }
    }

    /// The verifier against which a password is proved: the 12C verifier if there is one.
    pub fn stored(&self) -> Option<&Stored> {
        self.sha512.as_ref().or(self.sha1.as_ref())
    }

    /// `S:` and `T:`, each with its bytes in hexadecimal, as in SPARE4 of USER$.
    pub fn to_text(&self) -> String {
        let part = |stored: &Stored| match stored {
            Stored::Sha512 { key, salt } => format!("T:{}{}", o5logon::to_hex(key), o5logon::to_hex(salt)),
            Stored::Sha1 { key, salt } => format!("S:{}{}", o5logon::to_hex(key), o5logon::to_hex(salt)),
        };
        self.sha1.iter().chain(&self.sha512).map(part).collect::<Vec<_>>().join(";")
    }

    /// The text for the password history: the strongest verifier only.
    pub fn to_history(&self) -> String {
        let sha1 = self.sha1.clone().filter(|_| self.sha512.is_none());
        Verifier { sha1, sha512: self.sha512.clone() }.to_text()
    }

    /// Parses the text of [`Verifier::to_text`], with or without Oracle's additional verifiers; `None` for anything
    /// else.
    pub fn from_text(text: &str) -> Option<Verifier> {
        let mut found = Verifier { sha512: None, sha1: None };
        for part in text.split(';') {
            match part.split_at_checked(2) {
                Some(("T:", digits)) if found.sha512.is_none() => {
                    let (key, salt) = bytes_of(digits)?;
                    found.sha512 = Some(Stored::Sha512 { key, salt });
                }
                Some(("S:", digits)) if found.sha1.is_none() => {
                    let (key, salt) = bytes_of(digits)?;
                    found.sha1 = Some(Stored::Sha1 { key, salt });
                }
                Some(("H:", digits)) if is_hex(digits, DIGEST_DIGITS) => {}
                _ if is_hex(part, VERIFIER_10G_DIGITS) => {}
                _ => return None,
            }
        }
        found.stored().is_some().then_some(found)
    }
}

fn is_hex(digits: &str, len: usize) -> bool {
    digits.len() == len && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The two parts of the hexadecimal digits.
fn bytes_of<const K: usize, const S: usize>(digits: &str) -> Option<([u8; K], [u8; S])> {
    if !is_hex(digits, 2 * (K + S)) {
        return None;
    }
    let byte = |i: usize| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap_or(0);
    Some((std::array::from_fn(byte), std::array::from_fn(|i| byte(K + i))))
}

/// True when the password matches the hash of earlier databases.
fn is_earlier(stored: &Stored, password: &str) -> bool {
    let Stored::Sha512 { key, salt } = stored else { return false };
    o5logon::are_equal(&earlier(password, salt), key)
}

/// The hash of earlier databases.
fn earlier(password: &str, salt: &[u8]) -> [u8; o5logon::KEY_LEN] {
    let mut key = [0; o5logon::KEY_LEN];
    pbkdf2_hmac::<Sha512>(password.as_bytes(), salt, o5logon::ROUNDS, &mut key);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_knows_its_password_only() {
        let newer = Verifier::new("tiger", [7; SALT_BYTES]);
        let both = newer.clone().with_11g("tiger", [1; SALT_BYTES]);
        let older = Verifier { sha512: None, ..both.clone() };
        for verifier in [&newer, &both, &older] {
            assert!(verifier.matches("tiger"));
            assert!(!verifier.matches("TIGER") && !verifier.matches(""));
            assert!(Verifier::from_text(&verifier.to_text()).as_ref() == Some(verifier));
        }
        assert!(Verifier::new("tiger", [8; SALT_BYTES]) != newer);
        assert_eq!([&newer, &both, &older].map(|v| v.stored().map(Stored::kind)), [0x4815, 0x4815, 0x1b25].map(Some));
        assert_eq!([&newer, &both, &older].map(|v| v.accepted(false).is_some()), [true, true, false]);
        assert_eq!([newer.to_history(), both.to_history()], [newer.to_text(), newer.to_text()]);
        assert_eq!(older.to_history(), older.to_text());
    }

    #[test]
    fn verifiers_are_read_as_oracle_writes_them() {
        let sha1 = "S:60F3A1EC1A9FAF1D0D03C0B33D06A5F1A4F2C8D600112233445566778899";
        let sha512 = format!("T:{}", "AB".repeat(80));
        let text = |text: &str| Verifier::from_text(text).map(|v| v.to_text());
        assert_eq!(text(sha1).as_deref(), Some(sha1));
        let both = format!("{sha1};{sha512}");
        assert_eq!(text(&both), Some(both.clone()));
        let all = format!("{sha1};H:{};{sha512};{}", "0".repeat(32), "F".repeat(16));
        assert_eq!(text(&all), Some(both.clone()));
        let bad = ["", "T:00", "S:", "F894844C34402B67", "T", "é", &format!("{both};"), &format!("{sha1};{sha1}")];
        for bad in bad.iter().chain([&sha1.replace('F', "g").as_str(), &&sha512[..161]]) {
            assert_eq!(text(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_verifier_of_an_earlier_database_knows_its_password_too() {
        let salt = [9; SALT_BYTES];
        let verifier = Verifier::nobody(Stored::Sha512 { key: earlier("tiger", &salt), salt });
        assert!(verifier != Verifier::new("tiger", salt));
        assert!(verifier.matches("tiger") && !verifier.matches("lion"));
    }
}
