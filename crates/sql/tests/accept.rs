//! Valid Oracle statements, one a line, with indented continuation lines; blank lines and `--` lines are skipped.

use sql::parse_statement;

#[test]
fn every_statement_is_accepted() {
    let mut statements: Vec<String> = Vec::new();
    for line in include_str!("accepted.sql").lines() {
        match statements.last_mut() {
            _ if line.trim().is_empty() || line.starts_with("--") => {}
            Some(last) if line.starts_with(' ') => {
                last.push('\n');
                last.push_str(line);
            }
            _ => statements.push(line.to_owned()),
        }
    }
    let mut failed = Vec::new();
    for text in &statements {
        if let Err(error) = parse_statement(text) {
            failed.push(format!("{text}\n  {error} at {:?}", error.position()));
        }
    }
    assert!(statements.len() > 150, "{} statements", statements.len());
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), statements.len(), failed.join("\n"));
}
