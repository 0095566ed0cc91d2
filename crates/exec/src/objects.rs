//! Objects that a statement names, got and pinned in the library cache during a hard parse.

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

/// Gets and pins an object of the dictionary for a moment. True when the library cache had it. `object` is its number,
/// 0 for a built-in object. An object without a namespace in the library cache is skipped.
///
/// Latches and waits: those of [`LibraryCache::touch`].
pub fn touch(p: &Process, library: &LibraryCache, type_code: u8, owner: &str, name: &str, object: u32) -> bool {
    let type_code = u16::from(type_code);
    let Some(namespace) = Namespace::of_type(type_code) else { return false };
    library
        .touch(p, &Object { digest: digest(namespace, owner, name), namespace, type_code, owner, name, number: object })
}

/// As [`touch`], for a stored unit; returns the image of its code for these settings.
#[allow(clippy::too_many_arguments)] // The object, and the settings that its images differ by.
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

/// Puts the image of a stored unit's code into the library cache. The unit is named by TYPE#, owner, name and number.
/// `stale` is an unusable image of the unit.
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

/// The key of an object in the library cache; `None` for an object without a namespace there.
pub fn identity(type_code: u8, owner: &str, name: &str) -> Option<(Namespace, Digest)> {
    let namespace = Namespace::of_type(type_code.into())?;
    Some((namespace, digest(namespace, owner, name)))
}

/// As [`touch`], for an object named by the dictionary.
pub fn touch_named(p: &Process, library: &LibraryCache, named: &ObjectName) -> bool {
    touch(p, library, named.kind as u8, &named.owner, &named.name, named.object.0)
}

/// Gets the objects that a plan depends on, the synonyms that named them, and the clusters of its tables. Returns their
/// numbers: a change of one makes the cursor invalid.
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
