#!/usr/bin/env python3
"""Counts what public Oracle scripts a Latchwork program takes.

Usage: scripts/targets.py PROGRAM KIND=DIR...

PROGRAM is the `latchwork` program to run. Each DIR is a folder that has a clone of a public repository:

  schemas=DIR   github.com/oracle-samples/db-sample-schemas: HR and CO are installed by their own scripts; a table
                counts when it has the rows that the script says it should have
  sqlfluff=DIR  github.com/sqlfluff/sqlfluff: the statements of its Oracle fixtures
  grammars=DIR  github.com/antlr/grammars-v4: the statements of the examples of its PL/SQL grammar
  logger=DIR    github.com/OraOpenSource/Logger: its objects, of which those count that are valid after the installation
  utplsql=DIR   github.com/utPLSQL/utPLSQL: its objects, likewise
  files=DIR     any folder: the statements of its *.sql files

Prints one line `NAME: N of M` for each, and the refusals by error code. Statements run on a throw-away instance, one
for each file. A statement counts as taken when the server received it and did not refuse its syntax: an error such as
ORA-00942, a table that is not there, does not count against it. Received statements are counted by the server (parses
in v$mystat), not by the shell. `--list` prints the first line of each refused statement.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LIMIT_S = 60
# Errors that say that a text is no statement, or one that is not supported.
SYNTAX = set(range(900, 904)) | {905, 906, 907, 908, 910, 911, 917, 920, 921, 922, 923, 924, 925, 926, 927, 928, 930,
                                 931, 933, 935, 936, 940, 941, 946, 950, 951, 952, 953, 956, 964, 965, 966, 967, 968, 969,
                                 970, 971, 972, 974, 975, 976, 977, 987, 988, 989, 990, 991, 992, 996, 998, 1735, 1740,
                                 1756, 1780, 2000, 2142, 2143, 2145, 2155, 2158, 2180, 2185, 2205, 2211, 2216, 2251,
                                 2253, 3001, 3048, 14004, 22908, 24344, 30006, 32034, 38104}
SYNTAX -= {908, 972, 976, 977, 996, 998}
UNIT = re.compile(
    r"create\s+(or\s+replace\s+)?((non)?editionable\s+)?(procedure|function|package|trigger|library|type)\b"
    r"|declare\b|begin\b|<<|with\s+(function|procedure)\b", re.I)
COMMENTS = re.compile(r"\A(\s+|--[^\n]*(\n|\Z)|/\*.*?\*/)*", re.S)
# Commands of SQL*Plus are no statements.
COMMAND = re.compile(
    r"(set(?!\s+(transaction|role|constraints?)\b)|prompt|rem|remark|column|col|define|undefine|spool|show|exec|execute"
    r"|@|host|!|exit|quit|whenever|connect|conn|accept|pause|variable|var|print|clear|break|compute|ttitle|btitle|desc"
    r"|describe|start|save|get|list|edit|timing|archive|startup|shutdown)\b|@|!", re.I)


def ends(text):
    """Whether a semicolon at the end of the text is outside quotes and comments."""
    at = 0
    while at < len(text):
        rest = text[at:]
        if rest.startswith("--"):
            end = text.find("\n", at)
        elif rest.startswith("/*"):
            end = text.find("*/", at + 2)
            end = end + 1 if end >= 0 else end
        elif rest[:2].lower() == "q'" and len(rest) > 2:
            close = {"[": "]", "(": ")", "{": "}", "<": ">"}.get(rest[2], rest[2])
            end = text.find(close + "'", at + 3)
            end = end + 1 if end >= 0 else end
        elif rest[0] in "'\"":
            end = text.find(rest[0], at + 1)
        else:
            end = at
        if end < 0:
            return False
        at = end + 1
    return True


def statements(text):
    """The statements of a script."""
    lines, out, unit = [], [], False

    def flush():
        body = "\n".join(lines)
        body = body[COMMENTS.match(body).end():].strip()
        lines.clear()
        if body and not COMMAND.match(body):
            out.append(body)

    for line in text.splitlines():
        if line.strip() == "/":
            flush()
            continue
        body = "\n".join(lines + [line])
        body = body[COMMENTS.match(body).end():]
        if not body.strip():
            continue
        if COMMAND.match(body) and not lines:
            continue
        lines.append(line)
        unit = UNIT.match(body) is not None
        if not unit and line.rstrip().endswith(";") and ends(body):
            lines[-1] = line.rstrip()[:-1]
            flush()
    flush()
    return out


def shell(program, script, cwd=None, name=None):
    """Runs a script on a throw-away instance; returns its output, or None after the time limit."""
    environment = {k: v for k, v in os.environ.items() if k not in ("SQLPATH", "LATCHWORK_HOME")}
    command = [program, "sql", "-s", "--ephemeral"] + ([f"@{name}"] if name else [])
    try:
        done = subprocess.run(command, input=script, capture_output=True, text=True, errors="replace", cwd=cwd,
                              env=environment, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout


PARSES = ("select '##parses ' || value from v$mystat s, v$statname n"
          " where n.statistic# = s.statistic# and n.name = 'parse count (total)'\n/\n")


def taken(program, path, listing):
    """Numbers of statements taken and tried of a file, and the codes of the refusals."""
    all_statements = statements(path.read_text(errors="replace"))
    # One session for each file: what follows SET and CONNECT in it is of no matter. The marks are our own.
    script = ["set define off sqlblanklines on pagesize 0 linesize 200 feedback off sqlterminator off sqlprefix ~",
              "set blockterminator off", PARSES.rstrip()]
    for number, statement in enumerate(all_statements):
        script += [f"prompt ##{number}", statement, "/"]
    script += ["prompt ##end", PARSES]
    output = shell(program, "\n".join(script))
    codes = collections.Counter()
    if output is None:
        codes["time limit"] = len(all_statements)
        return 0, len(all_statements), codes
    good = 0
    parts = re.split(r"^##(\d+|end)$", output, flags=re.M)
    parses = [int(n) for n in re.findall(r"^##parses (\d+)", output, flags=re.M)]
    said = dict(zip(parts[1::2], parts[2::2]))
    for number, statement in enumerate(all_statements):
        text = said.get(str(number))
        errors = re.findall(r"\b(ORA|PLS|SP2)-(\d{4,5})", text) if text is not None else [("lost", "0")]
        wrong = [f"{kind}-{code}" for kind, code in errors
                 if kind in ("SP2", "lost") or (kind == "ORA" and int(code) in SYNTAX)
                 or (kind, code) == ("PLS", "00103")]
        if "with compilation errors" in (text or ""):
            wrong += ["unit with errors"]
        if wrong:
            codes[wrong[0]] += 1
            if listing:
                print(f"  {path.name}: {wrong[0]}: {statement.splitlines()[0][:100]}")
        else:
            good += 1
    # Fewer parses than statements: some were not sent, whatever the shell printed.
    if len(parses) == 2:
        good = min(good, parses[1] - parses[0])
    return good, len(all_statements), codes


def count_files(name, program, paths, listing):
    good = total = whole = 0
    codes = collections.Counter()
    for path in paths:
        some, of, refused = taken(program, path, listing)
        good, total, whole = good + some, total + of, whole + (some == of)
        codes += refused
    print(f"{name}: {good} of {total} statements, {whole} of {len(paths)} files")
    for code, number in codes.most_common():
        print(f"  {number:>5} {code}")


def count_schema(name, program, folder, script, answers):
    """Installs a schema by its script, and compares the rows of its tables with those that the script names."""
    if not (folder / script).is_file():
        print(f"{name}: not there")
        return
    with tempfile.TemporaryDirectory() as work:
        # The installation writes a log beside its scripts.
        for file in folder.iterdir():
            if file.is_file():
                (pathlib.Path(work) / file.name).write_bytes(file.read_bytes())
        output = shell(program, answers, cwd=work, name=script) or ""
    rows = re.findall(r"^(\w+)\s+(\d+)\s+(\d+)\s*$", output, flags=re.M)
    good = sum(provided == actual for _, provided, actual in rows)
    print(f"{name}: {good} of {len(rows)} tables")
    errors = collections.Counter(re.findall(r"\b(?:ORA|PLS|SP2)-\d{4,5}", output))
    for code, number in errors.most_common():
        print(f"  {number:>5} {code}")


# The parts of Logger in the order of its build script.
LOGGER = ["tables/logger_logs.sql", "tables/logger_prefs.sql", "tables/logger_logs_apex_items.sql",
          "tables/logger_prefs_by_client_id.sql", "jobs/logger_purge_job.sql", "jobs/logger_unset_prefs_by_client.sql",
          "views/logger_logs_5_min.sql", "views/logger_logs_60_min.sql", "views/logger_logs_terse.sql",
          "packages/logger.pks", "packages/logger.pkb", "procedures/logger_configure.plb",
          "install/post_install_configuration.sql"]


def logger(folder):
    """The script that installs Logger for the user that it names first."""
    parts = [(folder / "source" / part).read_text(errors="replace") for part in LOGGER]
    start = ["set define off sqlblanklines on", "create user lg identified by lg quota unlimited on users;",
             "grant connect, dba to lg;", "grant execute on dbms_crypto to lg;", "connect lg/lg"]
    return "LG", "\n".join(start + parts)


def utplsql(folder):
    """The script that installs utPLSQL: an error does not end it."""
    del folder
    return "UT3", "@@install_headless.sql"


def count_library(name, program, folder, script):
    """Installs a library, and compares the number of its objects with that of the valid ones."""
    if not (folder / "source").is_dir():
        print(f"{name}: not there")
        return
    owner, text = script(folder)
    tail = f"""
prompt
conn / as sysdba
set feedback off pagesize 0
exec dbms_utility.compile_schema('{owner}', false)
select '##objects ' || count(decode(status, 'VALID', 1)) || ' ' || count(*) from dba_objects where owner = '{owner}';
select '##not ' || object_type || ' ' || object_name from dba_objects where owner = '{owner}' and status <> 'VALID';
"""
    with tempfile.TemporaryDirectory() as work:
        for file in (folder / "source").rglob("*"):
            if file.is_file():
                copy = pathlib.Path(work) / file.relative_to(folder / "source")
                copy.parent.mkdir(parents=True, exist_ok=True)
                kept = re.sub(r"(?im)^(whenever .*exit.*|exit)$", "", file.read_text(errors="replace"))
                copy.write_text(kept)
        output = shell(program, text + tail, cwd=work) or ""
    found = re.search(r"^##objects (\d+) (\d+)", output, flags=re.M)
    print(f"{name}: {found[1] if found else 0} of {found[2] if found else 0} objects")
    for line in re.findall(r"^##not (.*)", output, flags=re.M) if "--list" in sys.argv else []:
        print(f"  {line}")


def main():
    arguments = [word for word in sys.argv[1:] if word != "--list"]
    if len(arguments) < 2 or any("=" not in word for word in arguments[1:]):
        sys.exit(__doc__.strip())
    program = str(pathlib.Path(arguments[0]).resolve())
    listing = "--list" in sys.argv
    for word in arguments[1:]:
        kind, folder = word.split("=", 1)
        folder = pathlib.Path(folder)
        if kind == "schemas":
            count_schema("HR", program, folder / "human_resources", "hr_install.sql", "pw\nUSERS\nYES\n")
            count_schema("CO", program, folder / "customer_orders", "co_install.sql", "pw\nUSERS\nYES\n")
        elif kind == "logger":
            count_library("Logger", program, folder, logger)
        elif kind == "utplsql":
            count_library("utPLSQL", program, folder, utplsql)
        elif kind == "sqlfluff":
            count_files(kind, program, sorted((folder / "test/fixtures/dialects/oracle").glob("*.sql")), listing)
        elif kind == "grammars":
            examples = folder / "sql/plsql/Oracle/examples"
            examples = examples if examples.is_dir() else folder / "sql/plsql/examples"
            count_files(kind, program, sorted(examples.rglob("*.sql")), listing)
        elif kind == "files":
            count_files(folder.name, program, sorted(folder.rglob("*.sql")), listing)
        else:
            sys.exit(f"{kind}: schemas, sqlfluff, grammars or files")


main()
