//! A pipeline: calls that a client sends without waiting for their answers (invariant 20).
//!
//! The first call has a piggyback in front that says whether calls after a failed one are refused; a separate call ends
//! the pipeline. Each call is answered once, in its turn. The server sends no marker within a pipeline, because the
//! client would not answer it: a break fails the present call, or the next one. Drivers still wait for the answer to a
//! break after the first call behind the pipeline, and get it there.

use net::oracle::call::Piggyback;
use types::Ora;

/// The state of the present pipeline, and of breaks in it.
#[derive(Debug, Default)]
pub struct Pipeline {
    /// Whether calls after a failed one are refused; `None` outside a pipeline.
    aborts: Option<bool>,
    has_failed: bool,
    /// The next call is broken.
    is_broken: bool,
    /// The marker of a break that ended a call has not been read yet.
    awaits_marker: bool,
    /// A break must be answered after the next call outside a pipeline.
    owes_answer: bool,
}

impl Pipeline {
    /// Begins a pipeline if a piggyback says so.
    pub fn begin(&mut self, before: &[Piggyback]) {
        for piggyback in before {
            if let Piggyback::BeginPipeline { aborts } = piggyback {
                (self.aborts, self.has_failed, self.is_broken) = (Some(*aborts), false, false);
            }
        }
    }

    /// Ends the pipeline.
    pub fn end(&mut self) {
        self.aborts = None;
    }

    pub fn is_under_way(&self) -> bool {
        self.aborts.is_some()
    }

    /// Handles a break. False when it does not belong to a pipeline.
    pub fn heard_break(&mut self) -> bool {
        if std::mem::take(&mut self.awaits_marker) {
            return true;
        }
        self.is_broken |= self.is_under_way();
        self.owes_answer |= self.is_under_way();
        self.is_under_way()
    }

    /// Notes that a call was broken while it ran; its marker is still to be read.
    pub fn was_broken(&mut self) {
        (self.awaits_marker, self.owes_answer) = (true, true);
    }

    /// Notes that a call has failed.
    pub fn failed(&mut self) {
        self.has_failed = true;
    }

    /// The reason why the next call is not run.
    pub fn refusal(&mut self) -> Option<Ora> {
        let aborts = self.aborts?;
        if std::mem::take(&mut self.is_broken) {
            return Some(Ora::new(1013));
        }
        (aborts && self.has_failed).then(|| Ora::new(43610))
    }

    /// Whether a break must be answered now, after a call.
    pub fn owes_answer(&mut self) -> bool {
        !self.is_under_way() && std::mem::take(&mut self.owes_answer)
    }
}
