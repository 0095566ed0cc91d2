//! Encrypted connections. The certificates in `tls` are for `localhost` and 127.0.0.1, and good for a hundred years.

use crate::unproved::{Kept, listener, own_kb, until};
use crate::{PATIENCE, code, number, python, start, sysdba};
use client::{Ephemeral, EphemeralOptions, NetAddress, NetSession, Stage, Stranger, Trust, ping};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const BOTH: &str = "(ADDRESS_LIST=(ADDRESS=(PROTOCOL=TCP)(PORT=0))(ADDRESS=(PROTOCOL=TCPS)(HOST=0.0.0.0)(PORT=0)))";

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle_net/tls").join(name)
}

/// Directories of wallets, removed when dropped.
pub struct Wallets(PathBuf);

impl Wallets {
    pub fn new(name: &str) -> Wallets {
        let dir = std::env::temp_dir().join(format!("lw-{name}-{}", std::process::id()));
        let wallets = Wallets(dir);
        for part in ["tls", "ca", "other"] {
            std::fs::create_dir_all(wallets.0.join(part)).unwrap();
        }
        wallets.serve("first.pem");
        std::fs::copy(data("ca.pem"), wallets.0.join("ca/ewallet.pem")).unwrap();
        std::fs::copy(data("other.pem"), wallets.0.join("other/ewallet.pem")).unwrap();
        wallets
    }

    /// Makes this wallet the listener's, atomically.
    fn serve(&self, name: &str) {
        let new = self.0.join("tls/new.pem");
        std::fs::copy(data(name), &new).unwrap();
        std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::rename(new, self.0.join("tls/ewallet.pem")).unwrap();
    }

    pub fn start(&self) -> (Ephemeral, NetAddress, NetAddress) {
        self.start_with(&[])
    }

    fn start_with(&self, more: &[(&str, &str)]) -> (Ephemeral, NetAddress, NetAddress) {
        let mut params = vec![("local_listener", BOTH), ("wallet_root", self.0.to_str().unwrap()), ("processes", "30")];
        params.extend(more);
        let (instance, plain) = start(&params);
        let all = NetAddress::all_of_instance(instance.dir(), "latchwrk");
        let port = all.iter().find(|at| at.tls.is_some()).expect("it listens for TLS").port;
        let at = NetAddress { host: "localhost".into(), port, tls: self.trust("ca"), ..plain.clone() };
        (instance, plain, at)
    }

    fn trust(&self, name: &str) -> Option<Trust> {
        Some(Trust { wallet: Some(self.0.join(name)), any_name: false })
    }
}

impl Drop for Wallets {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn logon(at: &NetAddress) -> NetSession {
    NetSession::connect(at, "u", "Tiger1").unwrap_or_else(|e| panic!("a session opens: {e}"))
}

#[test]
fn a_session_is_encrypted_and_its_server_known() {
    let wallets = Wallets::new("tls");
    let (instance, plain, at) = wallets.start();
    let mut s = logon(&at);
    assert!(s.certificate().is_some_and(|c| c.len() > 200));
    assert_eq!(
        s.execute("insert into w select level, rpad('x', 20, 'y') from dual connect by level <= 3000").unwrap(),
        3000
    );
    let rows = s.query("select w.n, w.t, rpad('z', 1000, 'z') from w order by n").unwrap();
    assert_eq!(rows.len(), 3000, "three megabytes in many records");
    let long = format!("select '{}' from dual", "x".repeat(3000));
    assert_eq!(s.query(&format!("{long}{}", " ".repeat(200_000))).unwrap().len(), 1, "and as much to the server");
    assert_eq!(NetSession::connect(&at, "u", "wrong").map(drop).map_err(|e| code(&e)), Err(1017));
    s.logoff().unwrap();
    logon(&plain).logoff().unwrap();
    // A server that the client does not trust, and one with another name in its certificate.
    let of = |at: &NetAddress| NetSession::connect(at, "u", "Tiger1").map(drop).map_err(|e| code(&e));
    assert_eq!(of(&NetAddress { tls: wallets.trust("other"), ..at.clone() }), Err(29024));
    assert_eq!(of(&NetAddress { host: "127.0.0.2".into(), ..at.clone() }), Err(29024));
    assert_eq!(of(&NetAddress { tls: wallets.trust("nowhere"), ..at.clone() }), Err(28759));
    assert_eq!(of(&NetAddress { port: plain.port, host: plain.host.clone(), ..at.clone() }), Err(28860));
    let mut bare = TcpStream::connect(("127.0.0.1", at.port)).unwrap();
    bare.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut hello = Vec::new();
    net::oracle::tns::Connect::encode(b"(CONNECT_DATA=(SERVICE_NAME=latchwrk))", 8192, &mut hello);
    bare.write_all(&hello).unwrap();
    let mut heard = Vec::new();
    // An alert or a reset, but no ACCEPT.
    let _ = bare.take(1000).read_to_end(&mut heard);
    assert!(heard.len() < 8 || heard[4] != net::oracle::tns::kind::ACCEPT, "{heard:?}");
    let mut c = sysdba(&instance);
    let left = "select count(*) from v$session where username = 'U'";
    until("all sessions end", || number(&c.query(left, &[]).unwrap().all().unwrap()) == 0);
    assert_eq!(number(&c.query("select count(*) from u.w", &[]).unwrap().all().unwrap()), 3000);
}

#[test]
fn tools_reach_an_encrypted_listener() {
    let wallets = Wallets::new("tools");
    let (instance, _, at) = wallets.start();
    let place = |wallet: &str| {
        format!("tcps://localhost:{}/latchwrk?wallet_location={}", at.port, wallets.0.join(wallet).display())
    };
    assert_eq!(NetAddress::parse(&place("ca")), Some(at.clone()));
    ping(&at).expect("it answers");
    let tool = |arguments: &[&str]| {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_latchwork"));
        let mut tool = tool.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut tool = tool
            .as_mut()
            .expect("it starts")
            .stdin
            .take()
            .map(|mut stdin| {
                let _ = stdin.write_all(b"set heading off\nselect user from dual;\n");
            })
            .and(tool.ok())
            .expect("it runs");
        let (mut out, mut err) = (String::new(), String::new());
        tool.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        tool.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (tool.wait().unwrap().success(), out + &err)
    };
    let (ok, text) = tool(&["tnsping", &place("ca")]);
    assert!(ok && text.contains("(PROTOCOL=tcps)") && text.contains("OK ("), "{text}");
    let (ok, text) = tool(&["tnsping", &place("other")]);
    assert!(!ok && text.contains("ORA-29024"), "{text}");
    let dir = instance.dir().to_str().unwrap();
    let (ok, text) = tool(&["sql", "-s", "-L", "--dir", dir, &format!("u/Tiger1@{}", place("ca"))]);
    assert!(ok && text.trim() == "U", "{text}");
    let (ok, text) = tool(&["sql", "-s", "-L", "--dir", dir, &format!("u/Tiger1@{}", place("other"))]);
    assert!(!ok && text.contains("ORA-29024"), "{text}");
}

#[test]
fn a_certificate_that_is_replaced_serves_the_next_client() {
    let wallets = Wallets::new("reload");
    let (instance, _, at) = wallets.start();
    let mut old = logon(&at);
    let first = old.certificate().unwrap();
    wallets.serve("second.pem");
    until("the other certificate is shown", || logon(&at).certificate().unwrap() != first);
    let second = logon(&at).certificate().unwrap();
    // An invalid wallet changes nothing.
    wallets.serve("ca.pem");
    let log = || std::fs::read_to_string(instance.dir().join("alert.log")).unwrap();
    until("the log says so", || {
        assert_eq!(logon(&at).certificate().unwrap(), second);
        log().contains("The earlier certificate stays in use")
    });
    assert!(log().contains("ORA-28759") && log().matches("certificate read again").count() == 1, "{}", log());
    // A restarted listener process uses the current wallet.
    wallets.serve("first.pem");
    os::process::kill(listener(&instance), os::signal::SIGKILL).unwrap();
    until("the first certificate is back", || logon(&at).certificate().unwrap() == first);
    assert_eq!(number(&old.query("select 1 from dual").unwrap()), 1, "a session goes on with its own");
}

#[test]
fn an_instance_does_not_start_with_a_key_that_others_may_read() {
    let wallets = Wallets::new("mode");
    let pem = wallets.0.join("tls/ewallet.pem");
    let started = || {
        let params = [("local_listener", BOTH), ("wallet_root", wallets.0.to_str().unwrap())];
        let params = params.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        let executable = Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork")));
        Ephemeral::start_with(&EphemeralOptions { params, executable }).map(drop).map_err(|e| e.to_string())
    };
    std::fs::set_permissions(&pem, std::fs::Permissions::from_mode(0o640)).unwrap();
    let text = started().expect_err("no instance");
    assert!(text.contains("ORA-28759") && text.contains("0600"), "{text}");
    std::fs::copy(data("ca.pem"), &pem).unwrap();
    std::fs::set_permissions(&pem, std::fs::Permissions::from_mode(0o600)).unwrap();
    let text = started().expect_err("no instance");
    assert!(text.contains("private key"), "{text}");
    std::fs::remove_file(&pem).unwrap();
    assert!(started().expect_err("no instance").contains("ORA-28759"));
}

#[test]
fn a_wallet_in_the_database_directory_is_found_without_being_named() {
    let wallets = Wallets::new("own");
    let dir = wallets.0.join("db");
    std::fs::create_dir_all(dir.join("wallet/tls")).unwrap();
    std::fs::rename(wallets.0.join("tls/ewallet.pem"), dir.join("wallet/tls/ewallet.pem")).unwrap();
    let (instance, at) = Kept::start(&dir, BOTH);
    let all = NetAddress::all_of_instance(&dir, &at.service);
    let port = all.iter().find(|at| at.tls.is_some()).expect("it listens for TLS").port;
    let at = NetAddress { host: "localhost".into(), port, tls: wallets.trust("ca"), ..at };
    ping(&at).expect("it answers");
    instance.stop(&dir);
}

#[test]
fn encrypted_strangers_are_bounded_too() {
    let wallets = Wallets::new("strangers");
    let (instance, plain, at) = wallets.start();
    let gate = listener(&instance);
    let before = own_kb(gate);
    let stages = [Stage::Silent, Stage::Accepted, Stage::Agreed, Stage::Named];
    let all: Vec<Stranger> = (0..200).map(|n| Stranger::open(&at, "u", stages[n % 4]).unwrap()).collect();
    let mut silent: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(("127.0.0.1", at.port)).unwrap()).collect();
    // A handshake that ends after its first bytes.
    silent.iter_mut().for_each(|s| s.write_all(&[22, 3, 1, 2, 0, 1]).unwrap());
    let grown = own_kb(gate).saturating_sub(before);
    println!("300 encrypted connections: {grown} KB of the listener process");
    assert!(grown < 300 * 24, "no more than they are counted with: {grown} KB");
    logon(&at).logoff().unwrap();
    logon(&plain).logoff().unwrap();
    assert!(all.iter().all(|s| !s.is_gone()));
}

/// Unauthenticated TLS connections, a fifth of which have sent a wrong password. When all of them together would use
/// too much memory, the oldest are dropped.
/// `LATCHWORK_STRANGERS=10000` is the long form.
#[test]
fn encrypted_strangers_who_have_proved_half_hold_little() {
    let n = crate::unproved::strangers() / 10;
    let n = if n < 1000 { n } else { n * 10 };
    assert!(os::process::raise_descriptor_limit() > n as u64 + 100, "raise the limit of open files above {n}");
    let most = (n + 100).to_string();
    let wallets = Wallets::new("half");
    let (instance, plain, at) =
        wallets.start_with(&[("_listener_pending_max", &most), ("_listener_pending_per_address", &most)]);
    let gate = listener(&instance);
    let before = own_kb(gate);
    let stages = [Stage::Silent, Stage::Accepted, Stage::Agreed, Stage::Named, Stage::Named];
    let open = |i: usize| {
        let mut stranger = Stranger::open(&at, "nobody", stages[i % 5]).unwrap_or_else(|e| panic!("stranger {i}: {e}"));
        if i % 5 == 4 {
            stranger.guess("nobody").expect("it is heard");
        }
        stranger
    };
    let all: Vec<Stranger> = (0..n).map(open).collect();
    let grown = own_kb(gate).saturating_sub(before);
    let gone = all.iter().filter(|s| s.is_gone()).count();
    println!("{n} encrypted connections, {gone} of them gone: {grown} KB of the listener process");
    // The permitted amount, and the same again for the allocator's reserve.
    assert!(grown < 64 << 10, "{grown} KB");
    logon(&at).logoff().unwrap();
    logon(&plain).logoff().unwrap();
    assert_eq!(listener(&instance), gate, "it is the same process still");
}

const DRIVER: &str = r#"
import oracledb, sys
port, wallet = int(sys.argv[1]), sys.argv[2]
def connect(wallet):
    return oracledb.connect(user="u", password="Tiger1", protocol="tcps", host="localhost", port=port,
                            service_name="latchwrk", wallet_location=wallet)
with connect(wallet + "/ca") as c:
    k = c.cursor()
    k.executemany("insert into w values (:1, :2)", [(n, "x" * 20) for n in range(5000)])
    c.commit()
    assert k.execute("select count(*), sum(n) from w").fetchone() == (5000, 12497500)
    k.arraysize = 1000
    assert len(k.execute("select n, rpad(t, 2000, 'y') from w").fetchall()) == 5000
    # By the driver's own time limit: a break by another thread would use OpenSSL's session from two threads at once, which
    # damages its records now and then.
    for _ in range(3):
        c.call_timeout = 300
        try:
            k.execute("begin loop null; end loop; end;")
            raise SystemExit("not broken")
        except oracledb.DatabaseError as e:
            assert e.args[0].full_code == "DPY-4024", e
        c.call_timeout = 0
        assert k.execute("select 7 from dual").fetchone() == (7,)
try:
    connect(wallet + "/other")
    raise SystemExit("a stranger is trusted")
except oracledb.OperationalError as e:
    pass
print("all done")
"#;

#[test]
fn a_real_driver_works_over_tls_and_breaks_its_calls() {
    let Some(python) = python() else {
        return;
    };
    let wallets = Wallets::new("driver");
    let (_instance, _, at) = wallets.start();
    let mut command = Command::new("timeout");
    command.arg("600").arg(python).args(["-c", DRIVER, &at.port.to_string()]).arg(&wallets.0);
    let out = command.output().expect("the script runs");
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && text.contains("all done"), "{text}\n{}", String::from_utf8_lossy(&out.stderr));
}
