//! Calls of the `functions` crate.

use crate::code::Code;
use crate::ctx::{ExecCtx, Host};
use crate::machine::Machine;
use crate::machine::copy;
use crate::session_state::SessionState;
use functions::{Clock, FnCtx, SessionInfo, TextMax};
use plan::{Func, Reg};
use types::{Ora, Result, Timestamp, Value};

/// The session as functions see it. SYS_CONTEXT is not called through it: the compiler turns it into a separate
/// expression.
struct Session<'a> {
    p: &'a process::Process,
    state: &'a SessionState,
    host: &'a dyn Host,
    sid: u32,
    now: Timestamp,
}

impl SessionInfo for Session<'_> {
    fn user(&self) -> &str {
        &self.state.user
    }

    fn user_id(&self) -> u32 {
        self.state.user_id
    }

    fn schema(&self) -> &str {
        &self.state.schema
    }

    fn sid(&self) -> u32 {
        self.sid
    }

    fn check_cancel(&self) -> Result<()> {
        self.p.check_cancel()
    }

    fn context(&self, _namespace: &str, _parameter: &str, _out: &mut String) -> Result<bool> {
        Ok(false)
    }

    fn guid(&self) -> [u8; 16] {
        self.host.sys_guid()
    }

    fn scn_to_timestamp(&self, scn: u64) -> Result<Timestamp> {
        self.host.time_of_scn(types::Scn(scn))
    }

    fn timestamp_to_scn(&self, time: &Timestamp) -> Result<u64> {
        self.host.scn_of_time(time).map(|scn| scn.0)
    }
}

impl Clock for Session<'_> {
    fn now(&self) -> Timestamp {
        self.now
    }
}

/// Evaluates the arguments into consecutive registers from `base` on and calls the function.
pub fn call(
    f: &Func,
    args: &[Code],
    (base, dst): (Reg, Reg),
    text_max: TextMax,
    m: &mut Machine,
    cx: &mut ExecCtx<'_>,
) -> Result<()> {
    for (i, code) in args.iter().enumerate() {
        let r = code.eval(m, cx)?;
        copy(r, base + i as Reg, m);
    }
    let session = Session { p: cx.p, state: cx.session, host: cx.host, sid: cx.p.sid(), now: m.now(cx) };
    let mut out = m.take(dst);
    let values = &m.regs[base as usize..base as usize + args.len()];
    let (nls, cache) = (&session.state.nls, &mut m.functions);
    let mut ctx = FnCtx { nls, session: &session, clock: &session, cache, text_max };
    let mut result = f.0.call(&mut ctx, values, &mut out);
    if let (Ok(()), TextMax::Text, Value::Text(text)) = (&result, text_max, &out)
        && text.len() > functions::SQL_TEXT_MAX
    {
        result = Err(Ora::new(1489));
    }
    m.put(dst, out);
    result
}
