//! The arguments of the shell: those of SQL*Plus, and those of a throw-away instance.

use crate::logon::{Logon, parse_logon};
use std::path::PathBuf;

/// The text of `--help`.
pub const USAGE: &str = "\
Usage: latchwork sql [options] [user[/password][@place] | / | /nolog] [as sysdba] [@script [argument]...]

  -s, --silent            no banner, no prompts
  -l, -L                  do not ask again when the logon fails
  -m, --markup \"csv on\"   print rows as CSV, JSON (json on) or a page (html on)
      --csv, --json       the same
  -R, --restrict LEVEL    1: no HOST and EDIT; 2: no SAVE, SPOOL and STORE either; 3: no GET, START and @ either
      --ephemeral         start a throw-away instance for this shell; SYSDBA when no user is named
      --param NAME=VALUE  init parameter of the throw-away instance; may be repeated
      --dir DIR           database directory (default: $LATCHWORK_HOME, or ./latchwork-db)
  -v, --version           print the release
  -h, --help              print this help

Examples:
  latchwork sql / as sysdba
  latchwork sql --ephemeral --param latch_generation=11.1 @script.sql 2000
  echo 'select name, gets from v$latch;' | latchwork sql -s --csv / as sysdba";

/// The parsed arguments.
#[derive(Debug, Default)]
pub struct Arguments {
    pub silent: bool,
    pub help: bool,
    pub version: bool,
    pub ephemeral: bool,
    pub params: Vec<(String, String)>,
    pub dir: Option<PathBuf>,
    /// Words for `SET MARKUP`.
    pub markup: Vec<String>,
    /// Level of `-R`: commands of this level and below are refused. 0: all commands.
    pub restrict: u8,
    pub nolog: bool,
    pub logon: Option<Logon>,
    /// Script and its arguments.
    pub script: Vec<String>,
}

/// The password in an argument, which the list of processes would show: the part after the slash of `user/password`.
pub fn secret_of(words: &[String]) -> Option<&str> {
    let mut at = words.iter();
    while let Some(word) = at.next() {
        match word.as_str() {
            "-m" | "-M" | "--markup" | "-r" | "-R" | "-c" | "-C" | "--dir" | "--param" => drop(at.next()),
            script if script.starts_with('@') => return None,
            option if option.starts_with('-') => {}
            part => match part.split_once('/') {
                Some((user, password)) if !user.is_empty() && !password.is_empty() => return Some(password),
                _ => {}
            },
        }
    }
    None
}

/// Parses the arguments.
///
/// # Errors
/// The error in the arguments.
pub fn parse(words: &[String]) -> Result<Arguments, String> {
    let mut out = Arguments::default();
    let mut logon: Vec<&str> = Vec::new();
    let mut at = words.iter();
    while let Some(word) = at.next() {
        let mut value = |name: &str| at.next().ok_or(format!("{name} needs a value"));
        match word.as_str() {
            "-s" | "-S" | "--silent" => out.silent = true,
            "-l" | "-L" => {}
            "-v" | "-V" | "--version" => out.version = true,
            "-h" | "-H" | "--help" => out.help = true,
            "--ephemeral" => out.ephemeral = true,
            "--csv" => out.markup = vec!["csv".into(), "on".into()],
            "--json" => out.markup = vec!["json".into(), "on".into()],
            "-m" | "-M" | "--markup" => {
                out.markup = crate::text::words(value("--markup")?);
            }
            "-r" | "-R" | "--restrict" => {
                out.restrict = match value(word)?.as_str() {
                    "1" => 1,
                    "2" => 2,
                    "3" => 3,
                    other => return Err(format!("{word} {other}: the level must be 1, 2 or 3")),
                };
            }
            // The release whose behaviour a script expects. Latchwork has one behaviour, so any release is accepted.
            "-c" | "-C" => {
                value(word)?;
            }
            "--dir" => out.dir = Some(PathBuf::from(value("--dir")?)),
            "--param" => {
                let pair = value("--param")?;
                let (name, value) = pair.split_once('=').ok_or(format!("--param {pair}: expected NAME=VALUE"))?;
                out.params.push((name.trim().to_string(), value.trim().to_string()));
            }
            script if script.starts_with('@') && script.len() > 1 => {
                out.script.push(script[1..].to_string());
                out.script.extend(at.by_ref().cloned());
            }
            "/nolog" | "/NOLOG" => out.nolog = true,
            option if option.starts_with('-') && option.len() > 1 => return Err(format!("unknown option {option}")),
            part => logon.push(part),
        }
    }
    if !logon.is_empty() {
        out.logon = Some(parse_logon(&logon.join(" "))?);
    }
    if !out.params.is_empty() && !out.ephemeral {
        return Err("--param requires --ephemeral; other instances use their init files".into());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use client::Credentials;

    fn arguments(line: &[&str]) -> Result<Arguments, String> {
        parse(&line.iter().map(|w| w.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn sqlplus_lines() {
        let a = arguments(&["-s", "/", "as", "sysdba", "@run", "1", "-2"]).unwrap();
        assert!(a.silent);
        assert_eq!(a.logon.unwrap().credentials, Credentials::Sysdba);
        assert_eq!(a.script, ["run", "1", "-2"]);
        let a = arguments(&["-L", "/as sysdba", "@x"]).unwrap();
        assert_eq!(a.logon.unwrap().credentials, Credentials::Sysdba);
        let a = arguments(&["user1/pw@place"]).unwrap();
        assert_eq!(a.logon.unwrap().place.as_deref(), Some("place"));
        assert!(arguments(&["/nolog"]).unwrap().nolog);
        assert_eq!(arguments(&["-R", "2", "/nolog"]).unwrap().restrict, 2);
        assert_eq!(arguments(&["/nolog"]).unwrap().restrict, 0);
        for wrong in ["0", "4", "x", "-1"] {
            assert!(arguments(&["-R", wrong, "/nolog"]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_password_among_the_arguments_is_found() {
        let secret =
            |line: &[&str]| secret_of(&line.iter().map(|w| w.to_string()).collect::<Vec<_>>()).map(str::to_owned);
        assert_eq!(secret(&["-s", "alice/alice1", "@run", "a/b"]).as_deref(), Some("alice1"));
        assert_eq!(secret(&["--dir", "/a/b", "sys/x@place", "as", "sysdba"]).as_deref(), Some("x@place"));
        assert_eq!(secret(&["/", "as", "sysdba"]), None);
        assert_eq!(secret(&["/nolog", "@a/b"]), None);
    }

    #[test]
    fn a_throw_away_instance() {
        let a = arguments(&["--ephemeral", "--param", "latch_generation=11.1", "@s.sql"]).unwrap();
        assert!(a.ephemeral && a.logon.is_none());
        assert_eq!(a.params, [("latch_generation".to_string(), "11.1".to_string())]);
        assert!(arguments(&["--param", "x=1"]).is_err());
        assert!(arguments(&["--ephemeral", "--param", "x"]).is_err());
        assert!(arguments(&["--nonsense"]).is_err());
    }
}
