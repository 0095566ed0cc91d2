//! ANALYZE, and the removal of statistics of dropped tables.
//!
//! ANALYZE gathers the statistics of DBMS_STATS with METHOD_OPT `FOR ALL COLUMNS SIZE 1`, or with its own FOR clause.

use crate::stats_gather::{analyze_index, analyze_table};
use crate::stats_store::{delete_table, is_locked};
use crate::work::Work;
use dictionary::*;
use sql::ast::{Analyze, AnalyzeKind};
use types::{ObjectId, Ora, Result};

/// The action in the text after the object's name.
enum Action {
    Gather { method: String, percent: Option<f64> },
    Delete,
}

pub fn analyze(work: &mut Work<'_>, statement: &Analyze) -> Result<()> {
    let Analyze { kind: what, name, action: words, pos } = statement;
    let target = work.target(name)?;
    let any = SystemPrivilege::AnalyzeAny;
    let kind = match what {
        AnalyzeKind::Table => (ObjectKind::Table, 942),
        AnalyzeKind::Index => (ObjectKind::Index, 1418),
        AnalyzeKind::Cluster => (ObjectKind::Cluster, 943),
    };
    let object = work.existing_for(&target, kind.0, kind.1, any)?;
    work.require(&target, None, any)?;
    let action = action(words).ok_or_else(|| Ora::unsupported().at(pos.0))?;
    let tables = match what {
        AnalyzeKind::Index => return index(work, object, &action),
        AnalyzeKind::Table => vec![object],
        AnalyzeKind::Cluster => work.image.cluster(object)?.ok_or_else(|| Ora::new(943).at(target.pos))?.tables.clone(),
    };
    for table in tables {
        match &action {
            Action::Gather { method, percent } => analyze_table(work, table, method, *percent)?,
            Action::Delete if is_locked(work, table)? => return Err(Ora::new(38029)),
            Action::Delete => delete_table(work, table, true, true)?,
        }
    }
    Ok(())
}

fn index(work: &mut Work<'_>, object: ObjectId, action: &Action) -> Result<()> {
    match action {
        Action::Gather { .. } => analyze_index(work, object),
        Action::Delete => Err(Ora::unsupported()),
    }
}

/// `{COMPUTE | ESTIMATE} STATISTICS [FOR …] [SAMPLE n PERCENT]`, `DELETE STATISTICS`; `None` for anything else.
fn action(text: &str) -> Option<Action> {
    let text = text.trim().trim_end_matches(';').to_uppercase();
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((&text, ""));
    let rest = rest.trim().strip_prefix("STATISTICS")?.trim();
    match first {
        "DELETE" => rest.is_empty().then_some(Action::Delete),
        "COMPUTE" => Some(Action::Gather { method: method(rest), percent: None }),
        "ESTIMATE" => {
            let (clause, sample) = rest.split_once("SAMPLE").unwrap_or((rest, ""));
            let percent = match sample.trim() {
                "" => None,
                sample => Some(sample.strip_suffix("PERCENT")?.trim().parse::<f64>().ok()?),
            };
            Some(Action::Gather { method: method(clause), percent })
        }
        _ => None,
    }
}

fn method(clause: &str) -> String {
    let clause = clause.trim();
    if clause.is_empty() { "FOR ALL COLUMNS SIZE 1".to_owned() } else { clause.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_analyze() {
        let gathers = |text: &str| match action(text) {
            Some(Action::Gather { method, percent }) => Some((method, percent)),
            _ => None,
        };
        let plain = "FOR ALL COLUMNS SIZE 1".to_owned();
        assert_eq!(gathers("compute statistics"), Some((plain.clone(), None)));
        assert_eq!(gathers("estimate statistics sample 20 percent"), Some((plain, Some(20.0))));
        let columns = "FOR COLUMNS A SIZE 10".to_owned();
        assert_eq!(gathers("compute statistics for columns a size 10"), Some((columns, None)));
        assert!(matches!(action("delete statistics"), Some(Action::Delete)));
        assert!(action("validate structure").is_none() && action("estimate statistics sample 5 rows").is_none());
    }
}
