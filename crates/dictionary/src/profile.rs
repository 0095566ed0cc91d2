//! Profiles: limits of a user's sessions and password.

use crate::base::profile;
use crate::rows::{as_i64, as_optional_text, as_u32};
use std::collections::HashMap;
use types::Value;

/// The profile of users without another one; limits of other profiles may refer to it.
pub const DEFAULT: &str = "DEFAULT";
/// LIMIT# of a limit that refers to the profile DEFAULT.
pub const AS_DEFAULT: i64 = -1;
/// LIMIT# of UNLIMITED.
pub const UNLIMITED: i64 = i32::MAX as i64;

/// The unit of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Count,
    /// Days, stored in seconds.
    Days,
    /// Hundredths of a second.
    Centiseconds,
    /// A function of SYS, stored as its object number.
    Function,
    /// A limit that is not enforced: only UNLIMITED and DEFAULT are accepted.
    NotObeyed,
}

macro_rules! resources {
    ($($variant:ident $number:literal $kind:literal $name:literal $unit:ident $default:expr),* $(,)?) => {
        /// A resource limited by profiles.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Resource { $($variant),* }

        impl Resource {
            pub const ALL: &'static [Resource] = &[$(Resource::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Resource::$variant => $name),* }
            }

            /// RESOURCE# and TYPE#.
            pub fn numbers(self) -> (u32, u32) {
                match self { $(Resource::$variant => ($number, $kind)),* }
            }

            pub fn unit(self) -> Unit {
                match self { $(Resource::$variant => Unit::$unit),* }
            }

            /// The limit of the profile DEFAULT in a new database.
            pub fn default_limit(self) -> i64 {
                match self { $(Resource::$variant => $default),* }
            }
        }
    };
}

const DAY: i64 = 86_400;

resources! {
    CompositeLimit 0 0 "COMPOSITE_LIMIT" NotObeyed UNLIMITED,
    SessionsPerUser 1 0 "SESSIONS_PER_USER" Count UNLIMITED,
    CpuPerSession 2 0 "CPU_PER_SESSION" Centiseconds UNLIMITED,
    CpuPerCall 3 0 "CPU_PER_CALL" Centiseconds UNLIMITED,
    LogicalReadsPerSession 4 0 "LOGICAL_READS_PER_SESSION" Count UNLIMITED,
    LogicalReadsPerCall 5 0 "LOGICAL_READS_PER_CALL" Count UNLIMITED,
    IdleTime 6 0 "IDLE_TIME" Count UNLIMITED,
    ConnectTime 7 0 "CONNECT_TIME" Count UNLIMITED,
    PrivateSga 8 0 "PRIVATE_SGA" NotObeyed UNLIMITED,
    FailedLoginAttempts 0 1 "FAILED_LOGIN_ATTEMPTS" Count 10,
    PasswordLifeTime 1 1 "PASSWORD_LIFE_TIME" Days 180 * DAY,
    PasswordReuseTime 2 1 "PASSWORD_REUSE_TIME" Days UNLIMITED,
    PasswordReuseMax 3 1 "PASSWORD_REUSE_MAX" Count UNLIMITED,
    PasswordVerifyFunction 4 1 "PASSWORD_VERIFY_FUNCTION" Function UNLIMITED,
    PasswordLockTime 5 1 "PASSWORD_LOCK_TIME" Days DAY,
    PasswordGraceTime 6 1 "PASSWORD_GRACE_TIME" Days 7 * DAY,
    InactiveAccountTime 7 1 "INACTIVE_ACCOUNT_TIME" Days UNLIMITED,
    PasswordRolloverTime 8 1 "PASSWORD_ROLLOVER_TIME" NotObeyed UNLIMITED,
}

impl Resource {
    pub fn parse(name: &str) -> Option<Resource> {
        Self::ALL.iter().copied().find(|resource| resource.name() == name)
    }
}

/// The limits of a profile, each a number or [`UNLIMITED`].
#[derive(Clone, Debug, PartialEq)]
pub struct Profile([i64; Resource::ALL.len()]);

impl Profile {
    /// The limit of a resource; `None` when unlimited.
    pub fn limit(&self, resource: Resource) -> Option<i64> {
        Some(self.0[resource as usize]).filter(|limit| *limit != UNLIMITED)
    }
}

/// All profiles, by number.
#[derive(Debug, Default)]
pub struct Profiles {
    names: HashMap<String, u32>,
    /// By profile number and index of the resource.
    limits: HashMap<(u32, usize), i64>,
    /// By profile number, the name of the password verify function.
    functions: HashMap<u32, String>,
}

impl Profiles {
    pub(crate) fn add_name(&mut self, name: &str, number: u32) {
        self.names.insert(name.to_owned(), number);
    }

    pub(crate) fn add_limit(&mut self, row: &[Value]) {
        let numbers = (as_u32(&row[profile::RESOURCE]), as_u32(&row[profile::TYPE]));
        if let Some(resource) = Resource::ALL.iter().find(|resource| resource.numbers() == numbers) {
            let limit = as_i64(&row[profile::LIMIT]).unwrap_or(AS_DEFAULT);
            if *resource == Resource::PasswordVerifyFunction
                && let Some(name) = row.get(profile::FUNCTION).and_then(as_optional_text)
            {
                self.functions.insert(as_u32(&row[profile::PROFILE]), name);
            }
            self.limits.insert((as_u32(&row[profile::PROFILE]), *resource as usize), limit);
        }
    }

    /// The number of the profile with this name.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.names.get(name).copied()
    }

    /// The largest profile number.
    pub fn last(&self) -> u32 {
        self.names.values().copied().max().unwrap_or(0)
    }

    /// The name of a profile's password verify function, if the release that set it stored the name.
    pub fn verify_function(&self, name: &str) -> Option<&str> {
        let number = self.number(name).unwrap_or(0);
        let own = self.limits.get(&(number, Resource::PasswordVerifyFunction as usize));
        let of = if own.is_none_or(|limit| *limit == AS_DEFAULT) { 0 } else { number };
        self.functions.get(&of).map(String::as_str)
    }

    /// The limits of a profile; those of DEFAULT for an unknown profile.
    pub fn profile(&self, name: &str) -> Profile {
        let number = self.number(name).unwrap_or(0);
        let of = |number: u32, resource: Resource| {
            let limit = self.limits.get(&(number, resource as usize)).copied();
            limit.filter(|limit| *limit != AS_DEFAULT)
        };
        let mut limits = [UNLIMITED; Resource::ALL.len()];
        for (limit, resource) in limits.iter_mut().zip(Resource::ALL) {
            let own = of(number, *resource).or_else(|| of(0, *resource));
            *limit = own.unwrap_or_else(|| resource.default_limit());
        }
        Profile(limits)
    }
}
