//! Parameters at the start of the instance: the init file, then `--param name=value`.

use crate::list::{PARAMS, Param};
use crate::value::{self, check_nls};
use types::{Facility, Ora, Result};

/// A parameter's value, and whether the user gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Given {
    value: String,
    is_default: bool,
}

/// The whole set of parameters before the instance exists.
#[derive(Clone, Debug)]
pub struct InitParams {
    values: Vec<Given>,
}

impl Default for InitParams {
    fn default() -> Self {
        let values = PARAMS.iter().map(|d| Given { value: d.default.to_string(), is_default: true }).collect();
        Self { values }
    }
}

impl InitParams {
    /// Sets one parameter from the user's text.
    ///
    /// # Errors
    /// LRM-00101 under ORA-01078 for an unknown name; those of [`value::normalise`] for a bad value; ORA-12705 for an
    /// unknown language or territory; ORA-01127 for a database name of more than eight characters.
    pub fn set(&mut self, name: &str, raw: &str) -> Result<()> {
        let Some(param) = Param::find(name.trim()) else {
            return Err(failure(101, &format!("unknown parameter name '{}'", name.trim())));
        };
        let value = value::normalise(param.def(), raw)?;
        check_nls(param, &value)?;
        if param == Param::DbName {
            check_database_name(&value)?;
        }
        self.values[param as usize] = Given { value, is_default: false };
        Ok(())
    }

    /// Sets a value that the instance derived; it still counts as a default.
    pub fn derive(&mut self, param: Param, value: impl ToString) {
        self.values[param as usize].value = value.to_string();
    }

    /// Sets the database's name, and from it the unique name and the listener's service name, unless these were given.
    pub fn derive_names(&mut self, database: &str) {
        self.derive(Param::DbName, database);
        if self.get(Param::DbUniqueName).is_empty() {
            self.derive(Param::DbUniqueName, database);
        }
        if self.is_default(Param::ServiceNames) {
            let (name, domain) = (self.get(Param::DbUniqueName), self.get(Param::DbDomain));
            let service = if domain.is_empty() { name.to_string() } else { format!("{name}.{domain}") };
            self.derive(Param::ServiceNames, service);
        }
    }

    /// Sets a parameter from `name=value`, the form of `--param`.
    ///
    /// # Errors
    /// LRM-00110 when there is no `=`, and those of [`InitParams::set`].
    pub fn set_pair(&mut self, pair: &str) -> Result<()> {
        match pair.split_once('=') {
            Some((name, raw)) => self.set(name, raw),
            None => Err(failure(110, &format!("syntax error at '{pair}'"))),
        }
    }

    /// Reads an init file: lines `name = value`; `#` begins a comment; `*.name` and `sid.name` are accepted too.
    ///
    /// # Errors
    /// The first bad line, under ORA-01078, with its line number.
    pub fn read_file(&mut self, text: &str) -> Result<()> {
        for (i, line) in text.lines().enumerate() {
            let line = strip_comment(line).trim();
            if line.is_empty() {
                continue;
            }
            let Some((name, raw)) = line.split_once('=') else {
                let at = format!("syntax error at '{line}' in line {}", i + 1);
                return Err(failure(110, &at));
            };
            let name = name.trim();
            let name = name.split_once('.').map_or(name, |(_, n)| n);
            self.set(name, raw)?;
        }
        Ok(())
    }

    /// The value as text; empty when unset.
    pub fn get(&self, param: Param) -> &str {
        &self.values[param as usize].value
    }

    /// The value of a number or size. A text parameter counts as 0.
    pub fn number(&self, param: Param) -> i64 {
        self.get(param).parse().unwrap_or(0)
    }

    /// The value of a boolean.
    pub fn flag(&self, param: Param) -> bool {
        self.get(param) == "TRUE"
    }

    /// Whether the value was not given.
    pub fn is_default(&self, param: Param) -> bool {
        self.values[param as usize].is_default
    }

    /// The given parameters as lines of an init file, in the list's order, for the alert log at start-up.
    pub fn given_lines(&self) -> Vec<String> {
        PARAMS
            .iter()
            .filter(|d| !self.is_default(d.param))
            .map(|d| format!("{} = {}", d.name, quoted(self.get(d.param))))
            .collect()
    }
}

fn quoted(value: &str) -> String {
    if value.contains([' ', '#', ',', '=']) || value.is_empty() { format!("\"{value}\"") } else { value.to_string() }
}

/// Checks a database name: a letter, and up to seven letters, digits, `_`, `#` and `$`.
fn check_database_name(name: &str) -> Result<()> {
    if name.len() > 8 {
        return Err(Ora::with(1127, &[&name]));
    }
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || "_#$".contains(c));
    if is_word && name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Ok(());
    }
    Err(Ora::with(96, &[&name, &"db_name", &"names of a letter, then letters, digits, _, # and $"]))
}

/// Removes a comment, which begins with `#` outside quotes.
fn strip_comment(line: &str) -> &str {
    let mut quote = None;
    for (i, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') => return &line[..i],
            (None, '\'' | '"') => quote = Some(c),
            (Some(q), c) if c == q => quote = None,
            _ => {}
        }
    }
    line
}

/// ORA-01078 followed by the message of the parameter reader.
fn failure(code: u32, text: &str) -> Ora {
    let text = format!("failure in processing system parameters\nLRM-{code:05}: {text}");
    Ora::from_text(Facility::Ora, 1078, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsupported_values_are_refused() {
        let refused = |pair: &str| InitParams::default().set_pair(pair).expect_err(pair).code();
        for (pair, code) in [
            ("nls_language=KLINGON", 12705),
            ("nls_territory=MORDOR", 12705),
            ("nls_date_language=KLINGON", 12705),
            ("nls_sort=KLINGON", 12705),
            ("nls_numeric_characters=12", 12705),
            ("db_name=FIFTEENLETTERSX", 1127),
            ("db_name=9LIVES", 96),
            ("db_name=", 96),
            ("open_cursors=0", 68),
            ("log_buffer=0", 68),
            ("processes=0", 68),
        ] {
            assert_eq!(refused(pair), code, "{pair}");
        }
        for pair in ["nls_language=american", "db_name=ORCL_1", "open_cursors=1", "log_buffer=64K"] {
            InitParams::default().set_pair(pair).unwrap_or_else(|e| panic!("{pair}: {e}"));
        }
    }

    #[test]
    fn an_init_file_sets_what_it_names() {
        let mut p = InitParams::default();
        p.read_file(
            "# first\n*.processes = 40   # forty\n\ndb_cache_size=16M\nnls_date_format = 'YYYY-MM-DD # HH24'\n_spin_count=10\n",
        )
        .unwrap();
        assert_eq!(p.number(Param::Processes), 40);
        assert_eq!(p.number(Param::DbCacheSize), 16 << 20);
        assert_eq!(p.get(Param::NlsDateFormat), "YYYY-MM-DD # HH24");
        assert!(p.is_default(Param::OpenCursors));
        assert_eq!(p.given_lines().len(), 4);
        let mut again = InitParams::default();
        again.read_file(&p.given_lines().join("\n")).unwrap();
        assert_eq!(again.given_lines(), p.given_lines());
    }

    #[test]
    fn names_follow_from_the_databases() {
        let names = |given: &[&str]| {
            let mut p = InitParams::default();
            given.iter().for_each(|pair| p.set_pair(pair).unwrap());
            let lines = p.given_lines().len();
            p.derive_names("ORCL");
            assert_eq!(p.given_lines().len(), lines, "what is derived was not given");
            [Param::DbName, Param::DbUniqueName, Param::ServiceNames].map(|name| p.get(name).to_string())
        };
        assert_eq!(names(&[]), ["ORCL", "ORCL", "ORCL"]);
        assert_eq!(names(&["db_name=other"]), ["ORCL", "ORCL", "ORCL"]);
        assert_eq!(names(&["db_unique_name=east", "db_domain=example.com"]), ["ORCL", "east", "east.example.com"]);
        assert_eq!(names(&["service_names='sales, hr'", "db_domain=example.com"]), ["ORCL", "ORCL", "sales, hr"]);
    }

    #[test]
    fn errors_name_the_wrong_part() {
        let mut p = InitParams::default();
        for (line, code) in
            [("no_such_parameter=1", 1078), ("processes", 1078), ("processes=many", 2017), ("result_cache_mode=x", 96)]
        {
            assert_eq!(p.read_file(line).unwrap_err().code(), code, "{line}");
        }
        let e = p.set_pair("nonesuch=1").unwrap_err();
        assert!(e.to_string().contains("LRM-00101: unknown parameter name 'nonesuch'"), "{e}");
    }
}
