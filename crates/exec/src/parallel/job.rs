//! The job that a coordinator sends to each of its servers.

use crate::measure;
use crate::options::Options;
use crate::session_state::SessionState;
use parallel::Assignment;
use plan::{Reg, Source, SubPlan};
use process::Process;
use txn::Snapshot;
use types::image::{self, Image};
use types::{LenUnit, Nls, Ora, Place, Rdba, Result, Scn, Timestamp, Uba, Value, Xid};

/// The part of a plan that a server runs.
#[derive(Debug, Image)]
pub(super) struct Fragment {
    pub(super) source: Source,
    /// The registers of a row, in the order in which their values are sent.
    pub(super) regs: Vec<Reg>,
    /// Number of registers of the plan; the registers of the binds follow.
    pub(super) all: u32,
    /// The subqueries that the part reaches, at their positions in the plan.
    pub(super) subs: Vec<Option<SubPlan>>,
    /// The operations of its row sources, if they are counted.
    pub(super) counted: Option<measure::Part>,
}

impl Fragment {
    /// All row sources, in the order of [`measure::Part`].
    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        std::iter::once(&self.source).chain(self.subs.iter().flatten().map(|sub| &sub.source))
    }
}

/// Everything that a server needs to run its part.
#[derive(Debug, Image)]
pub struct Job {
    pub(super) fragment: Vec<u8>,
    /// The dictionary's epoch of the plan.
    pub(super) epoch: u64,
    pub(super) binds: Vec<Value>,
    pub(super) now: Value,
    /// The server whose area holds the granule counter, the number of granules, and the blocks of each.
    pub(super) leader: u32,
    pub(super) granules: u64,
    pub(super) blocks: u64,
    pub(super) scn: Scn,
    pub(super) xid: u64,
    /// The newest undo record of the transaction: block, sequence number, record.
    pub(super) own: Option<Vec<u64>>,
    /// The shared cursor of the statement ([`library_cache::Handle::to_numbers`]).
    pub(super) cursor: (u32, u64),
    pub(super) session: Settings,
}

/// The settings of the coordinator's session that can change rows.
#[derive(Debug, Image)]
pub(super) struct Settings {
    user: String,
    user_id: u32,
    parsing_user: u32,
    schema: String,
    texts: Vec<String>,
    decimal: u32,
    group: u32,
    characters: bool,
    error_on_overlap: bool,
    /// The time zone, as that of a time; and the current date.
    zone: Value,
    today: Value,
    work_area_limit_bytes: u64,
    spill_bytes: u64,
    work_area_auto: bool,
    temporary_tablespace: u32,
    batches: bool,
    old_connect_by: bool,
}

impl Settings {
    pub(super) fn of(session: &SessionState) -> Settings {
        let (nls, options) = (&session.nls, &session.options);
        let Nls {
            language,
            territory,
            currency,
            dual_currency,
            iso_territory,
            iso_currency,
            date_format,
            timestamp_format,
            timestamp_tz_format,
            date_language,
            decimal,
            group,
            sort,
            comp,
            length_semantics,
            zone,
            error_on_overlap,
            today,
        } = nls;
        let texts = [language, territory, currency, iso_currency, date_format, timestamp_format, timestamp_tz_format];
        let texts =
            texts.into_iter().chain([date_language, sort, comp, dual_currency, iso_territory]).cloned().collect();
        Settings {
            user: session.user.clone(),
            user_id: session.user_id,
            parsing_user: session.parsing_user,
            schema: session.schema.to_string(),
            texts,
            decimal: u32::from(*decimal),
            group: u32::from(*group),
            characters: *length_semantics == LenUnit::Char,
            error_on_overlap: *error_on_overlap,
            zone: Value::Timestamp(Timestamp::of_clock(types::Date::UNIX_EPOCH, 0, Place::In(*zone))),
            today: Value::Date(*today),
            work_area_limit_bytes: options.work_area_limit_bytes as u64,
            spill_bytes: options.spill_bytes as u64,
            work_area_auto: options.work_area_auto,
            temporary_tablespace: options.temporary_tablespace,
            batches: options.batches,
            old_connect_by: options.old_connect_by,
        }
    }

    /// The language settings; `None` for an invalid image.
    fn nls(&self) -> Option<Nls> {
        let mut texts = self.texts.iter().cloned();
        let mut next = || texts.next();
        let (Value::Timestamp(at), Value::Date(today)) = (&self.zone, &self.today) else { return None };
        let Place::In(zone) = at.place() else { return None };
        Some(Nls {
            language: next()?,
            territory: next()?,
            currency: next()?,
            iso_currency: next()?,
            date_format: next()?,
            timestamp_format: next()?,
            timestamp_tz_format: next()?,
            date_language: next()?,
            sort: next()?,
            comp: next()?,
            dual_currency: next()?,
            iso_territory: next()?,
            decimal: char::from_u32(self.decimal)?,
            group: char::from_u32(self.group)?,
            length_semantics: if self.characters { LenUnit::Char } else { LenUnit::Byte },
            zone,
            error_on_overlap: self.error_on_overlap,
            today: *today,
        })
    }
}

impl Job {
    /// Waits for the job of an assignment.
    ///
    /// # Errors
    /// ORA-01013 when the coordinator wants no more rows; ORA-00600 for an invalid job.
    pub fn receive(p: &Process, assignment: &Assignment) -> Result<Job> {
        let mut bytes = Vec::new();
        assignment.receive(p, &mut bytes)?;
        image::read(&bytes, &image::NoObjects).map_err(|_| Ora::internal("job of a parallel query is damaged"))
    }

    /// The user who runs the query.
    pub fn user(&self) -> (&str, u32) {
        (&self.session.user, self.session.user_id)
    }

    /// A session with the settings of the coordinator's.
    ///
    /// # Errors
    /// ORA-00600 for an invalid job.
    pub fn session(&self, options: &Options) -> Result<SessionState> {
        let s = &self.session;
        let nls = s.nls().ok_or_else(|| Ora::internal("job of a parallel query is damaged"))?;
        let mut state = SessionState::new(&s.user, s.user_id, nls);
        state.parsing_user = s.parsing_user;
        state.schema = s.schema.as_str().into();
        state.options = Options {
            work_area_limit_bytes: s.work_area_limit_bytes as usize,
            spill_bytes: s.spill_bytes as usize,
            work_area_auto: s.work_area_auto,
            temporary_tablespace: s.temporary_tablespace,
            batches: s.batches,
            old_connect_by: s.old_connect_by,
            counts_operations: false,
            ..options.clone()
        };
        Ok(state)
    }

    pub(super) fn snapshot(&self) -> Option<Snapshot> {
        let own = match self.own.as_deref() {
            None => None,
            Some([rdba, seq, rec]) => Some(Uba {
                rdba: Rdba(u32::try_from(*rdba).ok()?),
                seq: u32::try_from(*seq).ok()?,
                rec: u8::try_from(*rec).ok()?,
            }),
            Some(_) => return None,
        };
        let xid = (self.xid != 0).then(|| Xid::from_bits(self.xid));
        Some(Snapshot { scn: self.scn, xid, own, serializable: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::image::Writer;

    #[test]
    fn settings_come_back_whole() {
        let nls = Nls {
            currency: String::new(),
            decimal: ',',
            group: '.',
            zone: types::TimeZone::Region(types::Region::named("Europe/Berlin").unwrap()),
            error_on_overlap: true,
            today: types::Date::from_ymd(2024, 2, 29).unwrap(),
            length_semantics: LenUnit::Char,
            sort: "XGERMAN".into(),
            ..Nls::default()
        };
        let session = SessionState::new("SCOTT", 7, nls.clone());
        let mut w = Writer::default();
        Settings::of(&session).put(&mut w);
        let back: Settings = image::read(&w.finish().unwrap(), &image::NoObjects).unwrap();
        assert_eq!(back.nls().unwrap(), nls);
        assert_eq!((back.user.as_str(), back.schema.as_str()), ("SCOTT", "SCOTT"));
    }
}
