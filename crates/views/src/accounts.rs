//! `x$kzusr`, the base of `dba_users`: the state of accounts, by the rules for logons.

use crate::column::{Row, Type, Type::*, n, t};
use crate::source::Source;
use dictionary::base::{Base, user_logon};
use dictionary::rows::as_u32;
use dictionary::{Account, LogonState, UserId, logons};
use std::collections::HashMap;
use types::{Date, Result, Value};

pub const ACCOUNTS: &[(&str, Type)] = &[
    ("USER#", N),
    ("STATUS#", N),
    ("STATUS", V(32)),
    ("LOCK_DATE", D),
    ("EXPIRY_DATE", D),
    ("LAST_LOGIN", S),
    ("FAILURES", N),
];

/// A row for each user.
pub fn accounts(s: &Source<'_>) -> Result<Vec<Row>> {
    let dictionary = s.instance.storage().dictionary;
    let image = dictionary.picture(s.p);
    let mut states: HashMap<u32, LogonState> = HashMap::new();
    dictionary.scan_once(s.p, Base::UserLogon, &mut |_, row| {
        let id = as_u32(&row[user_logon::USER]);
        if let Some(user) = image.user(UserId(id)) {
            states.insert(id, logons::state_of(row, Some(user)));
        }
        Ok(())
    })?;
    let utc = (os::clock::wall_ns() / 1_000_000_000) as i64;
    let now = Date::from_unix(utc + i64::from(os::clock::utc_offset_seconds(utc)))?;
    let date = |date: Option<Date>| date.map_or(Value::Null, Value::Date);
    let none = LogonState::default();
    let row = |user: &dictionary::UserDef| {
        let profile = image.profiles().profile(&user.profile);
        let state = states.get(&user.id.0).unwrap_or(&none);
        let account = Account { user, profile: &profile, state, now };
        vec![
            n(user.id.0),
            n(account.status()),
            t(account.status_text()),
            date(account.lock_date()),
            date(account.expiry_date()),
            state.last.map_or(Value::Null, Value::Timestamp),
            n(state.failures),
        ]
    };
    let rows = image.all_users().iter().filter(|user| !user.is_role).map(row).collect();
    image.checked()?;
    Ok(rows)
}
