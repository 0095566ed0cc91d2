//! Native encryption and checksums: the negotiation before the first messages, and the sealing of packets after it.
//!
//! ```text
//! client  | deadbeef · length u16 · version u32 · services u16 · 0 | service … |
//! service | number u16 · fields u16 · error u32 | field … |
//! field   | length u16 · type u16 · bytes |
//! ```
//! A client lists the algorithms that it accepts. The number 0 among them means "none": at the front when the client
//! only accepts encryption that the server requests, at the end when it requests encryption itself. The server names
//! one algorithm each for encryption and checksums; if any is used it sends its part of a Diffie-Hellman exchange, and
//! the client answers with its own. A sealed packet is the message, its checksum, zeros up to whole blocks of AES in
//! CBC, the number of these zeros plus one, and a zero. A one in place of the last zero says that the key of the logon
//! has become a part of the secret, from this packet of the client on.

use super::diffie_hellman as dh;
pub use super::diffie_hellman::Pair;
use super::field::Reader;
use super::o5logon::SessionKey;
use crate::local::{WireError, WireResult};
use aes::cipher::generic_array::GenericArray;
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256};
use sha2::{Digest, Sha256, Sha384, Sha512};
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// The beginning of a negotiation.
pub const MAGIC: [u8; 4] = [0xde, 0xad, 0xbe, 0xef];

/// Largest number of bytes of a negotiation.
const MESSAGE_MAX: usize = 4096;
/// 19.0.0.0.0.
const VERSION: u32 = 19 << 24;
const BLOCK: usize = 16;
pub const VECTOR_LEN: usize = 32;
/// Largest number of bytes that sealing adds to a packet.
pub const OVERHEAD: usize = 64 + BLOCK + 2;

/// Numbers of services.
mod service {
    pub const AUTHENTICATION: u16 = 1;
    pub const ENCRYPTION: u16 = 2;
    pub const CHECKSUM: u16 = 3;
    pub const SUPERVISOR: u16 = 4;
}

/// Types of fields.
mod field {
    pub const BYTES: u16 = 1;
    pub const U8: u16 = 2;
    pub const U16: u16 = 3;
    pub const VERSION: u16 = 5;
    pub const STATUS: u16 = 6;
}

/// No algorithm.
const NONE: u8 = 0;

/// Errors of a failed negotiation.
mod error {
    pub const NOTHING_IN_COMMON: u32 = 12650;
    pub const CONTRARY: u32 = 12660;
}

/// The level at which one side requests a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Rejected,
    Accepted,
    Requested,
    Required,
}

/// A service's algorithms by name and number.
pub type Algorithms = &'static [(&'static str, u8)];

/// Algorithms of encryption, the preferred one first.
pub const ENCRYPTIONS: Algorithms = &[("AES256", 17), ("AES192", 16), ("AES128", 15)];
/// Algorithms of checksums.
pub const CHECKSUMS: Algorithms = &[("SHA512", 4), ("SHA384", 6), ("SHA256", 5)];

/// A server's setting for one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wants {
    pub level: Level,
    /// The numbers of the accepted algorithms, in order of preference.
    pub algorithms: Vec<u8>,
}

impl Wants {
    /// Parses a level and a list of algorithms in the form of the parameters: `REQUIRED`, `(AES256, AES128)`; an empty
    /// list stands for all.
    pub fn parse(level: &str, list: &str, known: Algorithms) -> Option<Wants> {
        let level = match level.trim().to_ascii_uppercase().as_str() {
            "" | "ACCEPTED" => Level::Accepted,
            "REJECTED" => Level::Rejected,
            "REQUESTED" => Level::Requested,
            "REQUIRED" => Level::Required,
            _ => return None,
        };
        let names = list.trim().trim_start_matches('(').trim_end_matches(')');
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        let number = |name: &str| known.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, number)| *number);
        let mut algorithms = names.map(number).collect::<Option<Vec<u8>>>()?;
        if algorithms.is_empty() {
            algorithms = known.iter().map(|(_, number)| *number).collect();
        }
        Some(Wants { level, algorithms })
    }

    /// The algorithm that both sides accept, or the error of the refusal.
    fn choose(&self, offered: &[u8]) -> Result<u8, u32> {
        let can_do_without = offered.contains(&NONE) || offered.is_empty();
        let has_any = offered.iter().any(|n| *n != NONE);
        let client = match (can_do_without, has_any) {
            (true, false) => Level::Rejected,
            (true, true) if offered.first() == Some(&NONE) => Level::Accepted,
            (true, true) => Level::Requested,
            (false, _) => Level::Required,
        };
        let (least, most) = (self.level.min(client), self.level.max(client));
        if least == Level::Rejected {
            return if most == Level::Required { Err(error::CONTRARY) } else { Ok(NONE) };
        }
        if most == Level::Accepted {
            return Ok(NONE);
        }
        match self.algorithms.iter().find(|n| offered.contains(n)) {
            Some(number) => Ok(*number),
            None if most == Level::Required => Err(error::NOTHING_IN_COMMON),
            None => Ok(NONE),
        }
    }
}

/// A client's offer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    encryptions: Vec<u8>,
    checksums: Vec<u8>,
}

/// A service in a message: its number and its fields, each with a type.
type Service<'a> = (u16, Vec<(u16, &'a [u8])>);

fn read_services<'a>(message: &'a [u8]) -> WireResult<Vec<Service<'a>>> {
    let mut r = Reader::new(message);
    if r.raw(4)? != MAGIC {
        return Err(WireError::BadValue);
    }
    let length: usize = r.u16()?.into();
    if length > MESSAGE_MAX {
        return Err(WireError::LengthOutOfBounds);
    }
    if message.len() < length {
        return Err(WireError::Truncated);
    }
    r.skip(4)?;
    let services = r.u16()?;
    r.skip(1)?;
    // The message is complete: a missing field will not come later.
    let whole = |e| if e == WireError::Truncated { WireError::BadValue } else { e };
    let mut read = || {
        let mut all = Vec::new();
        for _ in 0..services {
            let (number, fields) = (r.u16()?, r.u16()?);
            r.skip(4)?;
            let mut list = Vec::new();
            for _ in 0..fields {
                let (length, kind) = (r.u16()?, r.u16()?);
                list.push((kind, r.raw(length.into())?));
            }
            all.push((number, list));
        }
        Ok(all)
    };
    read().map_err(whole)
}

/// The first field of bytes of a service.
fn bytes_of<'a>(services: &[Service<'a>], number: u16) -> Option<&'a [u8]> {
    let (_, fields) = services.iter().find(|(n, _)| *n == number)?;
    fields.iter().find(|(kind, _)| *kind == field::BYTES).map(|(_, bytes)| *bytes)
}

impl Offer {
    /// Reads the client's message.
    ///
    /// # Errors
    /// [`WireError::Truncated`] while the end is missing; others for an invalid message.
    pub fn read(message: &[u8]) -> WireResult<Offer> {
        let services = read_services(message)?;
        let list = |number| bytes_of(&services, number).unwrap_or_default().to_vec();
        Ok(Offer { encryptions: list(service::ENCRYPTION), checksums: list(service::CHECKSUM) })
    }
}

/// The message of a client that accepts these algorithms.
pub fn offer(encryptions: &[u8], checksums: &[u8]) -> Vec<u8> {
    let version = (field::VERSION, &VERSION.to_be_bytes()[..]);
    let mut list = MAGIC.to_vec();
    list.extend_from_slice(&[0, 3, 0, 0, 0, 4, 0, 4, 0, 1, 0, 2, 0, 3]);
    let mut services = Vec::new();
    let own = [version, (field::BYTES, &[0; 8]), (field::BYTES, &list)];
    write_service(&mut services, service::SUPERVISOR, 0, &own);
    let none = [version, (field::U16, &[0xe0, 0xe1]), (field::STATUS, &[0xfc, 0xff])];
    write_service(&mut services, service::AUTHENTICATION, 0, &none);
    write_service(&mut services, service::ENCRYPTION, 0, &[version, (field::BYTES, encryptions), (field::U8, &[1])]);
    write_service(&mut services, service::CHECKSUM, 0, &[version, (field::BYTES, checksums)]);
    let mut out = Vec::new();
    write_header(&mut out, 4, services.len());
    out.extend_from_slice(&services);
    out
}

/// A client's seal from the server's answer, and the client's part of the exchange, which is sent before any sealed
/// packet; `None` without sealing. `private` must be fresh from the kernel.
///
/// # Errors
/// [`WireError::Truncated`] while the end of the answer is missing; others for an invalid answer or a refusal.
pub fn join(answer: &[u8], private: &[u8; dh::PRIVATE_LEN]) -> WireResult<Option<(Seal, Vec<u8>)>> {
    let bad = WireError::BadValue;
    let services = read_services(answer)?;
    let of = |number: u16| services.iter().find(|(n, _)| *n == number).map(|(_, fields)| &fields[..]).ok_or(bad);
    let (encryption, checksum) = (of(service::ENCRYPTION)?, of(service::CHECKSUM)?);
    let algorithm = |fields: &[(u16, &[u8])]| fields.get(1).and_then(|(_, bytes)| bytes.first().copied()).ok_or(bad);
    let [.., (_, public), (_, vector)] = checksum else { return Err(bad) };
    if checksum.len() < 8 {
        return Ok(None);
    }
    let secret = dh::secret(private, public)?;
    let vector = <&[u8; VECTOR_LEN]>::try_from(*vector).map_err(|_| bad)?;
    let seal = Seal::new(algorithm(encryption)?, algorithm(checksum)?, &secret, vector, false);
    let mut part = Vec::new();
    write_service(&mut part, service::CHECKSUM, 0, &[(field::BYTES, &dh::public(private))]);
    let mut out = Vec::new();
    write_header(&mut out, 1, part.len());
    out.extend_from_slice(&part);
    Ok(Some((seal, out)))
}

/// The agreement, before the client's part of the exchange has arrived.
pub struct Agreement {
    encryption: u8,
    checksum: u8,
    pair: Arc<Pair>,
    vector: [u8; VECTOR_LEN],
}

impl Agreement {
    /// Answers an offer: appends the message; returns the agreement if packets are to be sealed. `vector` must be fresh
    /// from the kernel.
    ///
    /// # Errors
    /// The error number in the message: ORA-12650 without a common algorithm, ORA-12660 when one side requires what the
    /// other rejects.
    pub fn answer(
        offer: &Offer,
        encryption: &Wants,
        checksum: &Wants,
        pair: &Arc<Pair>,
        vector: [u8; VECTOR_LEN],
        out: &mut Vec<u8>,
    ) -> Result<Option<Agreement>, u32> {
        let chosen = (encryption.choose(&offer.encryptions), checksum.choose(&offer.checksums));
        let (ciphers, sums) = (chosen.0.unwrap_or(NONE), chosen.1.unwrap_or(NONE));
        let failed = chosen.0.err().or(chosen.1.err());
        let seals = failed.is_none() && (ciphers != NONE || sums != NONE);
        let mut services = Vec::new();
        let version = VERSION.to_be_bytes();
        // Clients expect these two services in every answer.
        let active = [service::SUPERVISOR, service::AUTHENTICATION];
        let mut list = MAGIC.to_vec();
        list.extend_from_slice(&3u16.to_be_bytes());
        list.extend_from_slice(&(active.len() as u32).to_be_bytes());
        active.iter().for_each(|n| list.extend_from_slice(&n.to_be_bytes()));
        let status = |n: u16| n.to_be_bytes();
        write_service(
            &mut services,
            service::SUPERVISOR,
            0,
            &[(field::VERSION, &version), (field::STATUS, &status(0x1f)), (field::BYTES, &list)],
        );
        write_service(
            &mut services,
            service::AUTHENTICATION,
            0,
            &[(field::VERSION, &version), (field::STATUS, &status(0xfbff))],
        );
        write_service(
            &mut services,
            service::ENCRYPTION,
            chosen.0.err().unwrap_or(0),
            &[(field::VERSION, &version), (field::U8, &[ciphers])],
        );
        let bits = (8 * dh::LEN as u16).to_be_bytes();
        let prime = dh::prime();
        let mut generator = [0; dh::LEN];
        generator[dh::LEN - 1] = dh::GENERATOR;
        let sums = [sums];
        let mut fields: Vec<(u16, &[u8])> = vec![(field::VERSION, &version), (field::U8, &sums)];
        if seals {
            fields.extend([(field::U16, &bits[..]), (field::U16, &bits), (field::BYTES, &generator)]);
            fields.extend([(field::BYTES, &prime[..]), (field::BYTES, pair.public()), (field::BYTES, &vector)]);
        }
        write_service(&mut services, service::CHECKSUM, chosen.1.err().unwrap_or(0), &fields);
        write_header(out, 4, services.len());
        out.extend_from_slice(&services);
        match failed {
            Some(code) => Err(code),
            None => {
                Ok(seals.then(|| Agreement { encryption: ciphers, checksum: sums[0], pair: Arc::clone(pair), vector }))
            }
        }
    }

    /// The seal of the following packets, from the client's part of the exchange.
    ///
    /// # Errors
    /// [`WireError::Truncated`] while the end of the message is missing; others for an invalid message.
    pub fn seal(&self, message: &[u8]) -> WireResult<Seal> {
        let services = read_services(message)?;
        let public = bytes_of(&services, service::CHECKSUM).ok_or(WireError::BadValue)?;
        let secret = self.pair.secret(public)?;
        Ok(Seal::new(self.encryption, self.checksum, &secret, &self.vector, true))
    }

    /// Bytes of memory held.
    pub fn held(&self) -> usize {
        size_of::<Agreement>()
    }
}

fn write_header(out: &mut Vec<u8>, services: u16, len: usize) {
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&((13 + len) as u16).to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&services.to_be_bytes());
    out.push(0);
}

fn write_service(out: &mut Vec<u8>, number: u16, error: u32, fields: &[(u16, &[u8])]) {
    out.extend_from_slice(&number.to_be_bytes());
    out.extend_from_slice(&(fields.len() as u16).to_be_bytes());
    out.extend_from_slice(&error.to_be_bytes());
    for (kind, bytes) in fields {
        out.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
        out.extend_from_slice(&kind.to_be_bytes());
        out.extend_from_slice(bytes);
    }
}

/// A cipher, selected by the length of its key.
enum Cipher {
    Aes128(Box<Aes128>),
    Aes192(Box<Aes192>),
    Aes256(Box<Aes256>),
}

impl Cipher {
    fn key_len(&self) -> u8 {
        match self {
            Cipher::Aes128(_) => 16,
            Cipher::Aes192(_) => 24,
            Cipher::Aes256(_) => 32,
        }
    }

    fn encrypt(&self, block: &mut [u8]) {
        let block = GenericArray::from_mut_slice(block);
        match self {
            Cipher::Aes128(c) => c.encrypt_block(block),
            Cipher::Aes192(c) => c.encrypt_block(block),
            Cipher::Aes256(c) => c.encrypt_block(block),
        }
    }

    fn decrypt(&self, block: &mut [u8]) {
        let block = GenericArray::from_mut_slice(block);
        match self {
            Cipher::Aes128(c) => c.decrypt_block(block),
            Cipher::Aes192(c) => c.decrypt_block(block),
            Cipher::Aes256(c) => c.decrypt_block(block),
        }
    }
}

/// Chained blocks, continued from call to call.
struct Chain {
    cipher: Aes128,
    last: [u8; BLOCK],
}

impl Chain {
    fn new(key: &[u8; BLOCK], vector: &[u8]) -> Chain {
        let mut last = [0; BLOCK];
        last.copy_from_slice(&vector[..BLOCK]);
        Chain { cipher: Aes128::new(GenericArray::from_slice(key)), last }
    }

    fn run(&mut self, bytes: &mut [u8]) {
        for block in bytes.chunks_exact_mut(BLOCK) {
            block.iter_mut().zip(self.last).for_each(|(b, l)| *b ^= l);
            self.cipher.encrypt_block(GenericArray::from_mut_slice(block));
            self.last.copy_from_slice(block);
        }
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        self.last.zeroize();
    }
}

/// The bytes appended to a packet for its checksum, in one direction: new for each packet.
struct Stamp {
    chain: Chain,
    pad: Vec<u8>,
}

/// The checksums of both directions of a connection.
struct Checks {
    algorithm: u8,
    keys: Chain,
    material: Zeroizing<[u8; 2 * BLOCK]>,
    ours: Stamp,
    theirs: Stamp,
    /// The fifth byte of a key, which gives the direction.
    ways: (u8, u8),
}

impl Checks {
    fn new(algorithm: u8, secret: &[u8; dh::LEN], vector: &[u8; VECTOR_LEN], is_server: bool) -> Checks {
        let mut key = Zeroizing::new([0; BLOCK]);
        key[..5].copy_from_slice(&secret[..5]);
        key[5] = 0xff;
        let keys = Chain::new(&key, vector);
        let stamp = || Stamp { chain: Chain::new(&[0; BLOCK], &[0; BLOCK]), pad: vec![0; len_of(algorithm)] };
        let ways = if is_server { (180, 90) } else { (90, 180) };
        let material = Zeroizing::new([0; 2 * BLOCK]);
        let mut checks = Checks { algorithm, keys, material, ours: stamp(), theirs: stamp(), ways };
        checks.begin();
        checks
    }

    /// Starts with new keys, derived from the previous ones.
    fn begin(&mut self) {
        self.keys.run(&mut self.material[..]);
        let mut key = Zeroizing::new([0; BLOCK]);
        key.copy_from_slice(&self.material[..BLOCK]);
        let vector = &self.material[BLOCK..];
        self.keys = Chain::new(&key, vector);
        key[5] = self.ways.0;
        self.ours.chain = Chain::new(&key, vector);
        key[5] = self.ways.1;
        self.theirs.chain = Chain::new(&key, vector);
    }

    fn sum(algorithm: u8, stamp: &mut Stamp, bytes: &[u8]) -> Vec<u8> {
        stamp.chain.run(&mut stamp.pad);
        let pad = &stamp.pad;
        match algorithm {
            4 => Sha512::new().chain_update(bytes).chain_update(pad).finalize().to_vec(),
            6 => Sha384::new().chain_update(bytes).chain_update(pad).finalize().to_vec(),
            _ => Sha256::new().chain_update(bytes).chain_update(pad).finalize().to_vec(),
        }
    }
}

/// Bytes of a checksum.
fn len_of(algorithm: u8) -> usize {
    match algorithm {
        4 => 64,
        6 => 48,
        _ => 32,
    }
}

/// Seals the packets of one side and opens those of the other.
pub struct Seal {
    cipher: Option<Cipher>,
    checks: Option<Checks>,
    origin: Origin,
    /// The key of the logon, which the client may fold into the secret once.
    logon: Option<SessionKey>,
    is_folded: bool,
}

/// The inputs of a seal.
struct Origin {
    algorithms: (u8, u8),
    secret: Zeroizing<[u8; dh::LEN]>,
    vector: [u8; VECTOR_LEN],
    is_server: bool,
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seal").field("is_encrypted", &self.cipher.is_some()).finish_non_exhaustive()
    }
}

impl Seal {
    /// The seal that both sides derive from a secret. `is_server` selects the side.
    pub fn new(
        encryption: u8,
        checksum: u8,
        secret: &[u8; dh::LEN],
        vector: &[u8; VECTOR_LEN],
        is_server: bool,
    ) -> Seal {
        let cipher = match encryption {
            15 => Some(Cipher::Aes128(Box::new(Aes128::new(GenericArray::from_slice(&secret[..16]))))),
            16 => Some(Cipher::Aes192(Box::new(Aes192::new(GenericArray::from_slice(&secret[..24]))))),
            17 => Some(Cipher::Aes256(Box::new(Aes256::new(GenericArray::from_slice(&secret[..32]))))),
            _ => None,
        };
        let checks = (checksum != NONE).then(|| Checks::new(checksum, secret, vector, is_server));
        let secret = Zeroizing::new(*secret);
        let origin = Origin { algorithms: (encryption, checksum), secret, vector: *vector, is_server };
        Seal { cipher, checks, origin, logon: None, is_folded: false }
    }

    /// Bytes of the key and of the checksums; 0 without.
    pub fn strength(&self) -> (u8, u8) {
        let key = self.cipher.as_ref().map_or(0, Cipher::key_len);
        (key, self.checks.as_ref().map_or(0, |checks| len_of(checks.algorithm) as u8))
    }

    /// Sets the key of the client's logon.
    pub fn logged_on(&mut self, key: SessionKey) {
        self.logon = Some(key);
    }

    /// Folds the key of the logon into the secret.
    fn fold(&mut self) -> WireResult<()> {
        let key = self.logon.take().ok_or(WireError::BadValue)?;
        let Origin { algorithms: (encryption, checksum), secret, vector, is_server } = &mut self.origin;
        secret.iter_mut().zip(key.bytes()).for_each(|(s, k)| *s ^= k);
        *self = Seal::new(*encryption, *checksum, secret, vector, *is_server);
        self.is_folded = true;
        Ok(())
    }

    /// The sealed length of a message of `len` bytes.
    pub fn sealed_len(&self, len: usize) -> usize {
        let checked = len + self.checks.as_ref().map_or(0, |checks| len_of(checks.algorithm));
        if self.cipher.is_some() { checked.next_multiple_of(BLOCK) + 2 } else { checked + 1 }
    }

    /// Appends the bytes of a packet, sealed.
    pub fn close(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let from = out.len();
        out.extend_from_slice(bytes);
        if let Some(checks) = &mut self.checks {
            let sum = Checks::sum(checks.algorithm, &mut checks.ours, bytes);
            out.extend_from_slice(&sum);
        }
        if let Some(cipher) = &self.cipher {
            let missing = (out.len() - from).next_multiple_of(BLOCK) - (out.len() - from);
            out.resize(out.len() + missing, 0);
            let mut last = [0; BLOCK];
            for block in out[from..].chunks_exact_mut(BLOCK) {
                block.iter_mut().zip(last).for_each(|(b, l)| *b ^= l);
                cipher.encrypt(block);
                last.copy_from_slice(block);
            }
            out.push(missing as u8 + 1);
        }
        out.push(0);
    }

    /// Opens the bytes of a packet in place; returns the length of the message.
    ///
    /// # Errors
    /// [`WireError::BadValue`] for bytes that were not sealed with these keys.
    pub fn open(&mut self, bytes: &mut [u8]) -> WireResult<usize> {
        let bad = WireError::BadValue;
        let mut len = bytes.len().checked_sub(1).ok_or(bad)?;
        if bytes[len] != 0 && !self.is_folded {
            self.fold()?;
        }
        if let Some(cipher) = &self.cipher {
            len = len.checked_sub(1).ok_or(bad)?;
            let missing = usize::from(bytes[len]).checked_sub(1).filter(|n| *n < BLOCK).ok_or(bad)?;
            if !len.is_multiple_of(BLOCK) {
                return Err(bad);
            }
            let mut last = [0; BLOCK];
            for block in bytes[..len].chunks_exact_mut(BLOCK) {
                let mut sealed = [0; BLOCK];
                sealed.copy_from_slice(block);
                cipher.decrypt(block);
                block.iter_mut().zip(last).for_each(|(b, l)| *b ^= l);
                last = sealed;
            }
            len = len.checked_sub(missing).ok_or(bad)?;
        }
        if let Some(checks) = &mut self.checks {
            len = len.checked_sub(len_of(checks.algorithm)).ok_or(bad)?;
            let sum = Checks::sum(checks.algorithm, &mut checks.theirs, &bytes[..len]);
            let difference = sum.iter().zip(&bytes[len..]).fold(0, |all, (a, b)| all | (a ^ b));
            if difference != 0 {
                return Err(bad);
            }
        }
        Ok(len)
    }

    /// Starts the checksums again after both sides have reset the connection.
    pub fn reset(&mut self) {
        if let Some(checks) = &mut self.checks {
            checks.begin();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(level: &str, list: &str) -> Wants {
        Wants::parse(level, list, ENCRYPTIONS).unwrap()
    }

    #[test]
    fn both_sides_get_what_they_require() {
        let lists: [(&str, &[u8]); 4] =
            [("rejected", &[0]), ("accepted", &[0, 15, 17]), ("requested", &[15, 17, 0]), ("required", &[15, 17])];
        let on = Ok(17);
        let off = Ok(0);
        let contrary = Err(12660);
        let all = [
            ("rejected", [off, off, off, contrary]),
            ("accepted", [off, off, on, on]),
            ("requested", [off, on, on, on]),
            ("required", [contrary, on, on, on]),
        ];
        for (level, outcomes) in all {
            for ((client, list), outcome) in lists.iter().zip(outcomes) {
                assert_eq!(wants(level, "").choose(list), outcome, "server {level}, client {client}");
            }
        }
        assert_eq!(wants("accepted", "(aes192)").choose(&[15, 17]), Err(12650));
        assert_eq!(wants("requested", "aes192").choose(&[0, 15, 17]), Ok(0));
        assert_eq!(wants("required", "(AES128, AES256)").choose(&[17, 15]), Ok(15));
        assert_eq!((Wants::parse("x", "", CHECKSUMS), Wants::parse("", "(MD5)", CHECKSUMS)), (None, None));
    }

    #[test]
    fn a_negotiation_ends_in_a_seal_that_both_sides_know() {
        let message = offer(&[17, 15], &[0, 5, 4]);
        let read = Offer::read(&message).unwrap();
        for cut in 0..message.len() {
            assert_eq!(Offer::read(&message[..cut]), Err(WireError::Truncated), "{cut}");
        }
        for bits in 0..8 * message.len() {
            let mut bad = message.clone();
            bad[bits / 8] ^= 1 << (bits % 8);
            let _ = Offer::read(&bad);
        }
        let pair = Arc::new(Pair::new(std::array::from_fn(|at| at as u8 ^ 0x35)));
        let (ciphers, sums) = (wants("accepted", ""), Wants::parse("requested", "(SHA512)", CHECKSUMS).unwrap());
        let mut out = Vec::new();
        let agreed = Agreement::answer(&read, &ciphers, &sums, &pair, [0x53; VECTOR_LEN], &mut out)
            .unwrap()
            .expect("it is sealed");
        let services = read_services(&out).unwrap();
        let (_, fields) = &services[3];
        assert_eq!((fields.len(), fields[1].1, services[2].1[1].1), (8, &[4][..], &[17][..]));
        let (mut client, key) = join(&out, &[9; dh::PRIVATE_LEN]).unwrap().expect("it is sealed");
        let mut server = agreed.seal(&key).unwrap();
        for turn in 0..4 {
            for len in [0, 1, 15, 16, 17, 5000] {
                let bytes: Vec<u8> = (0..len).map(|n| n as u8 ^ turn).collect();
                let mut sealed = Vec::new();
                server.close(&bytes, &mut sealed);
                assert!(sealed.len() <= bytes.len() + OVERHEAD);
                assert_eq!(client.open(&mut sealed), Ok(bytes.len()));
                assert_eq!(sealed[..bytes.len()], bytes);
                sealed.clear();
                client.close(&bytes, &mut sealed);
                assert_eq!(server.open(&mut sealed), Ok(bytes.len()));
            }
            server.reset();
            client.reset();
        }
        let mut sealed = Vec::new();
        client.close(b"abc", &mut sealed);
        sealed[1] ^= 1;
        assert_eq!(server.open(&mut sealed), Err(WireError::BadValue));
        // A fold of the logon's key is marked in the packet, and without a logon there is no key.
        sealed.clear();
        client.close(b"abc", &mut sealed);
        *sealed.last_mut().unwrap() = 1;
        assert_eq!(server.open(&mut sealed), Err(WireError::BadValue));
        for junk in [&mut [][..], &mut [0], &mut [1, 0], &mut [0; 34], &mut [0xff; 18]] {
            assert_eq!(server.open(junk), Err(WireError::BadValue));
        }
        out.clear();
        let required = wants("required", "");
        let nothing =
            Agreement::answer(&Offer::default(), &required, &sums, &pair, [0x53; VECTOR_LEN], &mut out).map(drop);
        assert_eq!(nothing, Err(12660));
        assert!(out.windows(4).any(|w| w == 12660u32.to_be_bytes()), "the client is told");
    }
}
