//! The address of a service, and the texts that name one.

use crate::tls::Trust;
use net::oracle::descriptor::Entry;
use std::path::{Path, PathBuf};

/// The default port of listeners.
pub(crate) const DEFAULT_PORT: u16 = 1521;

/// The address of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetAddress {
    pub host: String,
    pub port: u16,
    pub service: String,
    /// The connection is encrypted and the certificate checked.
    pub tls: Option<Trust>,
}

impl NetAddress {
    /// The listener's address for the instance whose database is in `dir`, from the alert log; `None` without a
    /// listener. Of several addresses the first unencrypted one.
    pub fn of_instance(dir: &Path, service: &str) -> Option<NetAddress> {
        let mut all = Self::all_of_instance(dir, service);
        let at = all.iter().position(|at| at.tls.is_none()).unwrap_or(0);
        (!all.is_empty()).then(|| all.swap_remove(at))
    }

    /// All addresses of the listener.
    pub fn all_of_instance(dir: &Path, service: &str) -> Vec<NetAddress> {
        let log = std::fs::read_to_string(dir.join("alert.log")).unwrap_or_default();
        // An earlier instance may have listened elsewhere.
        let own = log.rsplit("Starting Latchwork instance").next().unwrap_or_default();
        let own = own.rsplit("Listener stopped").next().unwrap_or_default();
        let of_line = |line: &str| {
            let entry = Entry::parse(line.strip_prefix("Listening on: ")?)?;
            Self::of_entry(&entry, service)
        };
        own.lines().filter_map(of_line).collect()
    }

    pub(crate) fn of_entry(entry: &Entry, service: &str) -> Option<NetAddress> {
        let tls = match entry.text_of("PROTOCOL").unwrap_or("tcp").to_ascii_lowercase().as_str() {
            "tcp" => None,
            "tcps" => {
                let wallet = entry.text_of("WALLET_LOCATION").or(entry.text_of("MY_WALLET_DIRECTORY"));
                Some(Trust { wallet: wallet.map(PathBuf::from), any_name: false })
            }
            _ => return None,
        };
        let port = entry.text_of("PORT").map_or(Some(DEFAULT_PORT), |port| port.parse().ok())?;
        Some(NetAddress { host: entry.text_of("HOST")?.to_string(), port, service: service.to_string(), tls })
    }

    /// Parses `host`, `host:port`, `[[tcp|tcps:]//]host:port/service[?wallet_location=DIR]` or a connect descriptor;
    /// `None` for other texts.
    pub fn parse(text: &str) -> Option<NetAddress> {
        let text = text.trim();
        if text.starts_with('(') {
            let entry = Entry::parse(text)?;
            let service = entry.text_of("SERVICE_NAME").unwrap_or_default();
            return Self::of_entry(&entry, service);
        }
        let (text, settings) = text.split_once('?').unwrap_or((text, ""));
        let mut wallet = None;
        for setting in settings.split('&').filter(|setting| !setting.is_empty()) {
            let (key, value) = setting.split_once('=')?;
            if !key.eq_ignore_ascii_case("wallet_location") {
                return None;
            }
            wallet = Some(PathBuf::from(value.trim_matches('"')));
        }
        let (protocol, text) = text.split_once("//").unwrap_or(("", text));
        let tls = match protocol.to_ascii_lowercase().as_str() {
            "" | "tcp:" => None,
            "tcps:" => Some(Trust { wallet, any_name: false }),
            _ => return None,
        };
        let (place, service) = text.split_once('/').unwrap_or((text, ""));
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().ok()?),
            None => (place, DEFAULT_PORT),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        (!host.is_empty()).then(|| NetAddress { host: host.into(), port, service: service.into(), tls })
    }

    /// The protocol in the spelling of descriptors.
    pub fn protocol(&self) -> &'static str {
        if self.tls.is_some() { "TCPS" } else { "TCP" }
    }

    pub(crate) fn connect_data(&self, inside: &str) -> String {
        let (Self { host, port, .. }, protocol) = (self, self.protocol().to_ascii_lowercase());
        format!("(DESCRIPTION=(ADDRESS=(PROTOCOL={protocol})(HOST={host})(PORT={port}))(CONNECT_DATA={inside}))")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_in_several_ways() {
        let is = |text: &str, host: &str, port: u16, service: &str| {
            let want = NetAddress { host: host.into(), port, service: service.into(), tls: None };
            assert_eq!(NetAddress::parse(text), Some(want), "{text}");
        };
        is("db", "db", 1521, "");
        is("db:1522", "db", 1522, "");
        is("//db:1522/sales", "db", 1522, "sales");
        is("db/sales", "db", 1521, "sales");
        is("[::1]:1522/sales", "::1", 1522, "sales");
        is("(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=h)(PORT=7))(CONNECT_DATA=(SERVICE_NAME=s)))", "h", 7, "s");
        is("tcp://db/sales", "db", 1521, "sales");
        let tls = |text: &str, wallet: Option<&str>| {
            let at = NetAddress::parse(text).unwrap();
            assert_eq!((at.host.as_str(), at.port, at.service.as_str()), ("db", 2484, "s"), "{text}");
            assert_eq!(at.tls, Some(Trust { wallet: wallet.map(PathBuf::from), any_name: false }), "{text}");
        };
        tls("tcps://db:2484/s", None);
        tls("TCPS://db:2484/s?wallet_location=/w", Some("/w"));
        tls("(DESCRIPTION=(ADDRESS=(PROTOCOL=TCPS)(HOST=db)(PORT=2484))(CONNECT_DATA=(SERVICE_NAME=s)))", None);
        tls(
            "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcps)(HOST=db)(PORT=2484))(CONNECT_DATA=(SERVICE_NAME=s))\
             (SECURITY=(MY_WALLET_DIRECTORY=/w)))",
            Some("/w"),
        );
        for none in ["", ":1", "h:x", "(", "(ADDRESS=(PORT=1))", "ipc://h:1/s", "tcps://h:1/s?retry=1", "//h/s?x"] {
            assert_eq!(NetAddress::parse(none), None, "{none}");
        }
    }
}
