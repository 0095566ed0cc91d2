//! Sessions and their clients: names, contexts, settings, passwords, as a real driver has them.

use super::*;

#[test]
fn a_session_knows_its_client() {
    let Some(python) = python() else {
        println!("python-oracledb is not there: left out");
        return;
    };
    let (instance, at) = start(&[]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle_net/identity.py");
    let mut command = Command::new("timeout");
    command.arg("240").arg(python).arg(script).arg(at.port.to_string()).arg(&at.service);
    command.arg(env!("CARGO_BIN_EXE_latchwork")).arg(instance.dir());
    let out = command.output().expect("the script runs");
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && text.contains("all done"), "{text}\n{}", String::from_utf8_lossy(&out.stderr));
}
