//! Killing the coordinator at moments that are not of its choosing.

use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::coordinator::Coordinator;

impl Coordinator {
    /// Ends it without warning and does not wait; it is collected by [`Self::kill`].
    pub(crate) fn strike(&self) {
        let child = self.child.as_ref().expect("a coordinator to kill");
        // Nobody has collected it, so its number is still its own.
        let pid = Pid::from_child(child);
        kill_process(pid, Signal::KILL).expect("our own child");
    }

    /// Starts it and ends it without warning this long after, whatever it does by then.
    pub(crate) fn kill_on_its_way_up(&mut self, after: Duration) {
        self.spawn();
        sleep(after);
        self.kill();
    }
}
