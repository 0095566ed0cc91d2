//! Profiles, and the password history that enforces their reuse limits.

use crate::work::Work;
use dictionary::base::{Base, profile, profname, user, user_history};
use dictionary::profile::{AS_DEFAULT, DEFAULT, UNLIMITED, Unit};
use dictionary::rows::{Row, as_date, as_text, as_u32, int, text};
use dictionary::{ObjectKind, Resource, SystemPrivilege, UserId, Verifier};
use sql::ast::{DropObject, Ident, ProfileLimit, ProfileLimits, StoredKind};
use types::{Number, Ora, Result, Value};

/// Largest number of remembered passwords of a user.
const HISTORY_MAX: usize = 1000;

fn require(work: &Work<'_>, privilege: SystemPrivilege, pos: u32) -> Result<()> {
    if work.names.has(privilege) { Ok(()) } else { Err(Ora::new(1031).at(pos)) }
}

/// CREATE and ALTER PROFILE.
pub fn define(work: &mut Work<'_>, define: &ProfileLimits) -> Result<()> {
    let ProfileLimits { alter, name, limits, pos } = define;
    let privilege = if *alter { SystemPrivilege::AlterProfile } else { SystemPrivilege::CreateProfile };
    require(work, privilege, pos.0)?;
    let known = work.image.profiles().number(&name.name);
    let number = match (known, *alter) {
        (Some(_), false) => return Err(Ora::with(2379, &[&name.name]).at(name.pos.0)),
        (None, true) => return Err(Ora::with(2380, &[&name.name]).at(name.pos.0)),
        (Some(number), true) => number,
        (None, false) => work.image.profiles().last() + 1,
    };
    let mut given = Vec::new();
    for (word, limit) in limits {
        let resource = Resource::parse(&word.name).ok_or_else(|| Ora::new(2376).at(word.pos.0))?;
        let function = match limit {
            ProfileLimit::Function(name) => text(name.name.as_str()),
            _ => Value::Null, // not a clause: `number_of` handles every kind
        };
        given.push((resource, number_of(work, resource, word, limit, name.name == DEFAULT)?, function));
    }
    if !*alter {
        work.change().insert(Base::Profname, &[int(number), text(name.name.as_str())])?;
        for resource in Resource::ALL {
            let own = given.iter().find(|(have, ..)| have == resource);
            let (code, kind) = resource.numbers();
            let row = [int(number), int(code), int(kind), int(own.map_or(AS_DEFAULT, |(_, limit, _)| *limit))];
            let function = own.map_or(Value::Null, |(.., function)| function.clone());
            let row: Row = row.into_iter().chain([function]).collect();
            work.change().insert(Base::Profile, &row)?;
        }
        return Ok(());
    }
    for (resource, limit, function) in given {
        let (code, kind) = resource.numbers();
        let mine = move |row: &[Value]| {
            let of = |column: usize| as_u32(&row[column]);
            (of(profile::PROFILE), of(profile::RESOURCE), of(profile::TYPE)) == (number, code, kind)
        };
        work.change().update(Base::Profile, &mine, &mut |row| {
            row[profile::LIMIT] = int(limit);
            row[profile::FUNCTION] = function.clone();
        })?;
    }
    Ok(())
}

/// The LIMIT# of a limit as written. Limits without an implementation are refused.
fn number_of(
    work: &mut Work<'_>,
    resource: Resource,
    word: &Ident,
    limit: &ProfileLimit,
    of_default: bool,
) -> Result<i64> {
    let invalid = || Ora::new(2377).at(word.pos.0);
    match (limit, resource.unit()) {
        (ProfileLimit::Default, _) if of_default => Err(invalid()),
        (ProfileLimit::Default, _) => Ok(AS_DEFAULT),
        (ProfileLimit::Null, Unit::Function) => Ok(UNLIMITED),
        (ProfileLimit::Unlimited, Unit::Function) | (ProfileLimit::Null, _) => Err(invalid()),
        (ProfileLimit::Unlimited, _) => Ok(UNLIMITED),
        (ProfileLimit::Function(name), Unit::Function) => verify_function(work, name),
        (ProfileLimit::Function(name), _) => Err(Ora::new(2377).at(name.pos.0)),
        (ProfileLimit::Number { value, divisor: _, pos: _ }, Unit::NotObeyed)
            if resource == Resource::PasswordRolloverTime && value == "0" =>
        {
            Ok(UNLIMITED)
        }
        (ProfileLimit::Number { value: _, divisor: _, pos }, Unit::NotObeyed) => Err(Ora::unsupported().at(pos.0)),
        (ProfileLimit::Number { value, divisor, pos }, unit) => {
            let wrong = || Ora::new(2377).at(pos.0);
            let read = |text: &str| Number::parse(text).map_err(|_| wrong());
            let value = read(value)?.to_f64() / read(divisor)?.to_f64();
            let number = if unit == Unit::Days { (value * 86_400.0).round() } else { value };
            let least = match resource {
                Resource::PasswordGraceTime => 0.0,
                Resource::InactiveAccountTime => 15.0 * 86_400.0,
                _ => 1.0,
            };
            let fits = number.is_finite() && number.fract() == 0.0 && (least..UNLIMITED as f64).contains(&number);
            if fits { Ok(number as i64) } else { Err(wrong()) }
        }
    }
}

/// The number of a function of SYS that verifies passwords: its parameters are the user's name, the new and the old
/// password, and it returns a BOOLEAN.
///
/// # Errors
/// ORA-07443, ORA-28004.
fn verify_function(work: &mut Work<'_>, name: &Ident) -> Result<i64> {
    let found = work.image.object_named(UserId::SYS, ObjectKind::Function.namespace(), &name.name);
    let found = found.filter(|object| object.kind == ObjectKind::Function);
    let number = found.map(|object| object.object).ok_or_else(|| Ora::with(7443, &[&name.name]).at(name.pos.0))?;
    let call = format!(
        "function judge (u varchar2, p varchar2, o varchar2) return boolean is begin return \"{}\"(u, p, o); end;",
        name.name
    );
    let errors = work.host.compile("SYS", "JUDGE", StoredKind::Function, &call, &Default::default())?;
    if errors.is_empty() { Ok(number.0.into()) } else { Err(Ora::with(28004, &[&name.name]).at(name.pos.0)) }
}

/// DROP PROFILE.
pub fn drop(work: &mut Work<'_>, drop: &DropObject) -> Result<()> {
    require(work, SystemPrivilege::DropProfile, drop.pos.0)?;
    let name = drop.name.last().to_owned();
    if name == DEFAULT {
        return Err(Ora::new(2381));
    }
    let number = work.image.profiles().number(&name).ok_or_else(|| Ora::with(2380, &[&name]).at(drop.name.pos.0))?;
    let users = name.clone();
    let has_it = move |row: &[Value]| as_text(&row[user::PROFILE]) == users;
    if !drop.cascade && !work.select(Base::User, &has_it)?.is_empty() {
        return Err(Ora::with(2382, &[&name]));
    }
    work.change().update(Base::User, &has_it, &mut |row| row[user::PROFILE] = text(DEFAULT))?;
    work.change().delete(Base::Profile, &move |row| as_u32(&row[profile::PROFILE]) == number)?;
    work.change().delete(Base::Profname, &move |row| as_u32(&row[profname::PROFILE]) == number)?;
    Ok(())
}

/// Remembers the new password of a user's row, and refuses one that may not be used again.
///
/// # Errors
/// ORA-28007.
pub fn note_password(work: &mut Work<'_>, row: &Row, password: &str, verifier: &Verifier) -> Result<()> {
    let limits = work.image.profiles().profile(as_text(&row[user::PROFILE]));
    let (time, most) = (limits.limit(Resource::PasswordReuseTime), limits.limit(Resource::PasswordReuseMax));
    if time.is_none() && most.is_none() {
        return Ok(());
    }
    let id = as_u32(&row[user::USER]);
    let mine = move |row: &[Value]| as_u32(&row[user_history::USER]) == id;
    let mut history = work.select(Base::UserHistory, &mine)?;
    // The newest first, also within one second.
    history.reverse();
    history.sort_by_key(|entry| std::cmp::Reverse(as_date(&entry[user_history::PASSWORD_DATE]).map(|d| d.to_unix())));
    let now = work.now.to_unix();
    // The password in force is one of them, even if it was not remembered when it was set.
    let in_force = Verifier::from_text(as_text(&row[user::SPARE4]));
    let current = (in_force.map(|verifier| verifier.to_history()).unwrap_or_default(), as_date(&row[user::PTIME]));
    let is_noted = history.iter().any(|entry| as_text(&entry[user_history::PASSWORD]) == current.0);
    let mut entries: Vec<(String, i64)> = Vec::new();
    if !current.0.is_empty() && !is_noted {
        entries.push((current.0, current.1.map_or(0, |date| date.to_unix())));
    }
    entries.extend(history.iter().map(|entry| {
        let date = as_date(&entry[user_history::PASSWORD_DATE]).map_or(0, |date| date.to_unix());
        (as_text(&entry[user_history::PASSWORD]).to_owned(), date)
    }));
    for (changes, (old, date)) in entries.iter().enumerate() {
        // With only one of the two limits a password can never be used again.
        let free = match (time, most) {
            (Some(time), Some(most)) => now - date >= time && changes as i64 >= most,
            _ => false,
        };
        if !free && Verifier::from_text(old).is_some_and(|old| old.matches(password)) {
            return Err(Ora::new(28007));
        }
    }
    if entries.len() > history.len() {
        let (old, date) = &entries[0];
        let date = types::Date::from_unix(*date)?;
        work.change().insert(Base::UserHistory, &[int(id), text(old.as_str()), Value::Date(date)])?;
    }
    if let Some(oldest) = history.get(HISTORY_MAX) {
        let before = as_date(&oldest[user_history::PASSWORD_DATE]).map(|date| date.to_unix());
        work.change().delete(Base::UserHistory, &move |row| {
            mine(row) && as_date(&row[user_history::PASSWORD_DATE]).map(|date| date.to_unix()) <= before
        })?;
    }
    let entry = [int(id), text(verifier.to_history()), Value::Date(work.now)];
    work.change().insert(Base::UserHistory, &entry)
}
