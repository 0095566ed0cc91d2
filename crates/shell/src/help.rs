//! `HELP`: the commands of the shell, one by one.

use crate::classify::command_name;
use crate::shell::Shell;

/// Each command with its form and what it does.
const TOPICS: &[(&str, &str, &str)] = &[
    ("@", "@{url | file[.ext]} [argument ...]", "Runs a script; its arguments are &1, &2 and so on."),
    ("@@", "@@{url | file[.ext]} [argument ...]", "Runs a script that stands beside the calling one."),
    ("/", "/", "Runs the statement in the buffer without listing it."),
    (
        "accept",
        "ACC[EPT] variable [NUM[BER] | CHAR | DATE | BINARY_FLOAT | BINARY_DOUBLE] [FOR[MAT] format] [DEF[AULT] default] [PROMPT text | NOPR[OMPT]] [HIDE]",
        "Reads a line into a substitution variable.",
    ),
    ("append", "A[PPEND] text", "Adds text to the end of the buffer's current line."),
    ("archive", "ARCHIVE LOG LIST", "Shows whether and how far the redo log is archived."),
    (
        "break",
        "BRE[AK] [ON {column | expr | ROW | REPORT} [SKI[P] n | [SKI[P]] PAGE] [NODUP[LICATES] | DUP[LICATES]]] ...",
        "Says where a report is divided.",
    ),
    (
        "btitle",
        "BTI[TLE] [printspec [text | variable] ...] | [OFF | ON]",
        "Says what stands at the bottom of each page.",
    ),
    ("change", "C[HANGE] sepchar old [sepchar [new [sepchar]]]", "Changes text in the buffer's current line."),
    (
        "clear",
        "CL[EAR] {BRE[AKS] | BUFF[ER] | COL[UMNS] | COMP[UTES] | SCR[EEN] | SQL | TIMI[NG]}",
        "Forgets settings of that kind.",
    ),
    (
        "column",
        "COL[UMN] [{column | expr} [ALI[AS] alias | CLE[AR] | ENTMAP {ON | OFF} | FOLD_A[FTER] | FOLD_B[EFORE] | FOR[MAT] format | HEA[DING] text | JUS[TIFY] {L[EFT] | C[ENTER] | R[IGHT]} | LIKE {expr | alias} | NEWL[INE] | NEW_V[ALUE] variable | NOPRI[NT] | PRI[NT] | NUL[L] text | OLD_V[ALUE] variable | ON | OFF | WRA[PPED] | WOR[D_WRAPPED] | TRU[NCATED]] ...]",
        "Says how a column is printed.",
    ),
    (
        "compute",
        "COMP[UTE] [function [LAB[EL] text] ... OF {expr | column | alias} ... ON {expr | column | alias | REPORT | ROW} ...]",
        "Computes AVG, COUNT, MINIMUM, MAXIMUM, NUMBER, SUM, STD and VARIANCE at breaks.",
    ),
    ("connect", "CONN[ECT] [{logon | /} [AS {SYSDBA | SYSOPER}]]", "Opens a session and ends the one before."),
    (
        "copy",
        "COPY {FROM database | TO database | FROM database TO database} {APPEND | CREATE | INSERT | REPLACE} table [(column, ...)] USING query",
        "Copies the rows of a query into a table of another database.",
    ),
    ("define", "DEF[INE] [variable] | [variable = text]", "Defines or shows substitution variables."),
    ("del", "DEL [n | n m | n * | n LAST | * | * n | * LAST | LAST]", "Deletes lines of the buffer."),
    (
        "describe",
        "DESC[RIBE] {[schema.]object[@connect_identifier]}",
        "Shows the columns of a table or view, the arguments of a unit.",
    ),
    ("disconnect", "DISC[ONNECT]", "Commits and ends the session; the shell goes on."),
    ("document", "DOC[UMENT]", "Begins a comment that a line with # ends."),
    ("edit", "ED[IT] [file[.ext]]", "Runs the editor on a file or on the buffer."),
    ("execute", "EXEC[UTE] statement", "Runs one PL/SQL statement."),
    (
        "exit",
        "{EXIT | QUIT} [SUCCESS | FAILURE | WARNING | n | variable | :bind] [COMMIT | ROLLBACK]",
        "Ends the shell.",
    ),
    ("get", "GET [FILE] file[.ext] [LIST | NOLIST]", "Loads a file into the buffer."),
    ("help", "HELP | ? [topic]", "Explains a command."),
    (
        "history",
        "HIST[ORY] [n RUN | EDIT | DEL[ETE]] | [CLEAR | LIST]",
        "Lists, runs, edits and deletes earlier commands, after SET HISTORY ON.",
    ),
    ("host", "HO[ST] [command]", "Runs a command of the operating system."),
    ("input", "I[NPUT] [text]", "Adds lines behind the buffer's current line."),
    ("list", "L[IST] [n | n m | n * | n LAST | * | * n | * LAST | LAST]", "Lists lines of the buffer."),
    ("oradebug", "ORADEBUG command", "Asks the instance for its insides, as SYSDBA."),
    ("password", "PASSW[ORD] [username]", "Changes a password without showing it."),
    ("pause", "PAU[SE] [text]", "Prints text and waits for RETURN."),
    ("print", "PRI[NT] [variable ...]", "Prints bind variables."),
    ("prompt", "PRO[MPT] [text]", "Prints text."),
    ("recover", "RECOVER {DATAFILE | TABLESPACE | DATABASE} ...", "Recovers files from the redo log."),
    ("remark", "REM[ARK]", "Begins a comment of one line."),
    ("repfooter", "REPF[OOTER] [PAGE] [printspec [text | variable] ...] | [OFF | ON]", "Says what ends a report."),
    ("repheader", "REPH[EADER] [PAGE] [printspec [text | variable] ...] | [OFF | ON]", "Says what begins a report."),
    ("run", "R[UN]", "Lists and runs the statement in the buffer."),
    ("save", "SAV[E] [FILE] file[.ext] [CRE[ATE] | REP[LACE] | APP[END]]", "Saves the buffer in a file."),
    ("set", "SET variable value", "Gives a variable of the shell a value; SHOW ALL lists them."),
    (
        "show",
        "SHO[W] {ALL | BTI[TLE] | ERR[ORS] [unit name] | LNO | PARAMETER[S] [name] | PNO | RECYC[LEBIN] [name] | REL[EASE] | REPF[OOTER] | REPH[EADER] | SGA | SPOO[L] | SQLCODE | TTI[TLE] | USER | variable}",
        "Shows a value.",
    ),
    ("shutdown", "SHUTDOWN [ABORT | IMMEDIATE | NORMAL | TRANSACTIONAL]", "Is done by the command `latchwork stop`."),
    (
        "spool",
        "SPO[OL] [file[.ext] [CRE[ATE] | REP[LACE] | APP[END]] | OFF | OUT]",
        "Writes the output into a file too.",
    ),
    ("start", "STA[RT] {url | file[.ext]} [argument ...]", "Runs a script."),
    ("startup", "STARTUP", "Is done by the command `latchwork start`."),
    ("store", "STORE SET file[.ext] [CRE[ATE] | REP[LACE] | APP[END]]", "Saves the variables of SET as a script."),
    ("timing", "TIMI[NG] [START text | SHOW | STOP]", "Measures time."),
    ("ttitle", "TTI[TLE] [printspec [text | variable] ...] | [OFF | ON]", "Says what stands at the top of each page."),
    ("undefine", "UNDEF[INE] variable ...", "Forgets substitution variables."),
    ("variable", "VAR[IABLE] [variable [type [= value]]]", "Declares or lists bind variables."),
    (
        "whenever",
        "WHENEVER {SQLERROR | OSERROR} {EXIT [code] [COMMIT | ROLLBACK] | CONTINUE [COMMIT | ROLLBACK | NONE]}",
        "Says what an error does.",
    ),
];

impl Shell<'_> {
    /// `HELP [topic]`.
    pub(crate) fn help(&mut self, rest: &str) {
        let topic = rest.trim().to_ascii_lowercase();
        if topic.is_empty() || topic == "index" || topic == "topics" {
            self.out.line("");
            self.out.line("Enter HELP [topic] for the form of a command.");
            self.out.line("");
            for row in TOPICS.chunks(4) {
                let line: String = row.iter().map(|(name, ..)| format!(" {:<14}", name.to_uppercase())).collect();
                self.out.line(line.trim_end());
            }
            self.out.line("");
            return;
        }
        let exact = TOPICS.iter().find(|(name, ..)| *name == topic);
        let found = exact.or_else(|| {
            let name = command_name(&topic).map(|name| if name == "quit" { "exit" } else { name });
            TOPICS.iter().find(|(known, ..)| Some(*known) == name)
        });
        let Some((name, form, what)) = found else {
            self.out.line(&format!("SP2-0172: No HELP matching this topic was found for \"{}\".", rest.trim()));
            return;
        };
        let name = name.to_uppercase();
        let rule = "-".repeat(name.chars().count());
        self.out.line("");
        for line in [&format!(" {name}"), &format!(" {rule}"), "", &format!(" {what}"), ""] {
            self.out.line(line);
        }
        for line in crate::text::fold(form, 78, true) {
            self.out.line(&format!(" {line}"));
        }
        self.out.line("");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_topic() {
        for name in crate::classify::all_commands().filter(|name| !["quit", "xquery"].contains(name)) {
            assert!(TOPICS.iter().any(|(topic, ..)| *topic == name), "{name}");
        }
        assert!(TOPICS.is_sorted_by(|(a, ..), (b, ..)| a < b || ["@", "@@", "/"].contains(b)));
    }
}
