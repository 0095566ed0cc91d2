//! `DESCRIBE`: the columns of a table or view, the arguments of a procedure.

use types::DataType;

use crate::shell::Shell;
use crate::text::left;

impl Shell<'_> {
    pub(crate) fn describe(&mut self, name: &str) {
        let name = name.trim();
        if name.is_empty() {
            self.out.line("Usage: DESCRIBE [schema.]object[@db_link]");
            return;
        }
        let Some(session) = &mut self.session else {
            self.out.line("SP2-0640: Not connected");
            return;
        };
        match session.describe(&format!("select * from {name}")) {
            Ok(columns) => {
                let wide = self.settings.linesize.max(40);
                let type_wide = 28.min(wide / 2);
                let name_wide = wide.saturating_sub(type_wide + 11).min(128);
                let out = &mut self.out;
                out.line(&format!(" {} {} Type", left("Name", name_wide), left("Null?", 8)));
                out.line(&format!(" {} {} {}", "-".repeat(name_wide), "-".repeat(8), "-".repeat(type_wide)));
                for column in columns {
                    let null = if column.nullable { "" } else { "NOT NULL" };
                    let kind = type_name(&column.data_type);
                    out.line(&format!(" {} {} {kind}", left(&column.name, name_wide), left(null, 8)));
                }
                out.line("");
            }
            Err(e) if e.code() == 942 || e.code() == 4044 => {
                self.out.line("ERROR:");
                self.out.line(&format!("ORA-04043: object {name} does not exist"));
                self.out.line("");
                self.out.line("");
            }
            Err(e) => {
                self.out.line("ERROR:");
                self.out.line(&e.to_string());
                self.out.line("");
                self.out.line("");
            }
        }
    }
}

/// A type as `DESCRIBE` prints it.
fn type_name(data_type: &DataType) -> String {
    data_type.to_string()
}
