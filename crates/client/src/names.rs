//! Resolution of service names: descriptors, EZConnect, `tnsnames.ora` and `sqlnet.ora`.
//!
//! | a place is | when |
//! |---|---|
//! | a connect descriptor | it begins with a parenthesis |
//! | a name of `tnsnames.ora` | an entry has it, alone or with `NAMES.DEFAULT_DOMAIN` |
//! | EZConnect: `[[tcp\|tcps:]//]host[,host…][:port]/service[:server][/instance][?key=value&…]` | otherwise |
//!
//! Files are searched for in `$TNS_ADMIN`, or without it in `$ORACLE_HOME/network/admin`; `~/.tnsnames.ora` is read
//! first. `NAMES.DIRECTORY_PATH` may exclude a method.

use crate::address::{DEFAULT_PORT, NetAddress};
use crate::error::{ClientError, ClientResult};
use crate::tls::Trust;
use net::local::Failure;
use net::oracle::descriptor::{Content, Entry};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use types::Ora;

/// Largest depth of files that include one another.
const FILES_DEEP: u32 = 8;

/// Default time limit for a TCP connection.
const TRANSPORT_LIMIT: Duration = Duration::from_secs(60);

/// A place on the network, with the parameters of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Tried one after another, until a listener accepts the connection.
    pub descriptions: Vec<Description>,
    load_balance: bool,
    failover: bool,
}

/// One `(DESCRIPTION=…)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    pub addresses: Vec<NetAddress>,
    /// The contents of `(CONNECT_DATA=…)`.
    pub connect_data: Vec<Entry>,
    load_balance: bool,
    failover: bool,
    /// The time limits for the TCP connection alone, and for everything until the listener has accepted the connection.
    pub transport_limit: Duration,
    pub connect_limit: Option<Duration>,
    /// The time limit for any answer.
    pub receive_limit: Option<Duration>,
    pub retries: u32,
    pub retry_pause: Duration,
    pub sdu: Option<u32>,
    /// The connection must be encrypted or have checksums. That requires TLS, since this client has no native
    /// encryption.
    pub requires_protection: bool,
    /// A server may ask for the proof with an 11G verifier, from which a password is easier to guess.
    pub takes_11g: bool,
}

impl Route {
    /// The route to one address.
    pub fn to(at: &NetAddress) -> Route {
        let service = Entry { key: "SERVICE_NAME".into(), value: Content::Text(at.service.clone()) };
        let description = Description { addresses: vec![at.clone()], ..Description::of_data(vec![service]) };
        Route { descriptions: vec![description], load_balance: false, failover: true }
    }

    /// The descriptions in the order of attempts.
    pub fn in_turn(&self) -> Vec<&Description> {
        in_turn(&self.descriptions, self.load_balance, self.failover)
    }
}

impl Description {
    fn of_data(connect_data: Vec<Entry>) -> Description {
        Description {
            addresses: Vec::new(),
            connect_data,
            load_balance: false,
            failover: true,
            transport_limit: TRANSPORT_LIMIT,
            connect_limit: None,
            receive_limit: None,
            retries: 0,
            retry_pause: Duration::from_secs(1),
            sdu: None,
            requires_protection: false,
            takes_11g: true,
        }
    }

    /// The addresses in the order of attempts.
    pub fn in_turn(&self) -> Vec<&NetAddress> {
        in_turn(&self.addresses, self.load_balance, self.failover)
    }

    /// The requested service.
    pub fn service(&self) -> &str {
        let named = |key: &str| {
            self.connect_data.iter().find(|e| e.key.eq_ignore_ascii_case(key)).and_then(|e| match &e.value {
                Content::Text(text) => Some(text.as_str()),
                Content::List(_) => None,
            })
        };
        named("SERVICE_NAME").or(named("SID")).unwrap_or_default()
    }
}

/// The items in the order of attempts: with load balancing from a random one on, without failover only the first.
fn in_turn<T>(all: &[T], load_balance: bool, failover: bool) -> Vec<&T> {
    let mut turn: Vec<&T> = all.iter().collect();
    if load_balance && turn.len() > 1 {
        for at in (1..turn.len()).rev() {
            let random = os::random::bytes::<8>().map_or(0, u64::from_ne_bytes);
            turn.swap(at, (random % (at as u64 + 1)) as usize);
        }
    }
    turn.truncate(if failover { usize::MAX } else { 1 });
    turn
}

/// The settings for names and connections from the files.
#[derive(Clone, Debug, Default)]
pub struct Names {
    entries: BTreeMap<String, Result<Entry, String>>,
    settings: BTreeMap<String, Entry>,
    /// The files that were read.
    pub files: Vec<PathBuf>,
}

impl Names {
    /// Reads the files of this user and machine.
    pub fn read() -> Names {
        let env = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let home = env("ORACLE_HOME").map(|home| home.join("network").join("admin"));
        Names::read_from(env("TNS_ADMIN").or(home).as_deref(), env("HOME").as_deref())
    }

    /// Reads the files of a folder, after those of a user's home.
    pub fn read_from(admin: Option<&Path>, home: Option<&Path>) -> Names {
        let mut names = Names::default();
        for (folder, dot) in [(home, "."), (admin, "")] {
            let Some(folder) = folder else { continue };
            names.read_entries(&folder.join(format!("{dot}tnsnames.ora")), 0);
            names.read_settings(&folder.join(format!("{dot}sqlnet.ora")), 0);
        }
        names
    }

    /// Whether any file configures names.
    pub fn are_kept(&self) -> bool {
        !self.files.is_empty()
    }

    fn read_entries(&mut self, path: &Path, depth: u32) {
        let Ok(text) = std::fs::read_to_string(path) else { return };
        self.files.push(path.to_path_buf());
        for (keys, value) in assignments(&text) {
            if keys.eq_ignore_ascii_case("IFILE") {
                if depth < FILES_DEEP {
                    self.read_entries(&beside(path, &value), depth + 1);
                }
                continue;
            }
            let entry = Entry::parse(&value).ok_or(value);
            for key in keys.split(',').map(str::trim).filter(|key| !key.is_empty()) {
                self.entries.entry(key.to_ascii_lowercase()).or_insert_with(|| entry.clone());
            }
        }
    }

    fn read_settings(&mut self, path: &Path, depth: u32) {
        let Ok(text) = std::fs::read_to_string(path) else { return };
        self.files.push(path.to_path_buf());
        for (key, value) in assignments(&text) {
            if key.eq_ignore_ascii_case("IFILE") {
                if depth < FILES_DEEP {
                    self.read_settings(&beside(path, &value), depth + 1);
                }
                continue;
            }
            let key = key.to_ascii_uppercase();
            // A list of words is a list of values, without entries.
            let text = value.trim();
            let entry = match Entry::parse(text) {
                Some(entry) => Entry { key: key.clone(), value: Content::List(vec![entry]) },
                None => Entry { key: key.clone(), value: Content::Text(text.trim_matches(['(', ')', '"']).into()) },
            };
            self.settings.insert(key, entry);
        }
    }

    fn setting(&self, key: &str) -> Option<&str> {
        match &self.settings.get(key)?.value {
            Content::Text(text) => Some(text.trim()),
            Content::List(_) => None,
        }
    }

    fn seconds(&self, key: &str) -> Option<Duration> {
        duration(self.setting(key)?)
    }

    /// Whether names are resolved by that method.
    fn uses(&self, method: &str) -> bool {
        let path = self.setting("NAMES.DIRECTORY_PATH").unwrap_or("TNSNAMES, EZCONNECT");
        path.split(',').any(|word| {
            let word = word.trim().to_ascii_uppercase();
            word == method || (method == "EZCONNECT" && word == "HOSTNAME")
        })
    }

    /// Resolves a place.
    ///
    /// # Errors
    /// ORA-12154 for a text that is no descriptor, no known name and no EZConnect string; ORA-12533 for an invalid
    /// address.
    pub fn resolve(&self, place: &str) -> ClientResult<Route> {
        let place = place.trim();
        if place.starts_with('(') {
            let entry =
                Entry::parse(place).ok_or_else(|| unknown(&format!("{place} is not a valid connect descriptor")))?;
            return self.of_entry(&entry);
        }
        let is_bare = !place.contains(['/', ':', ',', ';', '?']);
        if self.uses("TNSNAMES") && is_bare {
            let domain = self.setting("NAMES.DEFAULT_DOMAIN").filter(|_| !place.contains('.'));
            let name = place.to_ascii_lowercase();
            let name = domain.map_or(name.clone(), |domain| format!("{name}.{}", domain.to_ascii_lowercase()));
            match self.entries.get(&name) {
                Some(Ok(entry)) => return self.of_entry(entry),
                Some(Err(text)) => return Err(unknown(&format!("the entry {name} is not a valid descriptor: {text}"))),
                None => {}
            }
        }
        if is_bare || !self.uses("EZCONNECT") {
            let where_to = match self.files.as_slice() {
                [] => "there is no tnsnames.ora".into(),
                files => files.iter().map(|f| f.display().to_string()).collect::<Vec<_>>().join(", "),
            };
            return Err(unknown(&format!("{place} was not found ({where_to})")));
        }
        self.of_ezconnect(place).ok_or_else(|| unknown(&format!("{place} is not a valid address")))
    }

    fn of_entry(&self, entry: &Entry) -> ClientResult<Route> {
        let mut found = Vec::new();
        entry.all("DESCRIPTION", &mut found);
        let list = entry.key.eq_ignore_ascii_case("DESCRIPTION_LIST");
        if found.is_empty() {
            found.push(entry);
        }
        let descriptions = found.into_iter().map(|d| self.description(d)).collect::<ClientResult<_>>()?;
        let load_balance = list && is_on(own_text(entry, "LOAD_BALANCE"), true);
        Ok(Route { descriptions, load_balance, failover: is_on(own_text(entry, "FAILOVER"), true) })
    }

    fn description(&self, entry: &Entry) -> ClientResult<Description> {
        let data = match entry.anywhere("CONNECT_DATA").map(|data| &data.value) {
            Some(Content::List(entries)) => entries.clone(),
            _ => Vec::new(),
        };
        let mut found = Vec::new();
        entry.all("ADDRESS", &mut found);
        if entry.text_of("SSL_SERVER_CERT_DN").is_some() {
            return Err(tns(12533, "SSL_SERVER_CERT_DN is not supported: the certificate must contain the host name"));
        }
        let wallet = entry.text_of("MY_WALLET_DIRECTORY").or(entry.text_of("WALLET_LOCATION"));
        let trust = self.trust(wallet, entry.text_of("SSL_SERVER_DN_MATCH"));
        let service = entry.text_of("SERVICE_NAME").unwrap_or_default();
        let addresses = found.into_iter().map(|address| {
            let at =
                NetAddress::of_entry(address, service).ok_or_else(|| tns(12533, "an address of the descriptor"))?;
            Ok(NetAddress { tls: at.tls.map(|_| trust.clone()), ..at })
        });
        let addresses = addresses.collect::<ClientResult<Vec<_>>>()?;
        if addresses.is_empty() {
            return Err(tns(12533, "the descriptor has no address"));
        }
        let list = entry.anywhere("ADDRESS_LIST").unwrap_or(entry);
        let said = |key: &str| own_text(list, key).or(own_text(entry, key));
        let mut description = Description {
            addresses,
            load_balance: is_on(said("LOAD_BALANCE"), false),
            failover: is_on(said("FAILOVER"), true),
            ..self.with_limits(Description::of_data(data))
        };
        for key in ["CONNECT_TIMEOUT", "TRANSPORT_CONNECT_TIMEOUT", "RETRY_COUNT", "RETRY_DELAY", "SDU"] {
            if let Some(value) = entry.text_of(key) {
                set(&mut description, key, value).ok_or_else(|| tns(12533, &format!("{key}={value}")))?;
            }
        }
        Ok(description)
    }

    fn with_limits(&self, description: Description) -> Description {
        Description {
            transport_limit: self.seconds("TCP.CONNECT_TIMEOUT").map_or(description.transport_limit, transport_limit),
            connect_limit: self.seconds("SQLNET.OUTBOUND_CONNECT_TIMEOUT").filter(is_a_limit),
            receive_limit: self.seconds("SQLNET.RECV_TIMEOUT").filter(is_a_limit),
            requires_protection: ["SQLNET.ENCRYPTION_CLIENT", "SQLNET.CRYPTO_CHECKSUM_CLIENT"]
                .iter()
                .any(|key| self.setting(key).is_some_and(|level| level.trim().eq_ignore_ascii_case("required"))),
            takes_11g: !self
                .setting("SQLNET.ALLOWED_LOGON_VERSION_CLIENT")
                .is_some_and(|version| version.trim().eq_ignore_ascii_case("12a")),
            sdu: self.setting("DEFAULT_SDU_SIZE").and_then(|size| size.parse().ok()),
            ..description
        }
    }

    fn trust(&self, wallet: Option<&str>, checks: Option<&str>) -> Trust {
        let own = self.settings.get("WALLET_LOCATION").and_then(|e| match &e.value {
            Content::Text(path) => Some(path.as_str()),
            Content::List(_) => e.text_of("DIRECTORY"),
        });
        let checks = checks.or(self.setting("SSL_SERVER_DN_MATCH"));
        Trust { wallet: wallet.or(own).map(PathBuf::from), any_name: !is_on(checks, true) }
    }

    fn of_ezconnect(&self, text: &str) -> Option<Route> {
        let (text, settings) = text.split_once('?').unwrap_or((text, ""));
        let settings: Vec<(&str, &str)> = settings
            .split('&')
            .filter(|setting| !setting.is_empty())
            .map(|setting| setting.split_once('=').map(|(key, value)| (key.trim(), value.trim().trim_matches('"'))))
            .collect::<Option<_>>()?;
        let said = |key: &str| settings.iter().find(|(k, _)| k.eq_ignore_ascii_case(key)).map(|(_, value)| *value);
        let (protocol, text) = text.split_once("//").unwrap_or(("", text));
        let tls = match protocol.trim().to_ascii_lowercase().as_str() {
            "" | "tcp:" => None,
            "tcps:" => Some(self.trust(said("wallet_location"), said("ssl_server_dn_match"))),
            _ => return None,
        };
        let (places, service) = text.split_once('/').unwrap_or((text, ""));
        let (service, instance) = service.split_once('/').map_or((service, None), |(s, i)| (s, Some(i)));
        let (service, server) = service.split_once(':').map_or((service, None), |(s, kind)| (s, Some(kind)));
        let text = |key: &str, value: &str| Entry { key: key.into(), value: Content::Text(value.into()) };
        let mut data = vec![text("SERVICE_NAME", service)];
        if let Some(server) = server {
            let known = ["dedicated", "shared", "pooled"].iter().any(|kind| kind.eq_ignore_ascii_case(server));
            data.push(known.then(|| text("SERVER", server))?);
        }
        if let Some(instance) = instance.filter(|name| !name.is_empty()) {
            data.push(text("INSTANCE_NAME", instance));
        }
        let mut description = self.with_limits(Description::of_data(data));
        let mut is_list = false;
        for list in places.split(';') {
            let hosts = ezconnect_hosts(list)?;
            is_list |= hosts.len() > 1 || places.contains(';');
            description.addresses.extend(hosts.into_iter().map(|(host, port)| NetAddress {
                host,
                port,
                service: service.to_string(),
                tls: tls.clone(),
            }));
        }
        // Several hosts share the load unless that is disabled.
        description.load_balance = is_on(said("load_balance"), is_list);
        description.failover = is_on(said("failover"), true);
        for (key, value) in &settings {
            match key.to_ascii_lowercase().as_str() {
                "pool_connection_class" | "pool_purity" | "connection_id_prefix" | "service_tag" => {
                    description.connect_data.push(text(&key.to_ascii_uppercase(), value));
                }
                "wallet_location" | "ssl_server_dn_match" | "load_balance" | "failover" => {}
                // These parameters have no effect that the other side could see.
                "enable" | "expire_time" | "tdu" | "use_sni" | "pool_boundary" | "recv_buf_size" | "send_buf_size" => {}
                other => set(&mut description, other, value)?,
            }
        }
        Some(Route { descriptions: vec![description], load_balance: false, failover: true })
    }
}

/// The hosts of EZConnect with their ports; a host without a port has that of the next one.
fn ezconnect_hosts(text: &str) -> Option<Vec<(String, u16)>> {
    let mut hosts: Vec<(String, Option<u16>)> = Vec::new();
    for place in text.split(',').map(str::trim) {
        // An IPv6 address contains colons, and is in brackets.
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port.trim().parse().ok()?)),
            _ => (place, None),
        };
        let host = host.trim().trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() || host.contains(char::is_whitespace) {
            return None;
        }
        hosts.push((host.to_string(), port));
    }
    let mut next = DEFAULT_PORT;
    let mut out: Vec<(String, u16)> = Vec::new();
    for (host, port) in hosts.into_iter().rev() {
        next = port.unwrap_or(next);
        out.push((host, next));
    }
    out.reverse();
    Some(out)
}

/// Sets a limit of a description; `None` for an unknown parameter or an invalid number.
fn set(description: &mut Description, key: &str, value: &str) -> Option<()> {
    match key.to_ascii_uppercase().as_str() {
        "CONNECT_TIMEOUT" => description.connect_limit = Some(duration(value)?).filter(is_a_limit),
        "TRANSPORT_CONNECT_TIMEOUT" => description.transport_limit = transport_limit(duration(value)?),
        "RETRY_COUNT" => description.retries = value.trim().parse().ok()?,
        "RETRY_DELAY" => description.retry_pause = duration(value)?,
        "SDU" => description.sdu = Some(value.trim().parse().ok()?),
        _ => return None,
    }
    Some(())
}

/// Whether it limits anything: 0 is no limit.
fn is_a_limit(limit: &Duration) -> bool {
    !limit.is_zero()
}

fn transport_limit(limit: Duration) -> Duration {
    if limit.is_zero() { Duration::from_secs(u32::MAX.into()) } else { limit }
}

/// A duration in seconds, or with a unit: `500 ms`, `2 min`.
fn duration(text: &str) -> Option<Duration> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..end].parse().ok()?;
    match text[end..].trim() {
        "" | "sec" | "s" => Some(Duration::from_secs(number)),
        "ms" => Some(Duration::from_millis(number)),
        "min" => Some(Duration::from_secs(number.checked_mul(60)?)),
        _ => None,
    }
}

fn is_on(text: Option<&str>, default: bool) -> bool {
    match text.map(|text| text.trim().to_ascii_lowercase()).as_deref() {
        Some("on" | "yes" | "true" | "1") => true,
        Some("off" | "no" | "false" | "0") => false,
        _ => default,
    }
}

/// The text of a key directly below an entry.
fn own_text<'a>(entry: &'a Entry, key: &str) -> Option<&'a str> {
    let Content::List(entries) = &entry.value else { return None };
    entries.iter().find(|e| e.key.eq_ignore_ascii_case(key)).and_then(|e| match &e.value {
        Content::Text(text) => Some(text.as_str()),
        Content::List(_) => None,
    })
}

fn beside(path: &Path, named: &str) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).join(named.trim().trim_matches('"'))
}

/// The `key = value` pairs of a file: a value in parentheses ends with them, any other at the end of its line.
fn assignments(text: &str) -> Vec<(String, String)> {
    let text: String = text.lines().map(without_comment).collect::<Vec<_>>().join("\n");
    let mut out = Vec::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find('=') {
        // Lines before the first name are ignored.
        let key = rest[..at].trim().lines().last().unwrap_or_default().trim().to_string();
        rest = rest[at + 1..].trim_start_matches([' ', '\t', '\r']);
        // A line that begins with a blank or a parenthesis continues the value.
        if let Some(line) = rest.strip_prefix('\n').filter(|line| line.starts_with([' ', '\t', '('])) {
            rest = line.trim_start();
        }
        let end = if rest.starts_with('(') { closed_at(rest) } else { rest.find('\n').unwrap_or(rest.len()) };
        let value = rest[..end].trim().to_string();
        rest = &rest[end..];
        if !key.is_empty() && !key.contains(['(', ')']) {
            out.push((key, value));
        }
    }
    out
}

/// The position after the parenthesis that closes the first one. If none does, an entry in the first column ends the
/// value.
fn closed_at(text: &str) -> usize {
    let (mut depth, mut quoted) = (0u32, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            '\n' if text[at + 1..].starts_with(|next: char| next.is_ascii_alphanumeric()) => return at,
            _ => {}
        }
    }
    text.len()
}

fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '#' if !quoted => return &line[..at],
            _ => {}
        }
    }
    line
}

fn unknown(why: &str) -> ClientError {
    tns(12154, why)
}

/// An error of names and connections, as programs report it.
pub(crate) fn tns(code: u32, why: &str) -> ClientError {
    let text = format!("{}\n{why}", Ora::new(code));
    ClientError::Server(Box::new(Failure { facility: "ORA".into(), code, text, fatal: true, ..Failure::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::NetAddress;

    fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("latchwork-names-{name}-{}", os::process::own_id()));
        std::fs::create_dir_all(&dir).unwrap();
        files.iter().for_each(|(file, text)| std::fs::write(dir.join(file), text).unwrap());
        dir
    }

    fn hosts(route: &Route) -> Vec<String> {
        let address = |at: &NetAddress| format!("{}:{}/{}", at.host, at.port, at.service);
        route.descriptions.iter().flat_map(|d| d.addresses.iter().map(address)).collect()
    }

    fn code(route: ClientResult<Route>) -> u32 {
        route.map_or_else(|e| e.code(), |route| panic!("{route:?}"))
    }

    #[test]
    fn names_are_those_of_tnsnames_ora() {
        let dir = folder(
            "entries",
            &[
                (
                    "tnsnames.ora",
                    "# all of them\nsales, Sales2.world =\n (DESCRIPTION = # the old one\n  (ADDRESS_LIST=(LOAD_BALANCE=off)(FAILOVER=on)\n\
                     (ADDRESS=(PROTOCOL=tcp)(HOST=a)(PORT=1))\n(ADDRESS=(PROTOCOL=tcp)(HOST=b)))\n\
                     (CONNECT_TIMEOUT=500 ms)(RETRY_COUNT=2)\n  (CONNECT_DATA=(SERVICE_NAME=s)(SERVER=dedicated)))\n\
                     broken = (DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=x)(PORT=1)\n\
                     both=(DESCRIPTION_LIST=(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=c))(CONNECT_DATA=(SID=x)))\
                     (DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=d))(CONNECT_DATA=(SID=y))))\n\
                     nowhere=(DESCRIPTION=(CONNECT_DATA=(SID=y)))\nifile=more.ora\nsales=(ADDRESS=(HOST=never))\n",
                ),
                (
                    "more.ora",
                    "more=(DESCRIPTION=(ADDRESS=(PROTOCOL=tcps)(HOST=m))(CONNECT_DATA=(SERVICE_NAME=t))\
                     (SECURITY=(SSL_SERVER_DN_MATCH=no)(MY_WALLET_DIRECTORY=/w)))\nifile=tnsnames.ora",
                ),
            ],
        );
        let names = Names::read_from(Some(&dir), None);
        let route = names.resolve("SALES").unwrap();
        assert_eq!(hosts(&route), ["a:1/s", "b:1521/s"]);
        assert_eq!(names.resolve("sales2.WORLD").unwrap(), route);
        let description = &route.descriptions[0];
        assert_eq!((description.connect_limit, description.retries), (Some(Duration::from_millis(500)), 2));
        assert_eq!((description.connect_data.len(), description.service()), (2, "s"));
        assert_eq!(hosts(&names.resolve("both").unwrap()), ["c:1521/", "d:1521/"]);
        let more = names.resolve("more").unwrap().descriptions[0].addresses[0].tls.clone().unwrap();
        assert_eq!(more, Trust { wallet: Some("/w".into()), any_name: true });
        let dn =
            "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcps)(HOST=m))(CONNECT_DATA=(SID=x))(SECURITY=(SSL_SERVER_CERT_DN=cn=m)))";
        for (name, error) in
            [(dn, 12533), ("broken", 12154), ("other", 12154), ("nowhere", 12533), ("(x", 12154), ("", 12154)]
        {
            assert_eq!(code(names.resolve(name)), error, "{name}");
        }
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn sqlnet_ora_selects_the_naming_methods() {
        let dir = folder(
            "settings",
            &[
                (
                    "tnsnames.ora",
                    "x.example.com=(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=a))(CONNECT_DATA=(SID=x)))\nx=(ADDRESS=(PROTOCOL=tcp)(HOST=b))",
                ),
                (
                    "sqlnet.ora",
                    "SQLNET.AUTHENTICATION_SERVICES=\nsqlnet.allowed_logon_version_client = 12a\n\
                     NAMES.DIRECTORY_PATH =\n (TNSNAMES)\nsqlnet.encryption_client=REQUIRED\n\
                     names.default_domain=example.com\nSQLNET.OUTBOUND_CONNECT_TIMEOUT = 3 # soon\n\
                     tcp.connect_timeout=2\nsqlnet.recv_timeout=9\nWALLET_LOCATION=(SOURCE=(METHOD=FILE)\n (METHOD_DATA=(DIRECTORY=/wallet)))\n",
                ),
            ],
        );
        let names = Names::read_from(Some(&dir), None);
        let route = names.resolve("x").unwrap();
        assert_eq!(hosts(&route), ["a:1521/"]);
        let d = &route.descriptions[0];
        let seconds = |n| Some(Duration::from_secs(n));
        assert_eq!((d.connect_limit, Some(d.transport_limit), d.receive_limit), (seconds(3), seconds(2), seconds(9)));
        assert!(!d.takes_11g && Names::default().resolve("a/b").unwrap().descriptions[0].takes_11g);
        assert!(d.requires_protection && !Names::default().resolve("a/b").unwrap().descriptions[0].requires_protection);
        assert_eq!(code(names.resolve("host:1521/s")), 12154, "EZConnect is left out");
        let wallet = names.resolve("(DESCRIPTION=(ADDRESS=(PROTOCOL=tcps)(HOST=h))(CONNECT_DATA=(SID=x)))").unwrap();
        assert_eq!(wallet.descriptions[0].addresses[0].tls.as_ref().unwrap().wallet, Some("/wallet".into()));
        assert!(names.are_kept() && !Names::default().are_kept());
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn ezconnect_names_hosts_servers_and_limits() {
        let names = Names::default();
        let route = |text: &str| names.resolve(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(hosts(&route("//db/sales")), ["db:1521/sales"]);
        assert_eq!(hosts(&route("a,b:1522,[::1]:1523/s")), ["a:1522/s", "b:1522/s", "::1:1523/s"]);
        assert_eq!(hosts(&route("a:1;b:2/s")), ["a:1/s", "b:2/s"]);
        let pooled = route("db:7/s:pooled/inst?pool_connection_class=web&connect_timeout=2&retry_count=3&sdu=16384");
        let d = &pooled.descriptions[0];
        let data: Vec<String> = d.connect_data.iter().map(Entry::to_string).collect();
        assert_eq!(
            data,
            ["(SERVICE_NAME=s)", "(SERVER=pooled)", "(INSTANCE_NAME=inst)", "(POOL_CONNECTION_CLASS=web)"]
        );
        assert_eq!((d.connect_limit, d.retries, d.sdu), (Some(Duration::from_secs(2)), 3, Some(16384)));
        let d = &route("db/s?connect_timeout=0&transport_connect_timeout=0").descriptions[0];
        assert!(d.connect_limit.is_none() && d.transport_limit > Duration::from_secs(1 << 30), "0 is no limit");
        let tls = route("tcps://db:2484/s?wallet_location=\"/w x\"&ssl_server_dn_match=off");
        let trust = tls.descriptions[0].addresses[0].tls.clone();
        assert_eq!(trust, Some(Trust { wallet: Some("/w x".into()), any_name: true }));
        for none in ["db:x/s", "ipc://db/s", ":1/s", "db/s:fast", "db/s?x=1", "db/s?sdu=x", "db/s?sdu", "sales"] {
            assert_eq!(code(names.resolve(none)), 12154, "{none}");
        }
    }

    #[test]
    fn addresses_are_tried_in_turn() {
        let names = Names::default();
        let balanced = names.resolve("a,b,c,d,e,f,g,h:1/s").unwrap();
        let turn = |route: &Route| {
            route.descriptions[0].in_turn().iter().map(|at| at.host.clone()).collect::<Vec<_>>().join("")
        };
        let many: std::collections::BTreeSet<String> = (0..100).map(|_| turn(&balanced)).collect();
        assert!(many.len() > 1 && many.iter().all(|turn| turn.len() == 8), "{many:?}");
        assert_eq!(turn(&names.resolve("a,b:1/s?load_balance=off").unwrap()), "ab");
        assert_eq!(turn(&names.resolve("a,b:1/s?load_balance=off&failover=off").unwrap()), "a");
    }
}
