//! A pipeline: calls that a client says without waiting for their answers.
//!
//! The first call has a piggyback before it that says what becomes of the calls behind one that fails; a call of its
//! own ends the pipeline. Each call is answered once, in its turn. No marker is sent within a pipeline, for the client
//! would not answer it: a break fails the call that runs, or the next one. Drivers wait for the answer to a break all
//! the same, behind the first call after the pipeline, and get it there.

use net::oracle::call::Piggyback;
use types::Ora;

/// The state of the pipeline under way, and of breaks in it.
#[derive(Debug, Default)]
pub struct Pipeline {
    /// Whether calls behind one that fails are refused; `None` outside of a pipeline.
    aborts: Option<bool>,
    has_failed: bool,
    /// The next call is broken.
    is_broken: bool,
    /// The break of a call that has ended has not been heard yet.
    awaits_marker: bool,
    /// A break is to be answered behind the next call outside of a pipeline.
    owes_answer: bool,
}

impl Pipeline {
    /// Begins a pipeline where something before the call says so.
    pub fn begin(&mut self, before: &[Piggyback]) {
        for piggyback in before {
            if let Piggyback::BeginPipeline { aborts } = piggyback {
                (self.aborts, self.has_failed, self.is_broken) = (Some(*aborts), false, false);
            }
        }
    }

    /// The pipeline has ended.
    pub fn end(&mut self) {
        self.aborts = None;
    }

    pub fn is_under_way(&self) -> bool {
        self.aborts.is_some()
    }

    /// A break was heard. False when it is none of a pipeline.
    pub fn heard_break(&mut self) -> bool {
        if std::mem::take(&mut self.awaits_marker) {
            return true;
        }
        self.is_broken |= self.is_under_way();
        self.owes_answer |= self.is_under_way();
        self.is_under_way()
    }

    /// A call was broken while it ran; its marker is to be heard still.
    pub fn was_broken(&mut self) {
        (self.awaits_marker, self.owes_answer) = (true, true);
    }

    /// A call has failed.
    pub fn failed(&mut self) {
        self.has_failed = true;
    }

    /// Why the next call is not run.
    pub fn refusal(&mut self) -> Option<Ora> {
        let aborts = self.aborts?;
        if std::mem::take(&mut self.is_broken) {
            return Some(Ora::new(1013));
        }
        (aborts && self.has_failed).then(|| Ora::new(43610))
    }

    /// Whether a break is to be answered now, behind a call.
    pub fn owes_answer(&mut self) -> bool {
        !self.is_under_way() && std::mem::take(&mut self.owes_answer)
    }
}
