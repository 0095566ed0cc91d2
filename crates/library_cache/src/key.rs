//! The key of a parent, and the bucket of its chain.

use crate::layout::Parent;
use crate::{Digest, LibraryCache, Namespace};

/// The key of a parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub digest: Digest,
    pub namespace: Namespace,
    pub copy: u8,
}

impl Key {
    pub(crate) fn of(parent: &Parent) -> Key {
        let about = parent.about();
        Key { digest: parent.digest(), namespace: Namespace::of(about.namespace), copy: about.copy }
    }

    /// P1 of waits: the identifier of the object.
    pub(crate) fn idn(&self) -> u64 {
        self.digest.hash_value().into()
    }

    /// The key of the simulation for `v$shared_pool_advice`.
    #[inline]
    pub(crate) fn followed(&self) -> u32 {
        self.hash() as u32
    }

    fn hash(&self) -> u64 {
        let salt = (self.namespace as u64) << 8 | u64::from(self.copy);
        let h = self.digest.value() ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        h ^ h >> 32
    }
}

impl LibraryCache {
    pub(crate) fn bucket(&self, key: &Key) -> usize {
        (key.hash() & (self.buckets.len() as u64 - 1)) as usize
    }
}
