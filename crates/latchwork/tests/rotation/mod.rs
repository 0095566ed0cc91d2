//! The generations that a test runs: a few that change from day to day, or those named in the environment.

use latch::Generation;

/// `n` generations: the seed chooses the first, the others follow at equal distances. The seed is LATCHWORK_SEED, or
/// the number of the day. LATCHWORK_GENERATIONS is `all`, or a list of names.
pub fn generations(n: usize) -> Vec<String> {
    let all = Generation::NAMES;
    match std::env::var("LATCHWORK_GENERATIONS") {
        Ok(given) if given == "all" => return all.map(String::from).to_vec(),
        Ok(given) => return given.split(',').map(|name| name.trim().to_string()).collect(),
        Err(_) => {}
    }
    let day = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() / 86_400);
    let seed = std::env::var("LATCHWORK_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(day) as usize;
    eprintln!("LATCHWORK_SEED={seed}");
    (0..n).map(|at| all[(seed + at * all.len() / n.max(1)) % all.len()].to_string()).collect()
}
