//! What a statement names, got and pinned in the library cache while it is parsed hard.

use crate::ctx::ExecCtx;
use dictionary::{Catalog, ObjectName};
use library_cache::{Digest, Edition, Env, Handle, LibraryCache, Namespace, Object};
use md5::Digest as _;
use process::Process;
use types::ObjectId;

/// MD5 of name, owner and namespace.
fn digest(namespace: Namespace, owner: &str, name: &str) -> Digest {
    let mut hasher = md5::Md5::new();
    for part in [name.as_bytes(), b".", owner.as_bytes()] {
        hasher.update(part);
    }
    hasher.update((namespace as u32).to_le_bytes());
    Digest(hasher.finalize().into())
}

/// Gets and pins an object of the dictionary for a moment; true when the library cache had it. `object` is its number,
/// 0 for what is built in. What has no namespace there is passed over.
///
/// Latches and waits: those of [`LibraryCache::touch`].
pub fn touch(p: &Process, library: &LibraryCache, type_code: u8, owner: &str, name: &str, object: u32) -> bool {
    let type_code = u16::from(type_code);
    let Some(namespace) = Namespace::of_type(type_code) else { return false };
    library
        .touch(p, &Object { digest: digest(namespace, owner, name), namespace, type_code, owner, name, number: object })
}

/// As [`touch`], of a stored unit; gives the image of its code for those settings.
#[allow(clippy::too_many_arguments)] // An object, and what makes its images differ.
pub fn touch_code(
    p: &Process,
    library: &LibraryCache,
    type_code: u8,
    owner: &str,
    name: &str,
    object: u32,
    env: &Env<'_>,
) -> Option<Handle> {
    let type_code = u16::from(type_code);
    let namespace = Namespace::of_type(type_code)?;
    let digest = digest(namespace, owner, name);
    library.touch_code(p, &Object { digest, namespace, type_code, owner, name, number: object }, env)
}

/// Puts the image of a stored unit's code into the library cache. A unit is its TYPE#, owner, name and number; `stale`
/// is an image of it that is of no use.
///
/// Latches and waits: those of [`LibraryCache::load_code`].
pub fn load_code(
    p: &Process,
    library: &LibraryCache,
    (type_code, owner, name, number): (u8, &str, &str, u32),
    env: &Env<'_>,
    image: &[u8],
    stale: Option<Edition>,
) {
    let type_code = u16::from(type_code);
    let Some(namespace) = Namespace::of_type(type_code) else { return };
    let digest = digest(namespace, owner, name);
    library.load_code(p, &Object { digest, namespace, type_code, owner, name, number }, env, image, stale);
}

/// What the library cache knows an object by; nothing for what has no namespace there.
pub fn identity(type_code: u8, owner: &str, name: &str) -> Option<(Namespace, Digest)> {
    let namespace = Namespace::of_type(type_code.into())?;
    Some((namespace, digest(namespace, owner, name)))
}

/// As [`touch`], of an object that the dictionary has named.
pub fn touch_named(p: &Process, library: &LibraryCache, named: &ObjectName) -> bool {
    touch(p, library, named.kind as u8, &named.owner, &named.name, named.object.0)
}

/// Gets what a plan depends on, the synonyms by which that was named, and the clusters its tables are in; returns their
/// numbers: what makes the cursor invalid.
pub(crate) fn touch_all(cx: &ExecCtx<'_>, catalog: &dyn Catalog, depends: &[ObjectId]) -> Vec<u32> {
    let mut numbers: Vec<u32> = depends.iter().chain(&catalog.take_followed()).map(|object| object.0).collect();
    let mut clusters = Vec::new();
    for number in &numbers {
        if let Some(named) = catalog.called(ObjectId(*number)) {
            touch_named(cx.p, cx.shared.library, &named);
            clusters.extend(named.cluster.map(|cluster| cluster.0).filter(|c| !numbers.contains(c)));
        }
    }
    clusters.dedup();
    for cluster in &clusters {
        if let Some(named) = catalog.called(ObjectId(*cluster)) {
            touch_named(cx.p, cx.shared.library, &named);
        }
    }
    numbers.extend(clusters);
    numbers
}
