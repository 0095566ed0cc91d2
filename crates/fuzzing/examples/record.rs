//! A proxy between a driver and an instance that records the driver's packets after its logon: a file for each
//! connection, in the form that `fuzzing::recorded` reads.
//!
//! Usage: `cargo run --package fuzzing --example record -- HOST:PORT FOLDER`; drivers connect to the port that it
//! prints.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Types of packets: after an acceptance lengths have four bytes; a data packet holds messages.
const ACCEPT: u8 = 2;
const DATA: u8 = 6;
/// Offset of the SDU in an acceptance.
const SDU_AT: usize = 32;
/// Kinds of messages before the first call: data types, and the second message of a logon.
const DATA_TYPES: u8 = 2;
const LOGON_TWO: [u8; 2] = [3, 0x73];
/// Bytes of the packet's header and the flags of its data.
const HEAD: usize = 10;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [to, folder] = &words[..] else {
        eprintln!("usage: record HOST:PORT FOLDER");
        std::process::exit(2);
    };
    std::fs::create_dir_all(folder).expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    println!("{}", listener.local_addr().expect("an address").port());
    for (n, client) in listener.incoming().enumerate() {
        let server = TcpStream::connect(to).expect("the instance listens");
        let file = Path::new(folder).join(format!("{n:03}.bin"));
        std::thread::spawn(move || stand_between(client.expect("a connection"), server, file));
    }
}

fn stand_between(client: TcpStream, server: TcpStream, file: PathBuf) {
    // The agreed SDU, from which on lengths have four bytes; 0 before.
    let agreed = Arc::new(AtomicU32::new(0));
    let (mut from, mut to) = (server.try_clone().expect("a socket"), client.try_clone().expect("a socket"));
    let sdu = Arc::clone(&agreed);
    std::thread::spawn(move || {
        let mut part = vec![0; 64 << 10];
        while let Ok(n @ 1..) = from.read(&mut part) {
            if part[4] == ACCEPT {
                let said = part[SDU_AT..].first_chunk().expect("an acceptance has its longest packet");
                sdu.store(u32::from_be_bytes(*said), Ordering::SeqCst);
            }
            if to.write_all(&part[..n]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Both);
    });
    let (mut client, mut server) = (client, server);
    let (mut held, mut part) = (Vec::new(), vec![0; 64 << 10]);
    let (mut data_types, mut packets, mut is_logged_on) = (Vec::new(), Vec::new(), false);
    while let Ok(n @ 1..) = client.read(&mut part) {
        held.extend_from_slice(&part[..n]);
        while let Some(packet) = next_packet(&mut held, agreed.load(Ordering::SeqCst) > 0) {
            let message = packet.get(HEAD..).filter(|_| packet[4] == DATA).unwrap_or_default();
            if is_logged_on {
                packets.push(packet);
            } else if message.first() == Some(&DATA_TYPES) {
                data_types = message.to_vec();
            } else {
                is_logged_on = message.starts_with(&LOGON_TWO);
            }
        }
        if server.write_all(&part[..n]).is_err() {
            break;
        }
    }
    let _ = server.shutdown(std::net::Shutdown::Both);
    let sdu = agreed.load(Ordering::SeqCst).to_le_bytes().to_vec();
    let all = [&data_types, &sdu].into_iter().chain(&packets);
    let bytes: Vec<u8> = all.flat_map(|b| (b.len() as u32).to_le_bytes().into_iter().chain(b.clone())).collect();
    std::fs::write(file, bytes).expect("a file");
}

fn next_packet(held: &mut Vec<u8>, is_accepted: bool) -> Option<Vec<u8>> {
    let length = held.first_chunk::<4>()?;
    let length =
        if is_accepted { u32::from_be_bytes(*length) } else { u32::from(u16::from_be_bytes([length[0], length[1]])) };
    let length = (length as usize).max(HEAD - 2);
    (held.len() >= length).then(|| held.drain(..length).collect())
}
