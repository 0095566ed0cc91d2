//! Verifiers of passwords: 12C ones, and 11G ones if the instance is configured to accept them.

use super::*;
use client::{Stage, Stranger};

/// The 11G verifier of Tiger1.
const OLDER: &str = "S:1E66318170EC59172E8FC3E2170E0334084720D100112233445566778899";
const KIND_12C: u32 = 0x4815;
const KIND_11G: u32 = 0x1b25;

fn text(c: &mut Client, sql: &str) -> String {
    let rows = c.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    match rows.first().map(|row| &row[0]) {
        Some(Value::Text(text)) => text.to_string(),
        Some(Value::Null) => "null".into(),
        other => panic!("{sql}: {other:?}"),
    }
}

fn versions(c: &mut Client, user: &str) -> String {
    text(c, &format!("select password_versions from dba_users where username = upper('{user}')"))
}

fn prepare(c: &mut Client) {
    for sql in [
        "create user keyless no authentication",
        &format!("create user older identified by values '{OLDER}'"),
        "grant create session to older",
    ] {
        c.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    let bad = c.execute("create user oldest identified by values 'F894844C34402B67'", &[]);
    assert_eq!(bad.map_err(|e| code(&e)).err(), Some(2153), "a 10G verifier is of no use");
}

/// The errors of logons as `user`: over the network, and over the local socket.
fn refusals(instance: &Ephemeral, at: &NetAddress, user: &str, password: &str) -> [u32; 2] {
    let net = NetSession::connect(at, user, password).map(|s| s.logoff().unwrap());
    let given = Credentials::Password { user: user.into(), password: password.into() };
    let local = instance.connect(&given).map(drop);
    [net, local].map(|opened| opened.map_or_else(|e| code(&e), |()| 0))
}

fn kind(at: &NetAddress, user: &str) -> u32 {
    Stranger::open(at, user, Stage::Named).expect("a challenge").verifier_kind()
}

#[test]
fn no_11g_verifier_is_made_or_taken_unless_the_instance_is_told_to() {
    let (instance, at) = start(&[]);
    let mut c = sysdba(&instance);
    prepare(&mut c);
    assert_eq!(text(&mut c, "select substr(spare4, 1, 2) from sys.user$ where name = 'U'"), "T:");
    let shown = ["u", "older", "keyless"].map(|user| versions(&mut c, user));
    assert_eq!(shown, ["12C", "11G", "null"]);
    assert_eq!(refusals(&instance, &at, "u", "Tiger1"), [0; 2]);
    assert_eq!(refusals(&instance, &at, "older", "Tiger1"), [1017; 2]);
    // Neither the account nor a name that does not exist can be distinguished from others.
    assert_eq!(["u", "older", "keyless", "nobody1", "nobody2"].map(|user| kind(&at, user)), [KIND_12C; 5]);
    c.execute("alter user older identified by Tiger1", &[]).unwrap();
    assert_eq!((versions(&mut c, "older").as_str(), refusals(&instance, &at, "older", "Tiger1")), ("12C", [0; 2]));
}

#[test]
fn an_instance_that_takes_11g_verifiers_makes_them_too() {
    let (instance, at) = start(&[("allowed_logon_version_server", "12")]);
    let mut c = sysdba(&instance);
    prepare(&mut c);
    assert_eq!(["u", "older", "keyless"].map(|user| versions(&mut c, user)), ["11G 12C", "11G", "null"]);
    for user in ["u", "older"] {
        assert_eq!(refusals(&instance, &at, user, "Tiger1"), [0; 2], "{user}");
        assert_eq!(refusals(&instance, &at, user, "tiger1"), [1017; 2], "{user}");
    }
    // An account is asked for the proof of its stronger verifier. Names that do not exist are of both kinds, each
    // always the same.
    assert_eq!(["u", "older"].map(|user| kind(&at, user)), [KIND_12C, KIND_11G]);
    let nobodys = || (0..20).map(|n| kind(&at, &format!("nobody{n}"))).collect::<Vec<u32>>();
    let kinds = nobodys();
    assert!(kinds.contains(&KIND_12C) && kinds.contains(&KIND_11G), "{kinds:?}");
    assert_eq!(nobodys(), kinds);
    for n in 0..4 {
        assert_eq!(refusals(&instance, &at, &format!("nobody{n}"), "Tiger1"), [1017; 2]);
    }
    // The shell, which may be configured to accept only the newer ones.
    let target = format!("older/Tiger1@127.0.0.1:{}/{}", at.port, at.service);
    let settings = std::env::temp_dir().join(format!("lw-verifiers-{}", std::process::id()));
    std::fs::create_dir_all(&settings).unwrap();
    let say = |wanted: &str| {
        std::fs::write(settings.join("sqlnet.ora"), wanted).unwrap();
        let mut shell = Command::new(env!("CARGO_BIN_EXE_latchwork"));
        shell.args(["sql", "-s", "-L", &target]).env("TNS_ADMIN", &settings).stdin(Stdio::piped());
        let mut shell = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        shell.stdin.take().unwrap().write_all(b"select user from dual;\nexit\n").unwrap();
        let out = shell.wait_with_output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
    };
    let (any, newer) = (say(""), say("SQLNET.ALLOWED_LOGON_VERSION_CLIENT=12a"));
    std::fs::remove_dir_all(&settings).unwrap();
    assert!(any.contains("OLDER"), "{any}");
    assert!(newer.contains("ORA-28040"), "{newer}");
    // A password that is changed at the logon, and one that is changed later.
    let new = NetSession::connect_changing(&at, "older", "Tiger1", "Tiger2").unwrap();
    new.logoff().unwrap();
    assert_eq!(versions(&mut c, "older"), "11G 12C");
    assert_eq!(refusals(&instance, &at, "older", "Tiger1"), [1017; 2]);
    assert_eq!(refusals(&instance, &at, "older", "Tiger2"), [0; 2]);
    c.execute(&format!("alter user older identified by values '{OLDER}'"), &[]).unwrap();
    let mut own = NetSession::connect(&at, "older", "Tiger1").unwrap();
    let change = |old: &str| format!("alter user older identified by Tiger3 replace {old}");
    assert_eq!(own.execute(&change("tiger1")).map_err(|e| code(&e)).err(), Some(28008));
    own.execute(&change("Tiger1")).unwrap();
    own.logoff().unwrap();
    assert_eq!(refusals(&instance, &at, "older", "Tiger3"), [0; 2]);
    // Both may be imported, together with the other parts that Oracle writes.
    let both = text(&mut c, "select spare4 from sys.user$ where name = 'OLDER'");
    let beside = both.replace(";T:", &format!(";H:{};T:", "0".repeat(32)));
    c.execute(&format!("create user imported identified by values '{beside};F894844C34402B67'"), &[]).unwrap();
    assert_eq!(text(&mut c, "select spare4 from sys.user$ where name = 'IMPORTED'"), both);
    assert_eq!(versions(&mut c, "imported"), "11G 12C");
}
