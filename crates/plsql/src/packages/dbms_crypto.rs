//! DBMS_CRYPTO: hashes, keyed hashes, and AES.
//!
//! A TYPE of ENCRYPT is the sum of a cipher, a mode and a padding. Older ciphers, streams and other modes are refused
//! (ORA-28827).

use super::package::*;
use crate::world::World;
use aes::cipher::generic_array::GenericArray;
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256};
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};
use types::Result;

package! {
    "DBMS_CRYPTO",
    "package dbms_crypto is
       hash_md4 constant pls_integer := 1; hash_md5 constant pls_integer := 2; hash_sh1 constant pls_integer := 3;
       hash_sh256 constant pls_integer := 4; hash_sh384 constant pls_integer := 5;
       hash_sh512 constant pls_integer := 6;
       hmac_md5 constant pls_integer := 1; hmac_sh1 constant pls_integer := 2; hmac_sh256 constant pls_integer := 3;
       hmac_sh384 constant pls_integer := 4; hmac_sh512 constant pls_integer := 5;
       encrypt_des constant pls_integer := 1; encrypt_3des_2key constant pls_integer := 2;
       encrypt_3des constant pls_integer := 3; encrypt_aes constant pls_integer := 6;
       encrypt_aes128 constant pls_integer := 6; encrypt_aes192 constant pls_integer := 7;
       encrypt_aes256 constant pls_integer := 8; encrypt_rc4 constant pls_integer := 129;
       chain_cbc constant pls_integer := 256; chain_cfb constant pls_integer := 512;
       chain_ecb constant pls_integer := 768; chain_ofb constant pls_integer := 1024;
       pad_pkcs5 constant pls_integer := 4096; pad_none constant pls_integer := 8192;
       pad_zero constant pls_integer := 12288; pad_orcl constant pls_integer := 16384;
       des_cbc_pkcs5 constant pls_integer := 4353; des3_cbc_pkcs5 constant pls_integer := 4355;
       aes_cbc_pkcs5 constant pls_integer := 4358;
       ciphersuiteinvalid exception; pragma exception_init(ciphersuiteinvalid, -28827);
       keynull exception; pragma exception_init(keynull, -28239);
       function hash(src raw, typ pls_integer) return raw;
       function hash(src blob, typ pls_integer) return raw;
       function hash(src clob, typ pls_integer) return raw;
       function mac(src raw, typ pls_integer, key raw) return raw;
       function mac(src blob, typ pls_integer, key raw) return raw;
       function mac(src clob, typ pls_integer, key raw) return raw;
       function encrypt(src raw, typ pls_integer, key raw, iv raw default null) return raw;
       function decrypt(src raw, typ pls_integer, key raw, iv raw default null) return raw;
     end;";
    "HASH" 1 => hash, "HASH" 2 => hash, "HASH" 3 => hash, "MAC" 1 => mac, "MAC" 2 => mac, "MAC" 3 => mac,
    "ENCRYPT" 1 => encrypt, "DECRYPT" 1 => decrypt,
}

/// Bytes of a block of AES.
const BLOCK: usize = 16;

/// The bytes of the first argument; of a text those in the database character set.
fn source<'a>(a: &'a Args<'_>) -> Result<&'a [u8]> {
    match a.value(0).content() {
        Value::Text(text) => Ok(text.as_bytes()),
        Value::Raw(bytes) => Ok(bytes),
        Value::EmptyLob => Ok(&[]),
        _ => Err(Ora::new(28817)),
    }
}

fn digest(kind: i64, parts: &[&[u8]]) -> Result<Vec<u8>> {
    fn of<D: Digest>(parts: &[&[u8]]) -> Vec<u8> {
        let mut digest = D::new();
        parts.iter().for_each(|part| digest.update(part));
        digest.finalize().to_vec()
    }
    Ok(match kind {
        2 => of::<Md5>(parts),
        3 => of::<Sha1>(parts),
        4 => of::<Sha256>(parts),
        5 => of::<Sha384>(parts),
        6 => of::<Sha512>(parts),
        _ => return Err(Ora::new(28827)),
    })
}

fn hash<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(Value::raw(digest(c.a.integer(1).unwrap_or(0), &[source(&c.a)?])?))
}

/// HMAC (RFC 2104). The numbers of its hashes are one less than those of HASH.
fn mac<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let kind = c.a.integer(1).unwrap_or(0) + 1;
    let key = c.a.raw(2);
    if key.is_empty() {
        return Err(Ora::new(28239).into());
    }
    let block = if kind >= 5 { 128 } else { 64 };
    let mut padded = if key.len() > block { digest(kind, &[key])? } else { key.to_vec() };
    padded.resize(block, 0);
    let mixed = |with: u8| padded.iter().map(|byte| byte ^ with).collect::<Vec<u8>>();
    let inner = digest(kind, &[&mixed(0x36), source(&c.a)?])?;
    Ok(Value::raw(digest(kind, &[&mixed(0x5c), &inner])?))
}

/// AES with a key of its length; a longer key is cut.
enum Cipher {
    Short(Box<Aes128>),
    Middle(Box<Aes192>),
    Long(Box<Aes256>),
}

impl Cipher {
    fn new(kind: i64, key: &[u8]) -> Result<Cipher> {
        let key_of = |len: usize| key.get(..len).ok_or_else(|| Ora::new(28817));
        let made = match kind {
            6 => Aes128::new_from_slice(key_of(16)?).map(|aes| Cipher::Short(Box::new(aes))),
            7 => Aes192::new_from_slice(key_of(24)?).map(|aes| Cipher::Middle(Box::new(aes))),
            8 => Aes256::new_from_slice(key_of(32)?).map(|aes| Cipher::Long(Box::new(aes))),
            _ => return Err(Ora::new(28827)),
        };
        made.map_err(|_| Ora::new(28817))
    }

    fn encrypt(&self, block: &mut [u8]) {
        let block = GenericArray::from_mut_slice(block);
        match self {
            Cipher::Short(aes) => aes.encrypt_block(block),
            Cipher::Middle(aes) => aes.encrypt_block(block),
            Cipher::Long(aes) => aes.encrypt_block(block),
        }
    }

    fn decrypt(&self, block: &mut [u8]) {
        let block = GenericArray::from_mut_slice(block);
        match self {
            Cipher::Short(aes) => aes.decrypt_block(block),
            Cipher::Middle(aes) => aes.decrypt_block(block),
            Cipher::Long(aes) => aes.decrypt_block(block),
        }
    }
}

/// The arguments of ENCRYPT and DECRYPT.
struct Suite {
    cipher: Cipher,
    /// The chaining value of CBC; `None` for ECB.
    chain: Option<[u8; BLOCK]>,
    padding: i64,
}

impl Suite {
    fn of(a: &Args<'_>) -> Result<Suite> {
        let kind = a.integer(1).unwrap_or(0);
        if a.raw(2).is_empty() {
            return Err(Ora::new(28239));
        }
        let cipher = Cipher::new(kind & 0xff, a.raw(2))?;
        let mut chain = [0; BLOCK];
        let given = a.raw(3);
        let len = given.len().min(BLOCK);
        chain[..len].copy_from_slice(&given[..len]);
        let chain = match kind & 0xf00 {
            0x100 => Some(chain),
            0x300 => None,
            _ => return Err(Ora::new(28827)),
        };
        let padding = kind & 0xf000;
        if !matches!(padding, 0x1000 | 0x2000 | 0x3000) || kind >> 16 != 0 {
            return Err(Ora::new(28827));
        }
        Ok(Suite { cipher, chain, padding })
    }
}

fn encrypt<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let mut suite = Suite::of(&c.a)?;
    let mut bytes = source(&c.a)?.to_vec();
    let missing = BLOCK - bytes.len() % BLOCK;
    match suite.padding {
        0x1000 => bytes.extend(std::iter::repeat_n(missing as u8, missing)),
        0x3000 if missing < BLOCK => bytes.extend(std::iter::repeat_n(0, missing)),
        _ if missing < BLOCK => return Err(Ora::new(28817).into()),
        _ => {}
    }
    for block in bytes.chunks_mut(BLOCK) {
        if let Some(chain) = &suite.chain {
            block.iter_mut().zip(chain).for_each(|(byte, with)| *byte ^= with);
        }
        suite.cipher.encrypt(block);
        if let Some(chain) = &mut suite.chain {
            chain.copy_from_slice(block);
        }
    }
    limited_raw(bytes)
}

fn decrypt<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let mut suite = Suite::of(&c.a)?;
    let mut bytes = source(&c.a)?.to_vec();
    if bytes.len() % BLOCK != 0 {
        return Err(Ora::new(28817).into());
    }
    for block in bytes.chunks_mut(BLOCK) {
        let before: Vec<u8> = block.to_vec();
        suite.cipher.decrypt(block);
        if let Some(chain) = &mut suite.chain {
            block.iter_mut().zip(&*chain).for_each(|(byte, with)| *byte ^= with);
            chain.copy_from_slice(&before);
        }
    }
    match suite.padding {
        0x1000 => {
            let padding = bytes.last().copied().map_or(0, usize::from);
            let is_padding = (1..=BLOCK).contains(&padding) && padding <= bytes.len();
            let kept = bytes.len() - if is_padding { padding } else { 0 };
            if !is_padding || bytes[kept..].iter().any(|byte| usize::from(*byte) != padding) {
                return Err(Ora::new(28817).into());
            }
            bytes.truncate(kept);
        }
        0x3000 => {
            let kept = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
            bytes.truncate(kept);
        }
        _ => {}
    }
    Ok(Value::raw(bytes))
}
