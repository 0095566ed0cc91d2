//! Polling for an answer before sleeping: arriving bytes are taken, and failed polling is skipped for a while.

use os::socket::Attention;
use std::io::Write;
use std::os::unix::net::UnixStream;

#[test]
fn what_is_there_is_read_and_looking_in_vain_is_left_off() {
    let (mut one, other) = UnixStream::pair().unwrap();
    let (mut attention, mut buffer) = (Attention::default(), [0; 8]);
    let alone = os::cpu::allowed() < 2;
    for in_vain in [1, 3, 7, 15] {
        assert!(attention.receive(&other, &mut buffer).is_none(), "nothing has come");
        one.write_all(b"x").unwrap();
        for n in 0..in_vain {
            assert!(attention.receive(&other, &mut buffer).is_none(), "nothing is looked for, time {n}");
        }
        if in_vain < 15 {
            assert_eq!(os::socket::receive_now(&other, &mut buffer).unwrap(), 1);
        }
    }
    match attention.receive(&other, &mut buffer) {
        None => assert!(alone, "who is not alone looks again"),
        Some(came) => assert_eq!((came.unwrap(), buffer[0]), (1, b'x')),
    }
    drop(one);
    match attention.receive(&other, &mut buffer) {
        None => assert!(alone),
        Some(came) => assert_eq!(came.unwrap(), 0, "the other end is gone"),
    }
}
