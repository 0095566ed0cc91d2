//! Runs the subprograms of the built-in packages.

use super::args::{Args, unquote};
use super::natives::{LOBS_FIRST, NATIVES, Native, STATS_FIRST};
use super::random::Random;
use super::{lobs, stats};
use crate::datum::{Coll, CollData, CollInfo, CollKind, Datum};
use crate::intmap::IntMap;
use crate::machine::{Machine, Run, error_stack, scalar};
use crate::requests::{
    AuditRequest, ConnectionPoolRequest, FlashbackRequest, JobChange, JobRequest, RepositoryRequest,
    ResultCacheRequest, SessionlessRequest, SharedPoolRequest, XaRequest,
};
use crate::state::Plsql;
use crate::world::World;
use std::rc::Rc;
use types::{Date, Number, Ora, Region, Result, Value, codec};

/// DBMS_SHARED_POOL.
fn pool<W: World>(w: &mut W, request: SharedPoolRequest) -> Result<Value> {
    w.shared_pool(&request).map(|()| Value::Null)
}

/// DBMS_CONNECTION_POOL.
fn connection_pool<W: World>(w: &mut W, pool: &str, request: ConnectionPoolRequest<'_>) -> Result<Value> {
    w.connection_pool(pool, request).map(|()| Value::Null)
}

fn number(n: i64) -> Value {
    Value::Number(Number::from_i64(n))
}

/// DBMS_RANDOM.VALUE, if `native` is that function and its bounds are numbers.
#[inline]
pub(crate) fn random_number<C: 'static>(native: u32, s: &Plsql<C>, args: &[Datum]) -> Option<Number> {
    if native >= STATS_FIRST {
        return None;
    }
    match (NATIVES[native as usize].3, args) {
        (Native::RandomValue, []) => s.with_random(Random::value).ok(),
        (Native::RandomBetween, [Datum::Val(Value::Number(low)), Datum::Val(Value::Number(high))]) => {
            s.with_random(|r| r.between(low, high)).ok()
        }
        _ => None,
    }
}

/// Runs a native subprogram; OUT arguments are changed in place.
pub(crate) fn run<W: World>(
    native: u32,
    s: &Plsql<W::Cursor>,
    w: &mut W,
    m: &mut Machine,
    args: &mut Vec<Datum>,
) -> Run<Datum> {
    let mut a = Args(args);
    if let Some(native) = native.checked_sub(LOBS_FIRST) {
        return lobs::run(native, w, &mut a).map(Datum::Val);
    }
    if let Some(native) = native.checked_sub(STATS_FIRST) {
        return stats::run(native, w, &mut a).map(Datum::Val);
    }
    Ok(Datum::Val(match NATIVES[native as usize].3 {
        Native::RandomBetween => match (a.number(0), a.number(1)) {
            (Some(low), Some(high)) => Value::Number(s.with_random(|r| r.between(&low, &high))?),
            _ => Value::Null,
        },
        Native::RandomValue => Value::Number(s.with_random(Random::value)?),
        Native::RandomNormal => Value::Number(Number::from_f64(s.with_random(Random::normal))?),
        Native::RandomRandom => number(i64::from(s.with_random(Random::random))),
        Native::RandomString => {
            let len = a.integer(1).unwrap_or(0).clamp(0, 32767) as usize;
            let option = a.text(0).to_string();
            s.with_random(|r| r.string(&option, len))
        }
        Native::RandomSeed | Native::RandomSeed1 => {
            let seed = a.integer(0).unwrap_or(0);
            s.with_random(|r| *r = Random::new(seed as u64));
            Value::Null
        }
        Native::RandomSeedText => {
            let seed = Random::seed_text(a.text(0));
            s.with_random(|r| *r = seed);
            Value::Null
        }
        Native::RandomTerminate | Native::SessionFree => Value::Null,
        Native::SessionSetIdentifier => {
            w.set_identifier(a.text(0));
            Value::Null
        }
        Native::SessionClearIdentifier => {
            w.set_identifier("");
            Value::Null
        }
        Native::SessionSetContext => {
            w.change_context(a.text(0), Some(a.text(1)), Some(a.text(2)))?;
            Value::Null
        }
        Native::SessionClearContext => {
            let attribute = a.optional_text(2);
            w.change_context(a.text(0), attribute.as_deref(), None)?;
            Value::Null
        }
        Native::SessionClearAllContext => {
            w.change_context(a.text(0), None, None)?;
            Value::Null
        }
        Native::JdwpSession => w.sys_context("USERENV", "SID")?,
        Native::JdwpSerial => number(w.session_serial()),
        Native::SqlReturnResult => {
            // Results that are not for the client would be for the caller of DBMS_SQL, which does not exist here.
            if a.flag(1) {
                s.return_result(std::mem::replace(&mut a.0[0], Datum::Cur(None)))?;
            }
            Value::Null
        }
        Native::OutputEnable => {
            let limit = a.integer(0).map(|n| n.clamp(2000, 1_000_000) as usize);
            s.set_output(true, limit);
            Value::Null
        }
        Native::OutputDisable => {
            s.set_output(false, None);
            Value::Null
        }
        Native::OutputPut => {
            s.with_output(|o| o.put(a.text(0)))?;
            Value::Null
        }
        Native::OutputPutLine => {
            s.with_output(|o| o.put(a.text(0)).map(|()| o.new_line()))?;
            Value::Null
        }
        Native::OutputNewLine => {
            s.with_output(|o| o.new_line());
            Value::Null
        }
        Native::OutputGetLine => {
            let line = s.with_output(|o| o.take());
            a.set(1, number(i64::from(line.is_none())));
            a.set(0, line.map_or(Value::Null, Value::text));
            Value::Null
        }
        Native::OutputGetLines => {
            let wanted = a.integer(1).unwrap_or(0).max(0) as usize;
            let lines = s.take_output(wanted);
            a.set(1, number(lines.len() as i64));
            let items = lines.into_iter().map(Value::text);
            a.0[0] = by_integer(items);
            Value::Null
        }
        Native::GetTime => number(w.hsecs() as i32 as i64),
        Native::GetCpuTime => number(w.cpu_hsecs() as i32 as i64),
        Native::Sleep | Native::SessionSleep => {
            let seconds = a.number(0).ok_or_else(|| scalar::value_error(""))?.to_f64();
            if !(0.0..=32767.0).contains(&seconds) {
                return Err(Ora::with(38148, &[]).into());
            }
            w.sleep(seconds)?;
            Value::Null
        }
        Native::ErrorStack => match m.current_error() {
            Some(e) => Value::text(format!("{}\n", error_stack(e))),
            None => Value::Null,
        },
        Native::ErrorBacktrace => match m.current_error() {
            Some(_) => Value::text(m.backtrace.clone()),
            None => Value::Null,
        },
        Native::CallStack => {
            let mut text =
                String::from("----- PL/SQL Call Stack -----\n  object      line  object\n  handle    number  name\n");
            for (line, name) in m.call_stack() {
                text.push_str(&format!("{:>10}{line:>10}  {name}\n", "0x0"));
            }
            Value::text(text)
        }
        Native::DbVersion => {
            let (version, compatible) = (w.database_says("version")?, w.database_says("compatible")?);
            a.set(1, compatible);
            a.set(0, version);
            Value::Null
        }
        Native::Compatible => w.database_says("compatible")?,
        Native::MaxStringSize => w.database_says("max_string_size")?,
        Native::TransactionCommit => {
            w.commit()?;
            Value::Null
        }
        Native::TransactionRollback => {
            w.rollback()?;
            Value::Null
        }
        Native::TransactionSavepoint => {
            w.savepoint(&a.text(0).to_uppercase())?;
            Value::Null
        }
        Native::TransactionRollbackTo => {
            w.rollback_to(&a.text(0).to_uppercase())?;
            Value::Null
        }
        Native::TransactionReadOnly => {
            w.set_transaction("set transaction read only")?;
            Value::Null
        }
        Native::TransactionReadWrite => {
            w.set_transaction("set transaction read write")?;
            Value::Null
        }
        Native::TransactionId => {
            let create = matches!(a.0.first(), Some(Datum::Val(Value::Boolean(true))));
            w.transaction_id(create)?
        }
        Native::TransactionStart => {
            let [Some(kind), Some(timeout_s), Some(flag)] = [1, 2, 3].map(|i| a.integer(i)) else {
                return Err(Ora::new(26213).into());
            };
            w.sessionless(&SessionlessRequest::Start { id: a.raw(0), kind, timeout_s, flag })?
        }
        Native::TransactionSuspend => w.sessionless(&SessionlessRequest::Suspend)?,
        Native::TransactionGlobalId => w.sessionless(&SessionlessRequest::Id)?,
        Native::HashValue => {
            let hash = a
                .text(0)
                .bytes()
                .fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
            let size = a.integer(2).unwrap_or(1).max(1);
            number(a.integer(1).unwrap_or(0) + ((hash >> 1) as i64 % size))
        }
        Native::ZoneTransitions => {
            let region = a.integer(0).and_then(|n| u16::try_from(n).ok()).and_then(Region::numbered);
            a.set(1, Value::Raw(transitions(region.ok_or_else(|| Ora::new(1882))?)));
            Value::Null
        }
        Native::CommaToTable => {
            let parts: Vec<Value> = a.text(0).split(',').map(|p| Value::text(p.trim())).collect();
            a.set(1, number(parts.len() as i64));
            a.0[2] = by_integer(parts.into_iter());
            Value::Null
        }
        Native::ExecDdl => {
            let text = a.text(0).to_string();
            w.execute_other(&text)?;
            Value::Null
        }
        Native::RaiseApplicationError => return Err(application_error(&a, m).into()),
        Native::SetModule => {
            let (module, action) = (a.optional_text(0).unwrap_or_default(), a.optional_text(1).unwrap_or_default());
            w.set_application_info(Some(&module), Some(&action), None);
            Value::Null
        }
        Native::SetAction => {
            w.set_application_info(None, Some(a.text(0)), None);
            Value::Null
        }
        Native::SetClientInfo => {
            w.set_application_info(None, None, Some(a.text(0)));
            Value::Null
        }
        Native::ReadModule => {
            let (module, action) = (w.sys_context("USERENV", "MODULE")?, w.sys_context("USERENV", "ACTION")?);
            a.set(0, module);
            a.set(1, action);
            Value::Null
        }
        Native::ReadClientInfo => {
            let info = w.sys_context("USERENV", "CLIENT_INFO")?;
            a.set(0, info);
            Value::Null
        }
        Native::SessionReset => {
            s.reset_packages();
            Value::Null
        }
        Native::SessionSetRole => {
            w.set_role(a.text(0))?;
            Value::Null
        }
        Native::SessionSetNls => {
            w.set_nls(a.text(0), a.text(1))?;
            Value::Null
        }
        Native::JobSubmit => {
            let job = JobRequest {
                what: a.text(1).to_string(),
                next_date: date(a.value(2)),
                interval: interval(a.optional_text(3)),
                instance: a.integer(5).unwrap_or(0),
            };
            if job.what.trim().is_empty() {
                return Err(Ora::new(23319).into());
            }
            let id = w.job_submit(&job)?;
            a.set(0, number(id));
            Value::Null
        }
        Native::JobRemove => {
            w.job_remove(job(&a)?)?;
            Value::Null
        }
        Native::JobRun => {
            w.job_run(job(&a)?)?;
            Value::Null
        }
        Native::JobChange => {
            let change = JobChange {
                what: a.optional_text(1),
                next_date: date(a.value(2)),
                interval: a.optional_text(3).map(|i| interval(Some(i))),
                broken: None,
            };
            w.job_change(job(&a)?, &change)?;
            Value::Null
        }
        Native::JobWhat => {
            let change = JobChange { what: a.optional_text(1), ..JobChange::default() };
            w.job_change(job(&a)?, &change)?;
            Value::Null
        }
        Native::JobNextDate => {
            let change = JobChange { next_date: date(a.value(1)), ..JobChange::default() };
            w.job_change(job(&a)?, &change)?;
            Value::Null
        }
        Native::JobInterval => {
            let change = JobChange { interval: Some(interval(a.optional_text(1))), ..JobChange::default() };
            w.job_change(job(&a)?, &change)?;
            Value::Null
        }
        Native::JobBroken => {
            let change = JobChange { broken: Some(a.flag(1)), next_date: date(a.value(2)), ..JobChange::default() };
            w.job_change(job(&a)?, &change)?;
            Value::Null
        }
        Native::FlashbackTime | Native::FlashbackScn => w.flashback(&FlashbackRequest::Enable(a.value(0).clone()))?,
        Native::AuditClean => {
            let only_archived = !matches!(a.value(1), Value::Boolean(false));
            w.audit_trail(&AuditRequest::Clean { trail: a.integer(0).unwrap_or(0), only_archived })?;
            Value::Null
        }
        Native::AuditSetLast => {
            let at = match a.value(1) {
                Value::Timestamp(at) => Some(*at),
                _ => None,
            };
            w.audit_trail(&AuditRequest::SetLast { trail: a.integer(0).unwrap_or(0), at })?;
            Value::Null
        }
        Native::AuditClearLast => {
            w.audit_trail(&AuditRequest::ClearLast { trail: a.integer(0).unwrap_or(0) })?;
            Value::Null
        }
        Native::CpoolStart => connection_pool(w, a.text(0), ConnectionPoolRequest::Start)?,
        Native::CpoolStop => connection_pool(w, a.text(0), ConnectionPoolRequest::Stop)?,
        Native::CpoolConfigure => {
            let settings = std::array::from_fn(|i| a.integer(i + 1));
            connection_pool(w, a.text(0), ConnectionPoolRequest::Configure(settings))?
        }
        Native::CpoolAlter => {
            let (name, value) = (a.text(1), a.text(2));
            connection_pool(w, a.text(0), ConnectionPoolRequest::Alter { name, value })?
        }
        Native::CpoolRestore => connection_pool(w, a.text(0), ConnectionPoolRequest::RestoreDefaults)?,
        Native::FlashbackEnd => w.flashback(&FlashbackRequest::Disable)?,
        Native::FlashbackNow => w.flashback(&FlashbackRequest::CurrentScn)?,
        Native::CreateSnapshot | Native::CreateSnapshotFunction => {
            let level = a.text(0).to_string();
            number(w.create_snapshot(&level)?)
        }
        Native::SnapshotSettings => {
            let [retention, interval, top] = [0, 1, 2].map(|i| a.integer(i));
            w.repository(&RepositoryRequest::Settings { retention, interval, top })?
        }
        Native::DropSnapshots => {
            let [low, high] = [0, 1].map(|i| a.integer(i).unwrap_or(0));
            w.repository(&RepositoryRequest::DropSnapshots { low, high })?
        }
        Native::CreateBaseline | Native::CreateBaselineFunction => {
            let [begin, end] = [0, 1].map(|i| a.integer(i).unwrap_or(0));
            w.repository(&RepositoryRequest::CreateBaseline { begin, end, name: a.text(2).to_string() })?
        }
        Native::DropBaseline => {
            w.repository(&RepositoryRequest::DropBaseline { name: a.text(0).to_string(), cascade: a.flag(1) })?
        }
        Native::AwrReportText | Native::AwrReportHtml => {
            let [begin, end] = [2, 3].map(|i| a.integer(i).unwrap_or(0));
            let html = matches!(NATIVES[native as usize].3, Native::AwrReportHtml);
            w.repository(&RepositoryRequest::Report { begin, end, html })?
        }
        Native::AwrDiffReportText | Native::AwrDiffReportHtml => {
            let [begin, end, second_begin, second_end] = [2, 3, 6, 7].map(|i| a.integer(i).unwrap_or(0));
            let html = matches!(NATIVES[native as usize].3, Native::AwrDiffReportHtml);
            w.repository(&RepositoryRequest::Compare { first: (begin, end), second: (second_begin, second_end), html })?
        }
        Native::AshReportText | Native::AshReportHtml => {
            let html = matches!(NATIVES[native as usize].3, Native::AshReportHtml);
            let said = |i: usize| a.optional_text(i).filter(|text| !text.is_empty()).map(|text| text.to_string());
            // There is one service, and PL/SQL calls are not recorded.
            if a.integer(9).is_some() || said(13).is_some() {
                return Err(Ora::unsupported().into());
            }
            w.repository(&RepositoryRequest::Ash {
                begin: a.value(2).clone(),
                end: a.value(3).clone(),
                sid: a.integer(6),
                sql_id: said(7),
                wait_class: said(8),
                module: said(10),
                action: said(11),
                client: said(12),
                source: a.integer(14).unwrap_or(0),
                html,
            })?
        }
        Native::LockConvert => {
            let id = lock_id(a.integer(0))?;
            lock_convert(w, &a, id)?
        }
        Native::LockConvertHandle => {
            let id = lock_handle(a.text(0))?;
            lock_convert(w, &a, id)?
        }
        Native::XaStart => number(w.xa(a.raw(0), &XaRequest::Start { flags: a.integer(1).unwrap_or(0) })?),
        Native::XaEnd => number(w.xa(a.raw(0), &XaRequest::End { flags: a.integer(1).unwrap_or(0) })?),
        Native::XaPrepare => number(w.xa(a.raw(0), &XaRequest::Prepare)?),
        Native::XaCommit => number(w.xa(a.raw(0), &XaRequest::Commit { one_phase: a.flag(1) })?),
        Native::XaRollback => number(w.xa(a.raw(0), &XaRequest::Rollback)?),
        Native::XaForget => number(w.xa(a.raw(0), &XaRequest::Forget)?),
        Native::XaRecover => return Ok(by_integer(w.xa_recover()?.into_iter().map(Value::Raw))),
        // There is one instance, so nothing needs synchronization.
        Native::XaSync => Value::Null,
        Native::XaSetTimeout => number(w.xa(&[], &XaRequest::SetTimeout(a.integer(0).unwrap_or(0)))?),
        Native::XaLastError => number(w.xa(&[], &XaRequest::LastError)?),
        Native::LockRequest => {
            let id = lock_id(a.integer(0))?;
            lock_request(w, &a, id)?
        }
        Native::LockRequestHandle => {
            let id = lock_handle(a.text(0))?;
            lock_request(w, &a, id)?
        }
        Native::LockRelease => number(w.user_lock_release(lock_id(a.integer(0))?)?),
        Native::LockReleaseHandle => number(w.user_lock_release(lock_handle(a.text(0))?)?),
        Native::LockAllocate => {
            let hash = a.text(0).bytes().fold(0x811c_9dc5u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
            // Handles stand for locks with numbers above those that programs choose.
            let id = 1_073_741_824 + hash % 800_000_000;
            a.set(1, Value::text(format!("{id}{:010}", id % 97)));
            Value::Null
        }
        Native::RcStatus => w.result_cache(&ResultCacheRequest::Status)?,
        Native::RcFlush | Native::RcFlushFunction => w.result_cache(&ResultCacheRequest::Flush)?,
        Native::RcBypass => w.result_cache(&ResultCacheRequest::Bypass(a.flag(0)))?,
        Native::RcReport => {
            let report = w.result_cache(&ResultCacheRequest::MemoryReport { detailed: a.flag(0) })?;
            if let Value::Text(text) = report {
                for line in text.lines() {
                    s.with_output(|o| o.put(line).map(|()| o.new_line()))?;
                }
            }
            Value::Null
        }
        Native::RcInvalidate | Native::RcInvalidateFunction => {
            let request = ResultCacheRequest::Invalidate { owner: unquote(a.text(0)), name: unquote(a.text(1)) };
            w.result_cache(&request)?
        }
        Native::RcInvalidateId | Native::RcInvalidateIdFunction => {
            w.result_cache(&ResultCacheRequest::InvalidateObject(a.integer(0).unwrap_or(0)))?
        }
        // Only cursors can be hot or kept.
        Native::PoolMarkHotNamed | Native::PoolUnmarkHotNamed => return Err(Ora::new(6570).into()),
        Native::PoolMarkHot => pool(w, SharedPoolRequest::MarkHot(a.text(0).to_string()))?,
        Native::PoolUnmarkHot => pool(w, SharedPoolRequest::UnmarkHot(a.text(0).to_string()))?,
        Native::PoolKeep => pool(w, SharedPoolRequest::Keep(a.text(0).to_string(), true))?,
        Native::PoolUnkeep => pool(w, SharedPoolRequest::Keep(a.text(0).to_string(), false))?,
        Native::PoolPurge => pool(w, SharedPoolRequest::Purge(a.text(0).to_string()))?,
        Native::DisplayPlan => w.display_plan(a.text(0), a.optional_text(1).as_deref(), a.text(2))?,
        Native::DisplayCursor => w.display_cursor(a.optional_text(0).as_deref(), a.integer(1), a.text(2))?,
        Native::RawFromText => Value::raw(a.text(0).as_bytes().to_vec()),
        Native::RawToText => Value::text(String::from_utf8_lossy(a.raw(0)).into_owned()),
        Native::RawLength => match a.value(0) {
            Value::Null => Value::Null,
            _ => number(a.raw(0).len() as i64),
        },
        Native::RawConcat => Value::raw((0..4).flat_map(|i| a.raw(i).to_vec()).collect::<Vec<u8>>()),
        Native::RawSubstr => raw_substr(a.raw(0), a.integer(1), a.integer(2))?,
        Native::RawReverse => Value::raw(a.raw(0).iter().rev().copied().collect::<Vec<u8>>()),
        Native::RawCompare => {
            let (x, y) = (a.raw(0), a.raw(1));
            let n = x.len().max(y.len());
            let at = (0..n).find(|i| x.get(*i).unwrap_or(&0) != y.get(*i).unwrap_or(&0));
            number(at.map_or(0, |i| i as i64 + 1))
        }
        Native::RawAnd => raw_bits(a.raw(0), a.raw(1), |x, y| x & y),
        Native::RawOr => raw_bits(a.raw(0), a.raw(1), |x, y| x | y),
        Native::RawXor => raw_bits(a.raw(0), a.raw(1), |x, y| x ^ y),
        Native::RawFromInteger => match a.integer(0) {
            Some(n) => Value::raw((n as i32).to_be_bytes().to_vec()),
            None => Value::Null,
        },
        Native::RawFromNumber => match a.value(0) {
            value @ Value::Number(_) => {
                let mut bytes = Vec::new();
                codec::encode(value, &mut bytes);
                Value::raw(bytes)
            }
            _ => Value::Null,
        },
        Native::RawToNumber => match a.raw(0) {
            [] => Value::Null,
            bytes => Value::Number(Number::decode(bytes).ok_or_else(|| scalar::value_error(""))?),
        },
        Native::RawToInteger => {
            let r = a.raw(0);
            if r.is_empty() {
                Value::Null
            } else if r.len() > 4 {
                return Err(scalar::value_error("").into());
            } else {
                let wide = r.iter().fold(0u32, |n, b| n << 8 | u32::from(*b));
                number(if r.len() == 4 { i64::from(wide as i32) } else { i64::from(wide) })
            }
        }
    }))
}

fn by_integer(items: impl Iterator<Item = Value>) -> Datum {
    let info = Rc::new(CollInfo { element: Datum::default(), limit: None, kind: CollKind::ByInteger });
    let map = IntMap::of(items.map(Datum::Val).collect());
    Datum::Coll(Some(Rc::new(Coll { info, data: CollData::ByInteger(map) })))
}

fn application_error(a: &Args<'_>, m: &Machine) -> Ora {
    let code = a.integer(0).unwrap_or(0);
    if !(-20999..=-20000).contains(&code) {
        return Ora::with(21000, &[&code]);
    }
    let mut message = a.text(1).to_string();
    if message.len() > 2048 {
        let cut = (0..=2048).rev().find(|i| message.is_char_boundary(*i)).unwrap_or(0);
        message.truncate(cut);
    }
    let error = Ora::user(code.unsigned_abs() as u32, message);
    match m.current_error() {
        Some(below) if a.flag(2) => error.because(below.clone()),
        _ => error,
    }
}

fn job(a: &Args<'_>) -> Run<i64> {
    a.integer(0).ok_or_else(|| Ora::with(23421, &[&""]).into())
}

fn date(v: &Value) -> Option<Date> {
    match v {
        Value::Date(d) => Some(*d),
        _ => None,
    }
}

/// The interval `null` runs a job once.
fn interval(text: Option<String>) -> Option<String> {
    text.filter(|t| !t.trim().is_empty() && !t.trim().eq_ignore_ascii_case("null"))
}

fn lock_id(id: Option<i64>) -> Run<u32> {
    match id {
        Some(id @ 0..=1_073_741_823) => Ok(id as u32),
        _ => Err(scalar::value_error("").into()),
    }
}

fn lock_handle(handle: &str) -> Run<u32> {
    handle.get(..10).and_then(|h| h.parse().ok()).ok_or_else(|| scalar::value_error("").into())
}

fn lock_request<W: World>(w: &mut W, a: &Args<'_>, id: u32) -> Run<Value> {
    let mode = match a.integer(1) {
        Some(m @ 1..=6) => m as u8,
        _ => return Ok(number(3)),
    };
    let timeout = match a.integer(2) {
        Some(t) if t < 32767 => Some(t.max(0) as u32),
        _ => None,
    };
    Ok(number(w.user_lock_request(id, mode, timeout, a.flag(3))?))
}

fn lock_convert<W: World>(w: &mut W, a: &Args<'_>, id: u32) -> Run<Value> {
    let mode = match a.integer(1) {
        Some(m @ 1..=6) => m as u8,
        _ => return Ok(number(3)),
    };
    let timeout = match a.integer(2) {
        Some(t) if t < 32767 => Some(t.max(0) as u32),
        _ => None,
    };
    Ok(number(w.user_lock_convert(id, mode, timeout)?))
}

fn raw_substr(r: &[u8], pos: Option<i64>, len: Option<i64>) -> Run<Value> {
    if r.is_empty() {
        return Ok(Value::Null);
    }
    let pos = pos.unwrap_or(1);
    let start = match pos {
        p if p > 0 => p - 1,
        0 => 0,
        p => r.len() as i64 + p,
    };
    if start < 0 || start >= r.len() as i64 {
        return Err(scalar::value_error("").into());
    }
    let rest = &r[start as usize..];
    let n = len.unwrap_or(rest.len() as i64);
    if n < 1 || n > rest.len() as i64 {
        return Err(scalar::value_error("").into());
    }
    Ok(Value::raw(rest[..n as usize].to_vec()))
}

fn raw_bits(x: &[u8], y: &[u8], f: impl Fn(u8, u8) -> u8) -> Value {
    if x.is_empty() || y.is_empty() {
        return Value::Null;
    }
    let (short, long) = if x.len() < y.len() { (x, y) } else { (y, x) };
    let mut out: Vec<u8> = short.iter().zip(long).map(|(a, b)| f(*a, *b)).collect();
    out.extend_from_slice(&long[short.len()..]);
    Value::raw(out)
}

/// The changes of a region's clock between 1800 and 2100 in the clients' form: their number in four bytes, and for each
/// its UTC time in seven bytes, the hours and minutes of the new offset, and whether it is summer time.
fn transitions(region: Region) -> Vec<u8> {
    let unix = |year| Date::from_ymd(year, 1, 1).map_or(0, |d| d.to_unix());
    let (first, last) = (unix(1800), unix(2100));
    let mut bytes = vec![0; 4];
    let (mut count, mut at) = (0u32, first);
    while at < last {
        let period = region.at(at);
        let date = Date::from_unix(at).unwrap_or(Date::UNIX_EPOCH);
        let minutes = period.offset / 60;
        bytes.extend_from_slice(&date.to_bytes());
        bytes.extend([(minutes / 60 + 20) as u8, (minutes % 60 + 60) as u8, u8::from(period.summer)]);
        count += 1;
        at = period.until;
    }
    bytes[..4].copy_from_slice(&count.to_be_bytes());
    bytes
}
