//! CONNECT: the service that a client requests, and whether it is here.

use instance::{Instance, Phase};
use net::oracle::descriptor::Entry;
use net::oracle::tns::{self, Accept, Connect, NativeServices};
use params::{Param, SystemParams};
use types::Ora;

/// Errors of a listener.
mod refuse {
    pub const NO_SERVICE_NAME: u32 = 12504;
    pub const UNKNOWN_SID: u32 = 12505;
    pub const UNKNOWN_SERVICE: u32 = 12514;
    /// No more processes are available.
    pub const NO_HANDLER: u32 = 12516;
    /// There is no server of the requested kind.
    pub const NO_SUCH_SERVER: u32 = 12520;
    pub const UNKNOWN_INSTANCE: u32 = 12521;
    pub const BLOCKED: u32 = 12528;
}

/// The client's request.
#[derive(Debug, PartialEq, Eq)]
enum Wish {
    /// A session of that service; empty for a SID.
    Session(String),
    /// A session of that service from the connection pool.
    Pooled(String, Wished),
    Ping,
}

/// The attributes of a pooled session in the connect data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wished {
    /// POOL_CONNECTION_CLASS.
    pub class: Option<String>,
    /// POOL_PURITY.
    pub purity: Option<String>,
}

/// The names of the instance.
#[derive(Debug)]
pub struct Names {
    services: Vec<String>,
    domain: String,
    instance: String,
    database: String,
}

impl Names {
    /// The names from the parameters.
    pub fn of(params: &SystemParams) -> Names {
        let get = |p| params.get(p);
        let (instance, database) = (get(Param::InstanceName), get(Param::DbName));
        Names { services: params.services(), domain: get(Param::DbDomain), instance, database }
    }

    /// The services in displayed form, each once.
    pub fn all(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for name in &self.services {
            if !all.iter().any(|known| self.is_same(known, name)) {
                let bare = name.contains('.') || self.domain.is_empty();
                all.push(if bare { name.clone() } else { format!("{name}.{}", self.domain) });
            }
        }
        all
    }

    /// Names are equal with or without the domain.
    fn is_same(&self, a: &str, b: &str) -> bool {
        let bare = |name: &str| {
            let name = name.to_ascii_lowercase();
            let domain = format!(".{}", self.domain.to_ascii_lowercase());
            if self.domain.is_empty() { name } else { name.strip_suffix(&domain).map(str::to_string).unwrap_or(name) }
        };
        bare(a) == bare(b)
    }

    /// The client's request, or the error of the refusal.
    fn wish(&self, data: &str) -> Result<Wish, u32> {
        let entry = Entry::parse(data).ok_or(refuse::NO_SERVICE_NAME)?;
        let connect = entry.anywhere("CONNECT_DATA").ok_or(refuse::NO_SERVICE_NAME)?;
        if connect.text_of("COMMAND").is_some_and(|c| c.eq_ignore_ascii_case("ping")) {
            return Ok(Wish::Ping);
        }
        if connect.text_of("INSTANCE_NAME").is_some_and(|name| !self.is_same(name, &self.instance)) {
            return Err(refuse::UNKNOWN_INSTANCE);
        }
        let service = match (connect.text_of("SERVICE_NAME"), connect.text_of("SID")) {
            (Some(service), _) => match self.services.iter().find(|name| self.is_same(name, service)) {
                Some(known) => known.clone(),
                None => return Err(refuse::UNKNOWN_SERVICE),
            },
            (None, Some(sid)) if self.is_same(sid, &self.instance) || self.is_same(sid, &self.database) => {
                String::new()
            }
            (None, Some(_)) => return Err(refuse::UNKNOWN_SID),
            (None, None) => return Err(refuse::NO_SERVICE_NAME),
        };
        let text = |key: &str| connect.text_of(key).map(str::to_owned);
        match connect.text_of("SERVER") {
            // There are no dispatchers.
            Some(kind) if kind.eq_ignore_ascii_case("shared") => Err(refuse::NO_SUCH_SERVER),
            Some(kind) if kind.eq_ignore_ascii_case("pooled") => {
                let wished = Wished { class: text("POOL_CONNECTION_CLASS"), purity: text("POOL_PURITY") };
                Ok(Wish::Pooled(service, wished))
            }
            _ => Ok(Wish::Session(service)),
        }
    }
}

/// The answer to a client that connects.
pub enum Answer {
    /// Accepted, with this SDU and service, and for the connection pool if requested.
    Accept(Vec<u8>, u32, String, Option<Wished>),
    /// A last message before the connection ends.
    Last(Vec<u8>),
    /// No answer: the client would not understand one.
    Nothing,
}

/// Answers a CONNECT packet and its data.
///
/// `native` is the position on native encryption.
pub fn answer(
    connect: &Connect,
    data: &[u8],
    instance: &Instance,
    native: NativeServices,
    is_encrypted: bool,
) -> Answer {
    let Ok(data) = std::str::from_utf8(data) else { return Answer::Nothing };
    let mut out = Vec::new();
    let (service, pooled) = match Names::of(instance.params()).wish(data) {
        Ok(Wish::Ping) => {
            tns::write_pong(&mut out);
            return Answer::Last(out);
        }
        Ok(Wish::Session(service)) => (Ok(service), None),
        // An encrypted connection belongs to one process and cannot be handed to another.
        Ok(Wish::Pooled(..)) if is_encrypted || native == NativeServices::Required || !has_pool(instance) => {
            (Err(refuse::NO_SUCH_SERVER), None)
        }
        Ok(Wish::Pooled(service, wished)) => (Ok(service), Some(wished)),
        Err(code) => (Err(code), None),
    };
    match service {
        Ok(service) => match hindrance(instance) {
            Some(code) => refused(code, instance, &mut out),
            None if connect.version < tns::VERSION_MIN || connect.version_min > tns::VERSION => return Answer::Nothing,
            None => {
                let sdu = connect.agreed_sdu();
                // A client that does not support native services is not asked to negotiate them.
                let takes_none = connect.refuses_native || pooled.is_some();
                let native = if takes_none && native == NativeServices::Offered { NativeServices::Off } else { native };
                Accept { version: connect.agreed_version(), sdu }.encode_with(native, &mut out);
                return Answer::Accept(out, sdu, service, pooled);
            }
        },
        Err(code) => refused(code, instance, &mut out),
    }
    Answer::Last(out)
}

/// Whether the connection pool can take one more client.
fn has_pool(instance: &Instance) -> bool {
    let pool = instance.state().pool();
    pool.is_active() && pool.figure(instance::connection_pool::figure::CONNECTIONS) < pool.connections_max()
}

fn refused(code: u32, instance: &Instance, out: &mut Vec<u8>) {
    instance.state().count_connection(false);
    tns::write_refuse(out, code);
}

/// The reason why no session is available now.
fn hindrance(instance: &Instance) -> Option<u32> {
    if instance.state().phase() != Phase::Open {
        return Some(refuse::BLOCKED);
    }
    no_room(instance).map(|_| refuse::NO_HANDLER)
}

/// ORA-00020 when every process slot for users is taken. The remaining slots are reserved for the owner.
pub fn no_room(instance: &Instance) -> Option<Ora> {
    let max = instance.max_processes();
    let taken = instance.processes().live().filter(|(number, _)| *number as usize <= max).count();
    (taken >= max).then(|| Ora::with(20, &[&max]))
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
        for (good, service) in [
            ("(SERVICE_NAME=SALES)", "sales"),
            ("(SERVICE_NAME=SALES.example.com)", "sales"),
            ("(SERVICE_NAME=latchwrk)(SERVER=dedicated)", "LATCHWRK"),
            ("(SID=latchwork)", ""),
            ("(service_name=sales)(INSTANCE_NAME=LATCHWORK)", "sales"),
        ] {
            assert_eq!(wish(good), Ok(Wish::Session(service.into())), "{good}");
        }
        assert_eq!(wish("(SERVICE_NAME=other)"), Err(12514));
        assert_eq!(wish("(SID=other)"), Err(12505));
        assert_eq!(wish("(SERVICE_NAME=sales)(INSTANCE_NAME=x)"), Err(12521));
        assert_eq!(wish("(SERVER=dedicated)"), Err(12504));
        assert_eq!(wish("(SERVICE_NAME=sales)(SERVER=SHARED)"), Err(12520));
        let wished = Wished { class: Some("web".into()), purity: None };
        assert_eq!(
            wish("(SID=latchwork)(SERVER=pooled)(POOL_CONNECTION_CLASS=web)"),
            Ok(Wish::Pooled(String::new(), wished))
        );
        assert_eq!(names.wish("(CONNECT_DATA=(COMMAND=ping))"), Ok(Wish::Ping));
        assert_eq!(names.wish("nonsense"), Err(12504));
    }
}
