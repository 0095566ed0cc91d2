//! Diffie-Hellman key exchange in the group of 2048 bits of RFC 3526. Neither the memory touched nor the time depends
//! on the bits of the secret.

use crate::local::{WireError, WireResult};
use crypto_bigint::modular::ConstMontyParams;
use crypto_bigint::{CtLt, U256, U2048};
use zeroize::Zeroizing;

/// Bytes of the prime, of a public number and of the secret.
pub const LEN: usize = 256;
/// Bytes of a private number.
pub const PRIVATE_LEN: usize = 32;
/// The generator.
pub const GENERATOR: u8 = 2;

crypto_bigint::const_monty_params!(
    Prime,
    U2048,
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD\
     EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED\
     EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F\
     83655D23DCA3AD961C62F356208552BB9ED529077096966D670C354E4ABC9804F1746C08CA18217C32905E462E36CE3B\
     E39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF6955817183995497CEA956AE515D2261898FA0510\
     15728E5A8AACAA68FFFFFFFFFFFFFFFF",
    "2^2048 - 2^1984 - 1 + 2^64 · (⌊2^1918 π⌋ + 124476)."
);
crypto_bigint::const_monty_form!(Residue, Prime);

/// The bytes of the prime.
pub fn prime() -> [u8; LEN] {
    bytes_of(Prime::PARAMS.modulus().as_ref())
}

/// A private number and its public number. It may serve several connections, each of which has its own vector.
pub struct Pair {
    private: Zeroizing<[u8; PRIVATE_LEN]>,
    public: [u8; LEN],
}

impl Pair {
    /// Makes a pair from a private number, which must be fresh from the kernel.
    pub fn new(private: [u8; PRIVATE_LEN]) -> Pair {
        let private = Zeroizing::new(private);
        let public = public(&private);
        Pair { private, public }
    }

    pub fn public(&self) -> &[u8; LEN] {
        &self.public
    }

    /// [`secret`] with the private number of the pair.
    ///
    /// # Errors
    /// Those of [`secret`].
    pub fn secret(&self, public: &[u8]) -> WireResult<Zeroizing<[u8; LEN]>> {
        secret(&self.private, public)
    }
}

/// The public number for a private one.
pub fn public(private: &[u8; PRIVATE_LEN]) -> [u8; LEN] {
    power(&U2048::from(GENERATOR), private)
}

/// The shared secret from the private number of one side and the public number of the other.
///
/// # Errors
/// [`WireError::BadValue`] for an invalid public number, or one that makes the secret predictable.
pub fn secret(private: &[u8; PRIVATE_LEN], public: &[u8]) -> WireResult<Zeroizing<[u8; LEN]>> {
    // Some clients write a zero before a number whose first bit is set, and no zeros before a short one.
    let first = public.iter().position(|b| *b != 0).unwrap_or(public.len());
    let digits = &public[first..];
    let mut bytes = [0; LEN];
    bytes.get_mut(LEN.wrapping_sub(digits.len())..).ok_or(WireError::BadValue)?.copy_from_slice(digits);
    let number = U2048::from_be_slice(&bytes);
    let last = Prime::PARAMS.modulus().as_ref().wrapping_sub(&U2048::ONE);
    let is_safe = U2048::ONE.ct_lt(&number) & number.ct_lt(&last);
    if !is_safe.to_bool() {
        return Err(WireError::BadValue);
    }
    Ok(Zeroizing::new(power(&number, private)))
}

fn bytes_of(number: &U2048) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    bytes.copy_from_slice(number.to_be_bytes().as_ref());
    bytes
}

fn power(base: &U2048, exponent: &[u8; PRIVATE_LEN]) -> [u8; LEN] {
    let exponent = Zeroizing::new(U256::from_be_slice(exponent));
    let power = Zeroizing::new(Residue::new(base).pow(&exponent));
    bytes_of(&Zeroizing::new(power.retrieve()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_have_the_known_values() {
        let exponent = |n: u16| {
            let mut bytes = [0; PRIVATE_LEN];
            bytes[PRIVATE_LEN - 2..].copy_from_slice(&n.to_be_bytes());
            bytes
        };
        assert_eq!(power(&U2048::from(3u8), &exponent(20)), bytes_of(&U2048::from(3_486_784_401u64)));
        assert_eq!(power(&U2048::from(7u8), &exponent(0)), bytes_of(&U2048::ONE));
        // 2^2048 modulo the prime is 2^2048 minus the prime.
        let more = U2048::ZERO.wrapping_sub(Prime::PARAMS.modulus().as_ref());
        assert_eq!(public(&exponent(2048)), bytes_of(&more));
    }

    #[test]
    fn both_sides_have_the_same_secret_and_numbers_that_give_it_away_are_refused() {
        let private = |from: u8| std::array::from_fn(|at| from.wrapping_mul(at as u8 + 1) ^ 0x5a);
        let (a, b) = (private(7), private(201));
        let shared = secret(&a, &public(&b)).unwrap();
        assert_eq!(shared, secret(&b, &public(&a)).unwrap());
        assert_ne!(shared[..32], [0; 32]);
        let with_zero: Vec<u8> = std::iter::once(0).chain(public(&b)).collect();
        assert_eq!(secret(&a, &with_zero).unwrap(), shared);
        let mut last = prime();
        last[LEN - 1] -= 1;
        let mut one = [0; LEN];
        one[LEN - 1] = 1;
        for bad in [&[0; LEN][..], &one, &last, &prime(), &[0xff; LEN], &[3; LEN + 1]] {
            assert_eq!(secret(&a, bad).map(drop), Err(WireError::BadValue));
        }
    }
}
