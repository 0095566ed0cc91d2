//! Exceptions being raised, and their messages.

use types::Ora;

/// An exception being raised.
#[derive(Debug)]
pub struct Fault {
    pub ora: Ora,
    /// The identity of a user-defined exception without an Oracle error.
    pub identity: u64,
}

impl From<Ora> for Fault {
    #[cold]
    fn from(ora: Ora) -> Fault {
        Fault { ora, identity: 0 }
    }
}

pub(crate) type Run<T> = Result<T, Fault>;

/// The messages of an error and of the errors below it, without the position lines. Those in a trigger belong to the
/// message of the statement that has fired it.
pub(crate) fn error_stack(e: &Ora) -> String {
    let mut out = e.headline();
    let of_triggers = e.context().iter().rposition(|c| c.is(4088)).unwrap_or(0);
    for (_, c) in e.context().iter().enumerate().filter(|(at, c)| *at < of_triggers || !c.is(6512)) {
        out.push('\n');
        out.push_str(&c.headline());
    }
    out
}

/// The message of a code for SQLERRM.
pub(super) fn message_of(code: i64) -> String {
    let positive = code.unsigned_abs() as u32;
    match code {
        0 => "ORA-0000: normal, successful completion".to_string(),
        1 => "User-Defined Exception".to_string(),
        100 => "ORA-01403: no data found".to_string(),
        c if c > 0 => format!("-{c}: non-ORACLE exception "),
        _ if (20000..=20999).contains(&positive) => format!("ORA-{positive}: "),
        _ => match types::bare_message(positive) {
            Some(text) => format!("ORA-{positive:05}: {text}"),
            None => format!("ORA-{positive:05}: Message {positive} not found;  product=RDBMS; facility=ORA"),
        },
    }
}
