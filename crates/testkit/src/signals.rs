//! Starts programs with the default signal actions, even if the tests ignore signals.
//!
//! `nohup`, cron, and shells that run a script in the background start programs with signals
//! ignored, and their children inherit that. A test that interrupts such a program would wait
//! forever.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;

/// Ensures that programs started from now on do not ignore signals that end a program.
///
/// `exec` keeps ignored signals ignored but resets signals with a handler. Each ignored signal
/// therefore gets an empty handler, which makes no difference to this process.
pub(crate) fn heed_in_children() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let ignored = ignored(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            if ignored & (1 << (signal - 1)) != 0 {
                let done = flag::register(signal, Arc::new(AtomicBool::new(false)));
                done.unwrap_or_else(|e| panic!("signal {signal} cannot be given a handler: {e}"));
            }
        }
    });
}

/// Returns the set of ignored signals from the text of `/proc/PID/status`. The lowest bit is signal
/// 1.
fn ignored(status: &str) -> u64 {
    let mut lines = status.lines();
    let set = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use rustix::process::Signal;

    use super::ignored;
    use crate::{Sandbox, When};

    const AGAIN: &str = "TESTKIT_SIGNALS_ARE_IGNORED";

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        assert_eq!(ignored("SigBlk:\t0000000000000001\nSigIgn:\t0000000000001002\n"), 0x1002);
        assert_eq!(ignored(""), 0);
    }

    #[test]
    fn a_program_can_be_interrupted_by_tests_that_cannot() {
        if std::env::var_os(AGAIN).is_none() {
            // Runs this test again in a process that ignores the signals.
            let sandbox = Sandbox::new("/bin/sh");
            let this = std::env::current_exe().expect("the binary of this test");
            let test = "signals::tests::a_program_can_be_interrupted_by_tests_that_cannot";
            let again = sandbox.command().env(AGAIN, "1").args(["-c"]);
            let again = again.arg("trap '' HUP INT QUIT TERM; exec \"$@\"").arg("sh").arg(this);
            let output = again.args(["--exact", test]).run();
            assert!(output.success().stdout_str().contains("1 passed"), "{output:?}");
            return;
        }
        for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM] {
            let sandbox = Sandbox::new("/bin/sh");
            let sleep = sandbox.command().args(["-c", "ulimit -c 0; echo up; exec sleep 50"]);
            sleep.signal(signal, When::Stdout(b"up".to_vec())).run().signal(signal);
        }
    }
}
