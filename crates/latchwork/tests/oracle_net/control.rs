//! The commands of lsnrctl, and the figures and limits of a listener.

use crate::unproved::until;
use crate::{logon, start};
use client::{NetAddress, NetSession, ping};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The output of lsnrctl for a command, and whether it succeeds.
fn lsnrctl(dir: &Path, words: &[&str], input: &str) -> (bool, String) {
    let mut lsnrctl = Command::new(env!("CARGO_BIN_EXE_latchwork"));
    lsnrctl.arg("lsnrctl").args(words).arg("--dir").arg(dir);
    let mut lsnrctl = lsnrctl.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let _ = lsnrctl.stdin.take().unwrap().write_all(input.as_bytes());
    let out = lsnrctl.wait_with_output().unwrap();
    (out.status.success(), String::from_utf8_lossy(&out.stdout).into_owned())
}

#[test]
fn the_listener_says_what_it_serves_and_is_stopped_and_started() {
    let (instance, at) = start(&[("service_names", "sales"), ("db_domain", "example.com")]);
    let dir = instance.dir();
    let place = format!("(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=127.0.0.1)(PORT={})))", at.port);
    let (good, said) = lsnrctl(dir, &["status"], "");
    for part in [
        "STATUS of the LISTENER",
        &place,
        "Service \"sales.example.com\" has 1 instance(s).",
        "Instance \"latchwork\", status READY, has 1 handler(s)",
        "The command completed successfully",
    ] {
        assert!(good && said.contains(part), "{part}: {said}");
    }
    let mut s = logon(&at);
    let nowhere = NetAddress { service: "nope".into(), ..at.clone() };
    assert_eq!(NetSession::connect(&nowhere, "u", "Tiger1").map(drop).map_err(|e| e.code()), Err(12514));
    let (_, said) = lsnrctl(dir, &["services", "listener"], "");
    assert!(said.contains("\"DEDICATED\" established:1 refused:1 state:ready"), "{said}");
    let status = Command::new(env!("CARGO_BIN_EXE_latchwork")).arg("status").arg("--dir").arg(dir).output().unwrap();
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.contains(&place) && status.contains("established:1 refused:1"), "{status}");
    assert!(!lsnrctl(dir, &["start"], "").0, "it runs");
    assert!(lsnrctl(dir, &["reload"], "").0);
    until("the listener answers behind a reload", || ping(&at).is_ok());
    let (good, said) = lsnrctl(dir, &[], "help\nversion\nnonsense\n\nstop\nexit\nstart\n");
    assert!(good && said.contains("reload") && said.contains("NL-00853"), "{said}");
    until("nobody listens", || ping(&at).is_err());
    assert_eq!(s.query("select 1 from dual").unwrap().len(), 1, "sessions go on");
    let (good, said) = lsnrctl(dir, &["status"], "");
    assert!(!good && said.contains("TNS-12541"), "{said}");
    assert!(lsnrctl(dir, &["start"], "").0);
    let (good, said) = lsnrctl(dir, &["status"], "");
    assert!(good && said.contains("Listening Endpoints"), "{said}");
    let again = NetAddress::of_instance(dir, "sales").expect("it listens again");
    until("it answers", || ping(&again).is_ok());
    logon(&again).logoff().unwrap();
    assert!(!lsnrctl(dir, &["status", "other"], "").0);
    assert!(!lsnrctl(Path::new("/nonexistent"), &["status"], "").0);
}

#[test]
fn an_address_with_a_rate_lets_the_others_wait() {
    let slow = "(ADDRESS=(PROTOCOL=tcp)(HOST=127.0.0.1)(PORT=0)(RATE_LIMIT=5)(QUEUESIZE=50))";
    let (_instance, at) = start(&[("local_listener", slow)]);
    let began = std::time::Instant::now();
    for n in 0..12 {
        ping(&at).unwrap_or_else(|e| panic!("connection {n}: {e}"));
    }
    // Five at once, and a fifth of a second for each further one; a slow machine takes longer.
    assert!(began.elapsed().as_secs_f64() > 1.3, "{:?}", began.elapsed());
}
