//! O5LOGON: the proof of a password.
//!
//! The server keeps a *verifier*: `T = SHA-512(K ‖ salt)`, where `K = PBKDF2(password, salt ‖
//! "AUTH_PBKDF2_SPEEDY_KEY")`. Each side draws half of a session key and sends it encrypted with the first half of `T`.
//! Both derive the key of the conversation from the halves, and the client sends `K` encrypted with that key. So no
//! password crosses the wire, the bytes sent cannot be used again, and the server hashes once instead of 4096 times.
//! Values that are as good as a password are wiped when they are dropped.
//!
//! This is the form of Oracle 12C. In the 11G form the verifier is `SHA-1(password ‖ salt)`, whose 20 bytes and four
//! zeros encrypt the halves; the password itself is sent encrypted with the key of the conversation. Neither verifier
//! is enough to log on. A guess at a password costs one round of SHA-1, so an 11G verifier, or a recorded logon with
//! it, can be searched thousands of times as fast.

use aes::cipher::generic_array::GenericArray;
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use aes::{Aes192, Aes256};
use pbkdf2::pbkdf2_hmac;
use sha1::Sha1;
use sha2::{Digest, Sha512};
use zeroize::{Zeroize, Zeroizing};

/// Bytes of a verifier's salt.
pub const SALT_LEN: usize = 16;
/// Bytes of `K` and of `T`.
pub const KEY_LEN: usize = 64;
/// Rounds of PBKDF2 that make `K`.
pub const ROUNDS: u32 = 4096;
/// Rounds of PBKDF2 that combine the halves of the session key.
pub const COMBINE_ROUNDS: u32 = 3;
/// Bytes of the salt and of the hash of an 11G verifier.
pub const SHA1_SALT_LEN: usize = 10;
pub const SHA1_LEN: usize = 20;
/// The types of verifiers, in the flags of `AUTH_VFR_DATA`.
pub const VERIFIER_12C: u32 = 0x4815;
pub const VERIFIER_11G: u32 = 0x1b25;
/// A second number of the 11G type, which some servers use for verifiers made by another release.
const VERIFIER_11G_TOO: u32 = 0xb152;

const BLOCK: usize = 16;
/// Bytes of each half of the session key.
const HALF_LEN: usize = 32;
/// Largest number of bytes of a new password.
const PASSWORD_MAX: usize = 1024;
/// The longest accepted ciphertext: one block more than the longest new password, and the blocks before and after it.
const CIPHERTEXT_MAX: usize = BLOCK + PASSWORD_MAX + 2 * BLOCK;
const PURPOSE: &[u8] = b"AUTH_PBKDF2_SPEEDY_KEY";
const SERVER_TO_CLIENT: &[u8] = b"SERVER_TO_CLIENT";

/// An AES key: 32 bytes, or 24 with an 11G verifier.
type Key = Zeroizing<Vec<u8>>;
/// Bytes of the key of the conversation with an 11G verifier.
const SHA1_KEY_LEN: usize = 24;

/// `K` of a password.
pub fn speedy_key(password: &[u8], salt: &[u8; SALT_LEN]) -> Zeroizing<[u8; KEY_LEN]> {
    let mut key = Zeroizing::new([0; KEY_LEN]);
    pbkdf2_hmac::<Sha512>(password, &[&salt[..], PURPOSE].concat(), ROUNDS, &mut key[..]);
    key
}

/// `T` of `K`.
pub fn verifier(speedy_key: &[u8; KEY_LEN], salt: &[u8; SALT_LEN]) -> [u8; KEY_LEN] {
    Sha512::new().chain_update(speedy_key).chain_update(salt).finalize().into()
}

/// `S` of a password: the hash of an 11G verifier.
pub fn sha1_verifier(password: &[u8], salt: &[u8; SHA1_SALT_LEN]) -> [u8; SHA1_LEN] {
    Sha1::new().chain_update(password).chain_update(salt).finalize().into()
}

/// Whether two values are equal, in constant time.
pub fn are_equal<const N: usize>(a: &[u8; N], b: &[u8; N]) -> bool {
    a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

/// The stored verifier of a password.
#[derive(Clone, PartialEq, Eq)]
pub enum Verifier {
    /// That of Oracle 12C.
    Sha512 { key: [u8; KEY_LEN], salt: [u8; SALT_LEN] },
    /// That of Oracle 11G.
    Sha1 { key: [u8; SHA1_LEN], salt: [u8; SHA1_SALT_LEN] },
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Verifier(..)")
    }
}

impl Drop for Verifier {
    fn drop(&mut self) {
        match self {
            Verifier::Sha512 { key, .. } => key.zeroize(),
            Verifier::Sha1 { key, .. } => key.zeroize(),
        }
    }
}

impl Verifier {
    /// The number of its type, in the flags of `AUTH_VFR_DATA`.
    pub fn kind(&self) -> u32 {
        match self {
            Verifier::Sha512 { .. } => VERIFIER_12C,
            Verifier::Sha1 { .. } => VERIFIER_11G,
        }
    }

    /// Whether the verifier was made from this password.
    pub fn is_of(&self, password: &[u8]) -> bool {
        match self {
            Verifier::Sha512 { key, salt } => are_equal(&verifier(&speedy_key(password, salt), salt), key),
            Verifier::Sha1 { key, salt } => are_equal(&sha1_verifier(password, salt), key),
        }
    }

    /// Bytes of the keys that are derived with it.
    fn key_len(&self) -> usize {
        match self {
            Verifier::Sha512 { .. } => HALF_LEN,
            Verifier::Sha1 { .. } => SHA1_KEY_LEN,
        }
    }

    /// The key that encrypts the halves.
    fn cipher_key(&self) -> Key {
        let mut bytes = Zeroizing::new(vec![0; self.key_len()]);
        match self {
            Verifier::Sha512 { key, .. } => bytes.copy_from_slice(&key[..HALF_LEN]),
            Verifier::Sha1 { key, .. } => bytes[..SHA1_LEN].copy_from_slice(key),
        }
        bytes
    }
}

/// The server's side of one logon.
pub struct Challenge {
    verifier: Verifier,
    /// The server's half of the session key.
    half: [u8; HALF_LEN],
    combine: [u8; 16],
}

impl Drop for Challenge {
    fn drop(&mut self) {
        self.half.zeroize();
    }
}

/// The client's proof of the password, in hexadecimal digits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Proof<'a> {
    /// AUTH_SESSKEY.
    pub session_key: &'a str,
    /// AUTH_PBKDF2_SPEEDY_KEY; without it the password itself is checked.
    pub speedy_key: Option<&'a str>,
    /// AUTH_PASSWORD.
    pub password: &'a str,
}

/// The key that both sides have after a logon.
#[derive(Clone)]
pub struct SessionKey(Key);

impl Challenge {
    /// A challenge for a client that claims to be the user with this verifier; `random` must be fresh from the kernel.
    pub fn new(verifier: Verifier, random: &[u8; 48]) -> Challenge {
        let (mut half, mut combine) = ([0; HALF_LEN], [0; 16]);
        half.copy_from_slice(&random[..HALF_LEN]);
        combine.copy_from_slice(&random[HALF_LEN..]);
        Challenge { verifier, half, combine }
    }

    /// The value of AUTH_SESSKEY.
    pub fn session_key(&self) -> String {
        let mut half = self.half;
        encrypt(&self.verifier.cipher_key(), &mut half);
        to_hex(&half)
    }

    /// The value of AUTH_VFR_DATA, and its flags.
    pub fn salt(&self) -> (String, u32) {
        let salt = match &self.verifier {
            Verifier::Sha512 { salt, .. } => to_hex(salt),
            Verifier::Sha1 { salt, .. } => to_hex(salt),
        };
        (salt, self.verifier.kind())
    }

    /// Whether the check of a proof with that AUTH_PBKDF2_SPEEDY_KEY takes long.
    pub fn is_slow(&self, speedy_key: Option<&str>) -> bool {
        matches!(self.verifier, Verifier::Sha512 { .. }) && speedy_key.is_none()
    }

    /// The value of AUTH_PBKDF2_CSK_SALT.
    pub fn combine_salt(&self) -> String {
        to_hex(&self.combine)
    }

    /// The key of the conversation, if `proof` proves that the client has the password. A wrong password takes as long
    /// as a right one.
    pub fn check(&self, proof: &Proof<'_>) -> Option<SessionKey> {
        let mut half: [u8; HALF_LEN] = from_hex(proof.session_key, HALF_LEN)?.as_slice().try_into().ok()?;
        decrypt(&self.verifier.cipher_key(), &mut half);
        let key = combined(&half, &self.half, &self.combine, self.verifier.key_len());
        half.zeroize();
        let is_right = match (&self.verifier, proof.speedy_key) {
            (Verifier::Sha512 { key: known, salt }, Some(sent)) => {
                are_equal(&verifier(&*speedy_key_of(&key, sent)?, salt), known)
            }
            _ => self.verifier.is_of(&password_of(&key, proof.password)?),
        };
        is_right.then_some(SessionKey(key))
    }
}

fn speedy_key_of(key: &Key, sent: &str) -> Option<Zeroizing<[u8; KEY_LEN]>> {
    let mut bytes = from_hex(sent, BLOCK + KEY_LEN)?;
    decrypt(key, &mut bytes);
    let mut found = Zeroizing::new([0; KEY_LEN]);
    found.copy_from_slice(bytes.get(BLOCK..BLOCK + KEY_LEN)?);
    Some(found)
}

/// The decrypted password without the random block in front and the padding.
fn password_of(key: &Key, sent: &str) -> Option<Zeroizing<Vec<u8>>> {
    let mut bytes = from_hex(sent, CIPHERTEXT_MAX)?;
    if bytes.len() < 2 * BLOCK || bytes.len() % BLOCK != 0 {
        return None;
    }
    decrypt(key, &mut bytes);
    let fill = usize::from(*bytes.last()?);
    let end = bytes.len().checked_sub(fill).filter(|end| (1..=BLOCK).contains(&fill) && *end >= BLOCK)?;
    Some(Zeroizing::new(bytes[BLOCK..end].to_vec()))
}

/// The client's side: the answer to a challenge.
pub struct Answer {
    pub session_key: String,
    /// Present with a 12C verifier.
    pub speedy_key: Option<String>,
    pub password: Zeroizing<String>,
    pub key: SessionKey,
}

/// `K` of a password with its salt. A client that keeps both saves the 4,096 rounds of PBKDF2 at its next logon.
pub struct Stretched {
    salt: [u8; SALT_LEN],
    key: Zeroizing<[u8; KEY_LEN]>,
}

/// Answers a challenge; the three texts are the server's AUTH_SESSKEY, AUTH_VFR_DATA and AUTH_PBKDF2_CSK_SALT, and
/// `kind` is the number with AUTH_VFR_DATA. `None` when they are invalid. `known` is used if it belongs to the salt,
/// and replaced otherwise.
pub fn answer(
    password: &[u8],
    known: &mut Option<Stretched>,
    challenge: [&str; 3],
    kind: u32,
    random: &[u8; 64],
) -> Option<Answer> {
    let [session_key, salt, combine] = challenge;
    let verifier = match kind {
        VERIFIER_11G | VERIFIER_11G_TOO => {
            let salt: [u8; SHA1_SALT_LEN] = from_hex(salt, SHA1_SALT_LEN)?.as_slice().try_into().ok()?;
            Verifier::Sha1 { key: sha1_verifier(password, &salt), salt }
        }
        VERIFIER_12C => {
            let salt: [u8; SALT_LEN] = from_hex(salt, SALT_LEN)?.as_slice().try_into().ok()?;
            if known.as_ref().is_none_or(|known| known.salt != salt) {
                *known = Some(Stretched { salt, key: speedy_key(password, &salt) });
            }
            Verifier::Sha512 { key: verifier(&known.as_ref()?.key, &salt), salt }
        }
        _ => return None,
    };
    let speedy = known.as_ref().filter(|_| verifier.kind() == VERIFIER_12C).map(|known| &known.key);
    let mut theirs: [u8; HALF_LEN] = from_hex(session_key, HALF_LEN)?.as_slice().try_into().ok()?;
    decrypt(&verifier.cipher_key(), &mut theirs);
    let mut own = [0; HALF_LEN];
    own.copy_from_slice(&random[..HALF_LEN]);
    let key = combined(&own, &theirs, &from_hex(combine, 16)?, verifier.key_len());
    encrypt(&verifier.cipher_key(), &mut own);
    let sealed = |noise: &[u8], what: &[u8]| {
        let mut bytes = Zeroizing::new([noise, what].concat());
        encrypt(&key, &mut bytes);
        to_hex(&bytes)
    };
    let fill = BLOCK - password.len() % BLOCK;
    let filled = Zeroizing::new([password, &vec![fill as u8; fill]].concat());
    Some(Answer {
        session_key: to_hex(&own),
        speedy_key: speedy.map(|speedy| sealed(&random[32..48], &speedy[..])),
        password: Zeroizing::new(sealed(&random[48..], &filled)),
        key: SessionKey(key),
    })
}

impl From<[u8; HALF_LEN]> for SessionKey {
    /// The key that two sides have agreed on without a logon.
    fn from(key: [u8; HALF_LEN]) -> SessionKey {
        SessionKey(Zeroizing::new(key.to_vec()))
    }
}

impl SessionKey {
    /// The key with these bytes, which must be 32 or 24.
    pub fn of(bytes: &[u8]) -> Option<SessionKey> {
        [HALF_LEN, SHA1_KEY_LEN].contains(&bytes.len()).then(|| SessionKey(Zeroizing::new(bytes.to_vec())))
    }

    /// The bytes of the key.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// A password sent encrypted with the key, as in AUTH_PASSWORD and AUTH_NEWPASSWORD.
    pub fn password(&self, sent: &str) -> Option<Zeroizing<String>> {
        let bytes = password_of(&self.0, sent)?;
        std::str::from_utf8(&bytes).ok().map(|text| Zeroizing::new(text.to_owned()))
    }

    /// A new password.
    ///
    /// # Errors
    /// ORA-00988 for an empty, malformed or too long password.
    pub fn new_password(&self, sent: &str) -> types::Result<Zeroizing<String>> {
        let is_looked_at = sent.len() <= 2 * CIPHERTEXT_MAX;
        let found = self.password(sent).filter(|new| is_looked_at && !new.is_empty());
        found.ok_or_else(|| types::Ora::new(988))
    }

    /// The value of AUTH_NEWPASSWORD for a password.
    pub fn seal(&self, password: &str, noise: &[u8; BLOCK]) -> Zeroizing<String> {
        let fill = BLOCK - password.len() % BLOCK;
        let mut bytes = Zeroizing::new([&noise[..], password.as_bytes(), &vec![fill as u8; fill]].concat());
        encrypt(&self.0, &mut bytes);
        Zeroizing::new(to_hex(&bytes))
    }

    /// The value of AUTH_SVR_RESPONSE, which proves to the client that the server had the verifier.
    pub fn server_response(&self, random: &[u8; 16]) -> String {
        let mut bytes = [&random[..], SERVER_TO_CLIENT, &[BLOCK as u8; BLOCK]].concat();
        encrypt(&self.0, &mut bytes);
        to_hex(&bytes)
    }

    /// Whether the value proves that the server had the verifier.
    pub fn is_server_response(&self, sent: &str) -> bool {
        let Some(mut bytes) = from_hex(sent, 3 * BLOCK).filter(|bytes| bytes.len() % BLOCK == 0) else { return false };
        decrypt(&self.0, &mut bytes);
        bytes.get(BLOCK..2 * BLOCK) == Some(SERVER_TO_CLIENT)
    }
}

/// The key of `len` bytes, derived from as many bytes of each half.
fn combined(clients: &[u8; HALF_LEN], servers: &[u8; HALF_LEN], salt: &[u8], len: usize) -> Key {
    let both = Zeroizing::new([&clients[..len], &servers[..len]].concat());
    let digits = Zeroizing::new(to_hex(&both));
    let mut key = Zeroizing::new(vec![0; len]);
    pbkdf2_hmac::<Sha512>(digits.as_bytes(), salt, COMBINE_ROUNDS, &mut key[..]);
    key
}

enum Cipher {
    Aes192(Box<Aes192>),
    Aes256(Box<Aes256>),
}

impl Cipher {
    fn new(key: &Key) -> Cipher {
        match key.len() {
            SHA1_KEY_LEN => Cipher::Aes192(Box::new(Aes192::new(GenericArray::from_slice(key)))),
            _ => Cipher::Aes256(Box::new(Aes256::new(GenericArray::from_slice(key)))),
        }
    }
}

/// Cipher block chaining over whole blocks, with an initial vector of zeros.
fn encrypt(key: &Key, bytes: &mut [u8]) {
    let cipher = Cipher::new(key);
    let mut last = [0; BLOCK];
    for block in bytes.chunks_exact_mut(BLOCK) {
        block.iter_mut().zip(last).for_each(|(b, l)| *b ^= l);
        match &cipher {
            Cipher::Aes192(cipher) => cipher.encrypt_block(GenericArray::from_mut_slice(block)),
            Cipher::Aes256(cipher) => cipher.encrypt_block(GenericArray::from_mut_slice(block)),
        }
        last.copy_from_slice(block);
    }
}

/// The inverse of [`encrypt`].
fn decrypt(key: &Key, bytes: &mut [u8]) {
    let cipher = Cipher::new(key);
    let mut last = [0; BLOCK];
    for block in bytes.chunks_exact_mut(BLOCK) {
        let mut sealed = [0; BLOCK];
        sealed.copy_from_slice(block);
        match &cipher {
            Cipher::Aes192(cipher) => cipher.decrypt_block(GenericArray::from_mut_slice(block)),
            Cipher::Aes256(cipher) => cipher.decrypt_block(GenericArray::from_mut_slice(block)),
        }
        block.iter_mut().zip(last).for_each(|(b, l)| *b ^= l);
        last = sealed;
    }
}

/// Upper-case hexadecimal digits.
pub fn to_hex(bytes: &[u8]) -> String {
    let digit = |n: u8| char::from(b"0123456789ABCDEF"[usize::from(n)]);
    bytes.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect()
}

/// The bytes of hexadecimal digits; digits beyond `most` bytes are ignored.
fn from_hex(digits: &str, most: usize) -> Option<Zeroizing<Vec<u8>>> {
    let digit = |b: u8| char::from(b).to_digit(16).map(|n| n as u8);
    let bytes = digits.as_bytes();
    if !bytes.len().is_multiple_of(2) {
        return None;
    }
    let both = bytes.chunks_exact(2).take(most).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?));
    both.collect::<Option<Vec<u8>>>().map(Zeroizing::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted<const N: usize>(from: u8) -> [u8; N] {
        std::array::from_fn(|i| from + i as u8)
    }

    const VERIFIER: &str = "14EA3F411C70C9A3E7AA9026B8D71B205A99B5EFB1E5F739B6C13191E5935AB3\
                            F6ECECB4C111043185DE4B188FA2D82DEE74BC9AC0233ED3940CB5507162A586";

    fn challenge() -> Challenge {
        let salt = counted(0);
        let random = counted::<48>(0x4e);
        Challenge::new(Verifier::Sha512 { key: verifier(&speedy_key(b"tiger", &salt), &salt), salt }, &random)
    }

    #[test]
    fn a_12c_verifier_has_the_known_value() {
        let salt = counted(0);
        let key = speedy_key(b"tiger", &salt);
        assert!(to_hex(&key[..]).starts_with("1742245FD3B95193051DCB26B3ED24214EA5E7907CC96EE0B6B1DB92D9094541"));
        assert_eq!(to_hex(&verifier(&key, &salt)), VERIFIER);
    }

    #[test]
    fn a_recorded_logon_is_accepted() {
        let c = challenge();
        assert_eq!(c.session_key(), "CD2679A56AC1A48B2A38FBDF0A96E2F4413231612624C0BDEAE1B98B140584C6");
        assert_eq!(c.salt(), ("000102030405060708090A0B0C0D0E0F".to_owned(), 0x4815));
        let proof = Proof {
            session_key: "490FB35D772C698B4B78EB51D964A039831F87932698C2229759E7D2F630E4A2",
            speedy_key: None,
            password: "9DEFDA424FEAF77E7E45B181626A53B8F58534D9F4C61A17EE27D6DBB58D1F3A",
        };
        let key = c.check(&proof).expect("the password is right");
        assert_eq!(to_hex(&key.0[..]), "DB87F09D85C2D7309131917EA2B78155F61CC3B9C3E60090B94488AF279B31C5");
    }

    #[test]
    fn an_11g_verifier_has_the_known_value() {
        // SHA-1 of "tiger" and of the bytes from 0 to 9.
        assert_eq!(to_hex(&sha1_verifier(b"tiger", &counted(0))), "15597ABE90E7A4FF4E897831AD7EAB681374006A");
    }

    #[test]
    fn only_the_password_is_accepted_and_the_server_proves_itself_too() {
        let salt = counted(0);
        let eleven = Verifier::Sha1 { key: sha1_verifier(b"tiger", &salt), salt };
        for c in [challenge(), Challenge::new(eleven, &counted(0x4e))] {
            only_tiger_is_accepted(&c);
        }
    }

    fn only_tiger_is_accepted(c: &Challenge) {
        let ((salt, kind), combine, theirs) = (c.salt(), c.combine_salt(), c.session_key());
        for (password, is_right) in [(&b"tiger"[..], true), (b"TIGER", false), (b"", false), (b"tiger ", false)] {
            let a = answer(password, &mut None, [&theirs, &salt, &combine], kind, &counted(100)).unwrap();
            assert_eq!(a.speedy_key.is_some(), kind == VERIFIER_12C);
            let speedy_key = a.speedy_key.as_deref();
            let fast = Proof { session_key: &a.session_key, speedy_key, password: &a.password };
            assert!(!c.is_slow(speedy_key));
            for proof in [fast, Proof { speedy_key: None, ..fast }] {
                assert_eq!(c.is_slow(proof.speedy_key), kind == VERIFIER_12C && proof.speedy_key.is_none());
                let key = c.check(&proof);
                assert_eq!(key.is_some(), is_right);
                if let Some(key) = key {
                    let response = key.server_response(&counted(7));
                    assert_eq!(response.len(), 96);
                    assert!(a.key.is_server_response(&response));
                    assert!(!a.key.is_server_response(&response.replace('A', "B")));
                }
            }
        }
        for bad in ["", "0", "zz", "é", "00", &"0".repeat(63)] {
            let proof = Proof { session_key: bad, speedy_key: Some(bad), password: bad };
            assert!(c.check(&proof).is_none());
            let good = "490FB35D772C698B4B78EB51D964A039831F87932698C2229759E7D2F630E4A2";
            assert!(c.check(&Proof { session_key: good, ..proof }).is_none());
            assert!(c.check(&Proof { session_key: good, speedy_key: None, password: bad }).is_none());
        }
    }
}
