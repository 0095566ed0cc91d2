//! Control of the listener, in the manner of lsnrctl.

use super::connect::Names;
use crate::alert::{timestamp, timestamp_of};
use instance::{Instance, ListenerWish, Phase};
use net::local::ListenerWord;
use std::time::{Duration, Instant};
use types::{Facility, Ora};

/// Time limit for the supervisor to execute a request.
const DONE_LIMIT: Duration = Duration::from_secs(20);

/// Executes a request and returns the report. `places` are the addresses where the instance listens.
///
/// # Errors
/// TNS-12541 when it does not listen, TNS-01106 when it listens already; TNS-12560 when it cannot.
pub fn obey(
    instance: &Instance,
    places: &[String],
    word: ListenerWord,
    wake_supervisor: &dyn Fn(),
) -> Result<Vec<String>, Ora> {
    let tns = |code: u32| Ora::make(Facility::Tns, code, &[&"LISTENER"]);
    let wish = |wish: ListenerWish| {
        let began = Instant::now();
        let mut number = None;
        loop {
            // There is one slot for requests: a second request waits for the first.
            if number.is_none() {
                number = instance.state().ask_of_listener(wish);
                wake_supervisor();
            }
            match number.and_then(|number| instance.state().listener_answer(number)) {
                Some(true) => return Ok(()),
                None if began.elapsed() < DONE_LIMIT => os::clock::sleep(Duration::from_millis(2)),
                _ => return Err(tns(12560)),
            }
        }
    };
    match (word, places.is_empty()) {
        (ListenerWord::Start, false) => return Err(tns(1106)),
        (ListenerWord::Start, true) => {
            if instance.params().get(params::Param::LocalListener).trim().is_empty() {
                return Err(Ora::with(132, &[&"LOCAL_LISTENER"]));
            }
            wish(ListenerWish::Start)?;
            return Ok(vec![format!("Listener of instance {} started.", instance_name(instance))]);
        }
        (_, true) => return Err(tns(12541)),
        (ListenerWord::Stop, _) => wish(ListenerWish::Stop)?,
        (ListenerWord::Reload, _) => wish(ListenerWish::Reload)?,
        (ListenerWord::Status, _) => return Ok(status(instance, places)),
        (ListenerWord::Services, _) => return Ok(services(instance, true)),
    }
    Ok(Vec::new())
}

fn instance_name(instance: &Instance) -> String {
    instance.params().get(params::Param::InstanceName)
}

fn status(instance: &Instance, places: &[String]) -> Vec<String> {
    let began = instance.state().listener_began_wall_ns();
    let seconds = os::clock::wall_ns().saturating_sub(began) / 1_000_000_000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    let mut out: Vec<String> = ["STATUS of the LISTENER", "------------------------"].map(String::from).into();
    let log = instance.dir().join(crate::ALERT_LOG_NAME);
    let mut say = |what: &str, value: String| out.push(format!("{what:<26}{value}"));
    say("Alias", "LISTENER".into());
    say("Version", instance::BANNER.into());
    say("Start Date", timestamp_of(began));
    say("Current Date", timestamp());
    say("Uptime", format!("{days} days {hours} hr. {minutes} min. {} sec", seconds % 60));
    say("Security", "ON: Local OS Authentication".into());
    say("Listener Log File", log.display().to_string());
    out.push("Listening Endpoints Summary...".into());
    out.extend(places.iter().map(|place| format!("  (DESCRIPTION={place})")));
    out.extend(services(instance, false));
    out
}

fn services(instance: &Instance, with_handlers: bool) -> Vec<String> {
    let mut out = vec!["Services Summary...".to_string()];
    let (established, refused) = instance.state().connections();
    let is_full = super::connect::no_room(instance).is_some();
    let (state, ready) = match instance.state().phase() {
        Phase::Open if is_full => ("READY", "blocked"),
        Phase::Open => ("READY", "ready"),
        _ => ("BLOCKED", "blocked"),
    };
    for service in Names::of(instance.params()).all() {
        out.push(format!("Service \"{service}\" has 1 instance(s)."));
        out.push(format!(
            "  Instance \"{}\", status {state}, has 1 handler(s) for this service...",
            instance_name(instance)
        ));
        if with_handlers {
            out.push("    Handler(s):".into());
            out.push(format!("      \"DEDICATED\" established:{established} refused:{refused} state:{ready}"));
            out.push("         LOCAL SERVER".into());
        }
    }
    out
}
