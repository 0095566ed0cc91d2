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

/// The messages of an error and of the errors below it, without the position lines.
pub(crate) fn error_stack(e: &Ora) -> String {
    let mut out = e.headline();
    for c in e.context().iter().filter(|c| !c.is(6512)) {
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
