//! The engines that a run asks for: `NAME`, or `NAME=URL` for a database of the user. `NAME=env:VARIABLE` takes the URL
//! from the environment.
//!
//! A URL may have a password. It is never printed, and never written into results.

use crate::error::LabError;
use crate::results::GENERATIONS;
use crate::targets::sheet::ENGINES;

/// An engine that a run asks for.
#[derive(Clone, PartialEq, Eq)]
pub struct Asked {
    /// As given: `latchwork`, `latchwork@11.1`, `citus`, or any name before a URL.
    pub name: String,
    /// The engine whose section of the manifest is used.
    pub engine: String,
    pub url: Option<String>,
}

/// The URL is left out.
impl std::fmt::Debug for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asked").field("name", &self.name).field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl Asked {
    /// The generation of Latchwork, if it is Latchwork.
    pub fn generation(&self) -> Option<&str> {
        let rest = self.name.strip_prefix("latchwork")?;
        match rest.strip_prefix('@') {
            Some(generation) => Some(generation),
            None => rest.is_empty().then_some("latchwork"),
        }
    }
}

impl std::str::FromStr for Asked {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Asked, LabError> {
        let (name, url) = match text.split_once('=') {
            Some((name, url)) => (name.trim(), Some(url.trim().to_string())),
            None => (text.trim(), None),
        };
        let wrong = |why: String| LabError::new(format!("--targets: {why}"));
        if name.is_empty() || name.contains(['/', ':', ',']) {
            return Err(wrong("an engine is given as NAME or NAME=URL".into()));
        }
        let base = name.split('@').next().unwrap_or(name);
        // A comma in a URL ends it, and what follows may be a part of a password.
        if !ENGINES.contains(&base) && name.contains('@') {
            return Err(wrong("an engine is given as NAME or NAME=URL; a comma in a URL is %2C".into()));
        }
        // Arguments are public on a machine, the environment is not.
        let url = match url.as_deref().and_then(|url| url.strip_prefix("env:")) {
            Some(variable) => match std::env::var(variable) {
                Ok(url) => Some(url),
                Err(_) => return Err(wrong(format!("{name}: the environment has no variable {variable}"))),
            },
            None => url,
        };
        let engine = match (&url, ENGINES.contains(&base)) {
            (_, true) => base.to_string(),
            (Some(url), false) => {
                scheme_of(url).ok_or_else(|| wrong(format!("the URL of {name} begins with no known scheme")))?.into()
            }
            (None, false) => {
                return Err(wrong(format!(
                    "there is no engine {name}; there are {}, and NAME=URL",
                    ENGINES.join(", ")
                )));
            }
        };
        let asked = Asked { name: name.to_string(), engine, url };
        if let Some(generation) = asked.generation().filter(|g| !GENERATIONS.contains(g)) {
            return Err(wrong(format!("there is no generation {generation}; there are {}", GENERATIONS.join(", "))));
        }
        if asked.generation().is_none() && name.contains('@') {
            return Err(wrong(format!("{base} has no generations")));
        }
        Ok(asked)
    }
}

/// The engine whose wire a URL is for.
fn scheme_of(url: &str) -> Option<&'static str> {
    match url.split_once("://")?.0 {
        "postgres" | "postgresql" => Some("postgresql"),
        "mysql" | "mariadb" => Some("mariadb"),
        "oracle" => Some("oracle"),
        _ => None,
    }
}

/// The parts of a URL `scheme://user:password@host:port/name?settings`, percent signs decoded in user and password.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Parts {
    pub user: String,
    pub password: String,
    pub host: String,
    pub port: Option<u16>,
    pub name: String,
}

impl Parts {
    pub fn of(url: &str) -> Option<Parts> {
        let (_, rest) = url.split_once("://")?;
        let rest = rest.split(['?', '#']).next().unwrap_or(rest);
        let (place, name) = rest.split_once('/').unwrap_or((rest, ""));
        // A password may have an at sign.
        let (who, place) = place.rsplit_once('@').unwrap_or(("", place));
        let (user, password) = who.split_once(':').unwrap_or((who, ""));
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().ok()?)),
            None => (place, None),
        };
        let decoded = |text: &str| decode(text);
        (!host.is_empty()).then(|| Parts {
            user: decoded(user),
            password: decoded(password),
            host: host.trim_matches(['[', ']']).to_string(),
            port,
            name: name.to_string(),
        })
    }

    /// `host:port/name`, for tables and messages.
    pub fn place(&self) -> String {
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        format!("{}{port}/{}", self.host, self.name)
    }
}

fn decode(text: &str) -> String {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let hex = behind.get(..2).and_then(|two| std::str::from_utf8(two).ok()).filter(|_| *first == b'%');
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &behind[2..];
            }
            None => {
                out.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A message of a client without the secrets of a URL: some clients repeat what they could not read.
pub fn without_secrets(message: &str, url: &str) -> String {
    let mut out = message.replace(url, "the URL");
    let raw =
        url.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@')).and_then(|(who, _)| who.split_once(':'));
    let passwords = raw.map(|(_, raw)| raw.to_string()).into_iter().chain(Parts::of(url).map(|parts| parts.password));
    for password in passwords.filter(|password| !password.is_empty()) {
        out = out.replace(&password, "***");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Result<Asked, String> {
        text.parse().map_err(|e: LabError| e.to_string())
    }

    #[test]
    fn engines_are_asked_for_by_name_or_by_url() {
        let plain = asked("postgresql").unwrap();
        assert_eq!((plain.engine.as_str(), plain.url, plain.name.as_str()), ("postgresql", None, "postgresql"));
        assert_eq!(asked("latchwork").unwrap().generation(), Some("latchwork"));
        assert_eq!(asked("latchwork@11.1").unwrap().generation(), Some("11.1"));
        let own = asked("staging=postgres://u:p@h/db").unwrap();
        assert_eq!((own.name.as_str(), own.engine.as_str(), own.generation()), ("staging", "postgresql", None));
        assert_eq!(asked("citus=postgres://u:p@h/db").unwrap().engine, "citus");
        for (text, reason) in [
            ("db2", "there is no engine db2"),
            ("mine=ftp://u:secret@h/x", "no known scheme"),
            ("latchwork@10.9", "no generation 10.9"),
            ("sqlite@3", "sqlite has no generations"),
            ("postgres://u:secret@h/x", "NAME or NAME=URL"),
            ("=postgres://u:secret@h/x", "NAME or NAME=URL"),
            ("secret@h", "a comma in a URL"),
            ("own=env:NO_SUCH_VARIABLE_OF_TESTS", "no variable NO_SUCH_VARIABLE_OF_TESTS"),
        ] {
            let message = asked(text).unwrap_err();
            assert!(message.contains(reason) && !message.contains("secret"), "{text}: {message}");
        }
    }

    #[test]
    fn the_secrets_of_a_url_are_not_shown() {
        let url = "postgres://scott:ti%40ger%2F@db.example:5433/app?sslmode=disable";
        let parts = Parts::of(url).unwrap();
        assert_eq!((parts.user.as_str(), parts.password.as_str()), ("scott", "ti@ger/"));
        assert_eq!(parts.place(), "db.example:5433/app");
        assert!(!format!("{:?}", asked(&format!("x={url}")).unwrap()).contains("ger"));
        for message in [format!("cannot read {url}"), "wrong password ti@ger/".into(), "at ti%40ger%2F@".into()] {
            let shown = without_secrets(&message, url);
            assert!(!shown.contains("ger"), "{shown}");
        }
        assert_eq!(Parts::of("oracle://h/xe").unwrap().place(), "h/xe");
    }
}
