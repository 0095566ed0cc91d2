//! CONNECT: what a client asks for by name, and whether it is here.

use super::line::{Heard, Line};
use net::local::WireError;
use net::oracle::descriptor::Entry;
use net::oracle::tns::{self, Accept, Connect, kind};
use params::{Param, SystemParams};
use session::{Instance, Phase};
use std::time::Instant;

/// Errors of a listener.
mod refuse {
    pub const NO_SERVICE_NAME: u32 = 12504;
    pub const UNKNOWN_SID: u32 = 12505;
    pub const UNKNOWN_SERVICE: u32 = 12514;
    pub const NO_HANDLER: u32 = super::NO_HANDLER;
    pub const UNKNOWN_INSTANCE: u32 = 12521;
    pub const BLOCKED: u32 = 12528;
}

/// No more processes can be had.
pub const NO_HANDLER: u32 = 12516;

/// What a client wants.
#[derive(Debug, PartialEq, Eq)]
enum Wish {
    Session,
    Ping,
}

/// The names by which the instance is known.
#[derive(Debug)]
struct Names {
    services: Vec<String>,
    domain: String,
    instance: String,
    database: String,
}

impl Names {
    fn of(params: &SystemParams) -> Names {
        let get = |p| params.get(p);
        let mut services: Vec<String> =
            get(Param::ServiceNames).split(',').map(|name| name.trim().to_string()).collect();
        services.extend([get(Param::DbUniqueName), get(Param::DbName)]);
        services.retain(|name| !name.is_empty());
        let (instance, database) = (get(Param::InstanceName), get(Param::DbName));
        Names { services, domain: get(Param::DbDomain), instance, database }
    }

    /// Names are the same with the domain and without.
    fn is_same(&self, a: &str, b: &str) -> bool {
        let bare = |name: &str| {
            let name = name.to_ascii_lowercase();
            let domain = format!(".{}", self.domain.to_ascii_lowercase());
            if self.domain.is_empty() { name } else { name.strip_suffix(&domain).map(str::to_string).unwrap_or(name) }
        };
        bare(a) == bare(b)
    }

    /// What the client wants, or the error of the refusal.
    fn wish(&self, data: &str) -> Result<Wish, u32> {
        let entry = Entry::parse(data).ok_or(refuse::NO_SERVICE_NAME)?;
        let connect = entry.anywhere("CONNECT_DATA").ok_or(refuse::NO_SERVICE_NAME)?;
        if connect.text_of("COMMAND").is_some_and(|c| c.eq_ignore_ascii_case("ping")) {
            return Ok(Wish::Ping);
        }
        if connect.text_of("INSTANCE_NAME").is_some_and(|name| !self.is_same(name, &self.instance)) {
            return Err(refuse::UNKNOWN_INSTANCE);
        }
        if let Some(service) = connect.text_of("SERVICE_NAME") {
            let known = self.services.iter().any(|name| self.is_same(name, service));
            return if known { Ok(Wish::Session) } else { Err(refuse::UNKNOWN_SERVICE) };
        }
        match connect.text_of("SID") {
            Some(sid) if self.is_same(sid, &self.instance) || self.is_same(sid, &self.database) => Ok(Wish::Session),
            Some(_) => Err(refuse::UNKNOWN_SID),
            None => Err(refuse::NO_SERVICE_NAME),
        }
    }
}

/// Hears what the client asks for and accepts it; false when the connection is over.
pub fn receive(line: &mut Line, instance: &Instance, deadline: Instant) -> bool {
    let Some((connect, data)) = connect_data(line, deadline) else { return false };
    let wish = Names::of(instance.params()).wish(&data);
    let mut out = Vec::new();
    match wish {
        Ok(Wish::Ping) => tns::write_pong(&mut out),
        Ok(Wish::Session) => match hindrance(instance) {
            Some(code) => tns::write_refuse(&mut out, code),
            None if connect.version < tns::VERSION_MIN || connect.version_min > tns::VERSION => return false,
            None => {
                let sdu = connect.agreed_sdu();
                Accept { version: connect.version.min(tns::VERSION), sdu }.encode(&mut out);
                if !line.send(&out, &mut || true) {
                    return false;
                }
                line.accepted(sdu);
                return true;
            }
        },
        Err(code) => tns::write_refuse(&mut out, code),
    }
    line.close_behind(&out);
    false
}

/// Why no session can be had now.
fn hindrance(instance: &Instance) -> Option<u32> {
    if instance.state().phase() != Phase::Open {
        return Some(refuse::BLOCKED);
    }
    (instance.processes().live().count() >= instance.max_processes()).then_some(refuse::NO_HANDLER)
}

/// The CONNECT packet and its data, which may follow in a packet of its own.
fn connect_data(line: &mut Line, deadline: Instant) -> Option<(Connect, String)> {
    let Heard::Early(kind::CONNECT, body) = line.hear(Some(deadline)) else { return None };
    let connect = Connect::decode(&body).ok()?;
    let data = match &connect.data {
        Some(data) => data.clone(),
        None => later(line, connect.data_len, deadline).ok()?,
    };
    Some((connect, String::from_utf8(data).ok()?))
}

fn later(line: &mut Line, len: usize, deadline: Instant) -> Result<Vec<u8>, WireError> {
    let mut data = Vec::new();
    while data.len() < len {
        let Heard::Early(kind::DATA, body) = line.hear(Some(deadline)) else { return Err(WireError::Truncated) };
        // Two bytes of flags.
        let part = body.get(2..).filter(|part| !part.is_empty()).ok_or(WireError::Truncated)?;
        data.extend_from_slice(part);
    }
    if data.len() > len { Err(WireError::LengthOutOfBounds) } else { Ok(data) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_known_by_its_names() {
        let names = Names {
            services: vec!["sales".into(), "LATCHWRK".into()],
            domain: "example.com".into(),
            instance: "latchwork".into(),
            database: "LATCHWRK".into(),
        };
        let wish = |inside: &str| names.wish(&format!("(DESCRIPTION=(CONNECT_DATA={inside}))"));
        for good in [
            "(SERVICE_NAME=sales)",
            "(SERVICE_NAME=SALES.example.com)",
            "(SERVICE_NAME=latchwrk)(SERVER=dedicated)",
            "(SID=latchwork)",
            "(service_name=sales)(INSTANCE_NAME=LATCHWORK)",
        ] {
            assert_eq!(wish(good), Ok(Wish::Session), "{good}");
        }
        assert_eq!(wish("(SERVICE_NAME=other)"), Err(12514));
        assert_eq!(wish("(SID=other)"), Err(12505));
        assert_eq!(wish("(SERVICE_NAME=sales)(INSTANCE_NAME=x)"), Err(12521));
        assert_eq!(wish("(SERVER=dedicated)"), Err(12504));
        assert_eq!(names.wish("(CONNECT_DATA=(COMMAND=ping))"), Ok(Wish::Ping));
        assert_eq!(names.wish("nonsense"), Err(12504));
    }
}
