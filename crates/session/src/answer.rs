//! Answers of calls.

use crate::core::Core;
use crate::flow::{Flow, failure_of};
use crate::open::Outcome;
use exec::ExecCtx;
use net::StatementKind;
use net::local::{Done, Failure, Reply, write_frame};
use types::Result;

/// Ends a call: writes a frame with its outcome or its error. An internal error is reported, with the call's statement
/// if `text` has it.
pub(crate) fn finish(
    core: &Core,
    result: Result<Done>,
    (kind, text): (StatementKind, Option<&str>),
    out: &mut Vec<u8>,
) -> Flow {
    let mut e = match result {
        Ok(done) => {
            write_frame(out, |o| Reply::Done(Box::new(done)).encode(o));
            return Flow::Continue;
        }
        Err(e) => e,
    };
    core.report(&mut e, text);
    let fatal = e.is(28) || e.is(603);
    let failure = Failure { fatal, ..failure_of(&e, kind) };
    write_frame(out, |o| Reply::Error(Box::new(failure)).encode(o));
    if fatal { Flow::End } else { Flow::Continue }
}

pub(crate) fn done(cx: &ExecCtx<'_>, outcome: Outcome) -> Done {
    Done {
        kind: outcome.kind,
        rows: outcome.rows,
        more: false,
        warning: outcome.warning,
        out: outcome.out,
        tables: outcome.tables,
        cursors: outcome.cursors,
        results: outcome.results,
        in_transaction: cx.session.txn.is_active(),
        schema: cx.session.schema.to_string(),
    }
}
