//! A cursor's place in the library cache.

use super::figure::Span;
use super::figures::StatementKey;
use crate::ctx::{ExecCtx, Rights};
use crate::session_state::SessionState;
use library_cache::{
    AreaCounts, Candidates, Content, CursorSlot, Digest, Edition, Env, Fit, Handle, LibraryCache, LineCounts, Mismatch,
    Sharing, Statement,
};
use md5::Digest as _;
use plan::BindType;
use std::hash::{Hash, Hasher};
use wait::Stat;

/// A cursor's place in the library cache: the shared cursor it found or loaded, the slot that shows it to other
/// sessions, and the position of its figure.
#[derive(Default)]
pub struct Place {
    pub(super) handle: Option<Handle>,
    /// Digest of the text, once computed.
    pub(super) digest: Option<Digest>,
    /// The version of the shared cursor whose image was read.
    pub(super) edition: Option<Edition>,
    /// The shared cursor found is unusable and will be replaced.
    pub(super) is_stale: bool,
    /// Shared cursors of others, if the session has none of its own.
    pub(super) candidates: Candidates,
    /// Why the session cannot use them: bits of [`Mismatch`].
    pub(super) refused: u64,
    pub(super) slot: CursorSlot,
    pub(super) key: StatementKey,
    pub(super) segment: Segment,
}

/// The properties of the session that distinguish child cursors. `auth`: fingerprint of its rights.
pub(super) fn env_of<'a>(session: &'a SessionState, auth: u64, binds: &[BindType]) -> Env<'a> {
    Env {
        user: session.parsing_user,
        schema: &session.schema,
        optimizer: session.options.optimizer,
        nls: session.nls_fingerprint(),
        auth,
        binds: bind_signature(binds),
    }
}

/// A fingerprint of the rights beyond the user's own.
pub(super) fn number_of(rights: &Rights) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    rights.hash(&mut hasher);
    hasher.finish()
}

/// A fingerprint of the types of binds; 0 if one of them is unknown.
fn bind_signature(binds: &[BindType]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    for bind in binds {
        match bind {
            Some(ty) => ty.hash(&mut hasher),
            None => return 0,
        }
    }
    if binds.is_empty() { 0 } else { hasher.finish() | 1 }
}

impl Place {
    /// Looks a statement up. If found, this is a soft parse; otherwise the caller compiles the cursor and calls
    /// [`Place::load`]. A statement without a text is not shared.
    pub fn parse(text: &str, rights: &Rights, binds: &[BindType], cx: &mut ExecCtx<'_>) -> Place {
        Place::parse_for(text, rights, binds, None, cx)
    }

    /// As [`Place::parse`], for bind values with these selectivities.
    pub fn parse_for(
        text: &str,
        rights: &Rights,
        binds: &[BindType],
        selectivities: Option<&[f64]>,
        cx: &mut ExecCtx<'_>,
    ) -> Place {
        let mut place = Place::default();
        if !text.is_empty() {
            let (digest, auth) = (digest(text), number_of(rights));
            place.digest = Some(digest);
            let env = env_of(cx.session, auth, binds);
            match cx.shared.library.parse_or_candidates(cx.p, digest, &env, selectivities) {
                Ok(handle) => place.handle = Some(handle),
                Err(candidates) => place.candidates = candidates,
            }
            place.open(cx);
        }
        place
    }

    /// The same shared cursor, to be loaded again with a plan for the values of its binds.
    pub fn again(&self, cx: &ExecCtx<'_>) -> Place {
        let edition = self.handle.map(|handle| cx.shared.library.edition_of(handle));
        Place { handle: self.handle, digest: self.digest, edition, is_stale: edition.is_some(), ..Place::default() }
    }

    /// Whether another session has reloaded the shared cursor.
    pub fn is_loaded_again(&self, cx: &ExecCtx<'_>) -> bool {
        let now = self.handle.map(|handle| cx.shared.library.edition_of(handle));
        self.edition.is_some() && now != self.edition
    }

    /// How the shared cursor is shared among bind values.
    pub fn sharing(&self, cx: &ExecCtx<'_>) -> Sharing {
        self.handle.map_or(Sharing::Plain, |handle| cx.shared.library.sharing(handle))
    }

    /// Whether the shared cursor may be executed with bind values of these selectivities.
    pub fn fits<S: AsRef<[f64]>>(&self, selectivities: impl FnOnce() -> S, cx: &ExecCtx<'_>) -> bool {
        self.handle.is_none_or(|handle| cx.shared.library.fit(handle, selectivities) == Fit::Shared)
    }

    /// Corrections of estimates that an execution found for the statement, for the next parse.
    pub fn corrections(&self, text: &str, binds: &[BindType], cx: &ExecCtx<'_>) -> Vec<plan::Correction> {
        if text.is_empty() {
            return Vec::new();
        }
        let env = env_of(cx.session, number_of(&cx.host.rights()), binds);
        let found = cx.shared.library.corrections(cx.p, self.digest_of(text), &env);
        found.into_iter().map(|(scan, factor)| plan::Correction { scan, factor }).collect()
    }

    /// Retires the shared cursor, together with the corrections that an execution found. False if there is no shared
    /// cursor.
    pub fn correct(&self, found: &[plan::Correction], cx: &ExecCtx<'_>) -> bool {
        let found: Vec<(u64, f64)> = found.iter().map(|c| (c.scan, c.factor)).collect();
        self.handle.is_some_and(|handle| cx.shared.library.correct(cx.p, handle, &found))
    }

    /// Reports executions by bucket to the shared cursor, and the last one's values, rows and buffer gets.
    pub fn note_executions(&self, buckets: [u64; 3], last: (u64, u64, u64), cx: &ExecCtx<'_>) {
        if let Some(handle) = self.handle {
            cx.shared.library.note_executions(handle, buckets, last);
        }
    }

    /// Whether there is a shared cursor.
    pub fn is_found(&self) -> bool {
        self.handle.is_some()
    }

    /// The digest of the text.
    pub fn digest_of(&self, text: &str) -> Digest {
        self.digest.unwrap_or_else(|| digest(text))
    }

    /// Copies the image of the shared cursor; false when there is none.
    pub fn image(&mut self, out: &mut Vec<u8>, cx: &ExecCtx<'_>) -> bool {
        self.edition = self.handle.and_then(|handle| cx.shared.library.image(handle, out));
        self.edition.is_some()
    }

    /// Whether the library cache would again refuse an image of the cursor.
    pub fn refuses_image(&self, cx: &ExecCtx<'_>) -> bool {
        !self.is_stale && self.handle.is_some_and(|handle| cx.shared.library.left_out(handle).is_some())
    }

    /// The version of the shared cursor whose image was read, or that was loaded.
    pub fn edition(&self) -> Option<Edition> {
        self.edition
    }

    /// The shared cursor; [`Handle::NONE`] if there was no room.
    #[inline]
    pub fn handle(&self) -> Handle {
        self.handle.unwrap_or(Handle::NONE)
    }

    /// Shared cursors for other users, schemas or rights, which the session may try.
    pub fn candidates(&self) -> Candidates {
        self.candidates
    }

    /// Records that one of [`Place::candidates`] is valid for the session, which then uses it.
    pub fn take_kin(
        &mut self,
        (text, binds): (&str, &[BindType]),
        (handle, edition): (Handle, Edition),
        cx: &mut ExecCtx<'_>,
    ) {
        let digest = self.digest_of(text);
        let env = env_of(cx.session, number_of(&cx.host.rights()), binds);
        cx.shared.library.take_kin(cx.p, digest, handle, &env);
        (self.handle, self.edition) = (Some(handle), Some(edition));
        self.open(cx);
    }

    /// Records why one of [`Place::candidates`] is not.
    pub fn refuse_kin(&mut self, why: Mismatch) {
        self.refused |= 1 << why as u64;
    }

    /// The dictionary epoch, if the image is known to be valid in it.
    pub fn known_epoch(&self, now: u64, cx: &ExecCtx<'_>) -> Option<u64> {
        let number = dictionary::DictionaryShared::number_of(now)?;
        let edition = self.edition?;
        cx.shared.library.is_known(edition, number).then_some(now)
    }

    /// Notes for all sessions that the image is valid at an epoch of the dictionary.
    pub fn set_known(&self, epoch: u64, cx: &ExecCtx<'_>) {
        if let (Some(edition), Some(number)) = (self.edition, dictionary::DictionaryShared::number_of(epoch)) {
            cx.shared.library.set_known(edition, number);
        }
    }

    /// Records that names of the shared cursor have changed their meaning.
    pub fn set_stale(&mut self) {
        self.is_stale = true;
    }

    /// Puts a compiled statement into the library cache; a hard parse.
    pub fn load(&mut self, text: &str, command: u32, binds: &[BindType], content: &Content<'_>, cx: &mut ExecCtx<'_>) {
        if text.is_empty() {
            return;
        }
        // A plan for the first values of the binds belongs to the earlier parse.
        cx.p.count(Stat::ParseCountHard, u64::from(!content.adaptive.is_first));
        let slot = cx.p.session();
        let (module, action) = (slot.module.get(), slot.action.get());
        let mode = cx.session.options.optimizer_mode;
        let content = Content { module: &module, action: &action, mode, refused: self.refused, ..*content };
        let of = Statement { digest: self.digest_of(text), text: &sql::mask_passwords(text), command };
        let auth = number_of(&cx.host.rights());
        let stale = self.edition.filter(|_| self.is_stale);
        let env = env_of(cx.session, auth, binds);
        let library = cx.shared.library;
        let handle = library.load_instead(cx.p, &of, &env, &content, stale);
        (self.handle, self.edition, self.is_stale) = (Some(handle), Some(library.edition_of(handle)), false);
        self.open(cx);
    }

    pub(super) fn open(&mut self, cx: &mut ExecCtx<'_>) {
        if let Some(handle) = self.handle {
            self.slot = CursorSlot::default();
            self.slot = cx.shared.library.open(cx.p, handle);
        }
    }

    /// The digest of the statement, and the number of the child cursor.
    pub fn identify(&self, library: &LibraryCache) -> Option<(Digest, u64)> {
        library.identify(self.handle?)
    }

    /// Adds the figures of an execution's operations to the shared cursor.
    pub fn add_run(&self, plan_hash: u32, lines: &[(LineCounts, AreaCounts)], cx: &ExecCtx<'_>) {
        if let Some(handle) = self.handle {
            cx.shared.library.add_run(cx.p, handle, plan_hash, lines);
        }
    }

    /// Makes the shared cursor invalid, because the dictionary changed during the compilation.
    pub fn invalidate(&self, cx: &ExecCtx<'_>) {
        if let Some(handle) = self.handle {
            cx.shared.library.invalidate_cursor(cx.p, handle);
        }
    }

    /// Whether the shared cursor is valid and still has the plan that was found or loaded.
    pub fn has_valid_plan(&self, cx: &ExecCtx<'_>) -> bool {
        self.edition.is_some_and(|edition| cx.shared.library.is_valid_edition(edition))
    }

    /// Whether the shared cursor still exists and is valid.
    pub fn is_valid(&self, cx: &ExecCtx<'_>) -> bool {
        self.handle.is_some_and(|handle| cx.shared.library.is_valid(cx.p, handle))
    }

    /// Records that the session keeps the closed cursor, or uses it again.
    pub fn keep(&self, kept: bool) {
        self.slot.keep(kept);
    }
}

/// The current or last segment of a cursor, and averages over its segments.
#[derive(Default)]
pub(super) struct Segment {
    pub(super) runs: bool,
    pub(super) is_timed: bool,
    /// Number of segments until the next timed one, inclusive; 1 and 0: the next segment is timed.
    pub(super) left: u32,
    /// Untimed segments that are not charged yet.
    pub(super) untimed: u32,
    /// Timed segments of this call.
    pub(super) seen: u32,
    pub(super) call: u64,
    /// The figure whose segment this one interrupts.
    pub(super) outer: u32,
    /// The figure's time when the segment began.
    pub(super) from: Span,
    /// Average ticks of a short segment, and of all segments.
    pub(super) typical: f32,
    pub(super) mean: f32,
}

/// MD5 of a statement's text followed by a NUL.
pub fn digest(text: &str) -> Digest {
    let mut hasher = md5::Md5::new();
    hasher.update(text.as_bytes());
    hasher.update([0]);
    Digest(hasher.finalize().into())
}
