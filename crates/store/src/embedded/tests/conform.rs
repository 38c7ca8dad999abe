//! The conformance suite, told to the embedded ledger on both kinds of disk and to the one in
//! memory.

use super::*;
use crate::Memory;
use crate::disk::RealDisk;
use crate::log::Cursor;

/// The embedded ledger on files of this machine.
struct Real {
    ledger: Option<Arc<Embedded>>,
    tuning: Tuning,
    folder: tempfile::TempDir,
}

impl Real {
    fn new(tuning: Tuning) -> Self {
        let mut bench = Self { ledger: None, tuning, folder: tempfile::tempdir().unwrap() };
        bench.open();
        bench
    }

    fn open(&mut self) {
        let disk = Arc::new(RealDisk::new(self.folder.path()).unwrap());
        let opened = Embedded::open_on(disk, self.folder.path(), self.tuning);
        self.ledger = Some(Arc::new(opened.unwrap()));
    }

    fn close(&mut self) {
        let ledger = self.ledger.take().unwrap();
        assert_eq!(Arc::strong_count(&ledger), 1, "a story lets go of the ledger before it stops");
    }
}

impl Bench for Real {
    fn ledger(&self) -> Arc<dyn Ledger> {
        self.ledger.clone().unwrap()
    }

    fn restart(&mut self, how: Stop) {
        self.close();
        if how == Stop::WithoutIndex {
            std::fs::remove_file(self.folder.path().join(INDEX)).unwrap();
        }
        self.open();
    }

    fn spoil(&mut self, seq: u64) {
        let place = place(self.ledger.as_ref().unwrap(), seq);
        let name = format!("ledger/{:012}.jsonl", place.0);
        let path = self.folder.path().join(name);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[place.1] ^= 1;
        std::fs::write(path, bytes).unwrap();
    }
}

/// Where a byte in the middle of a record lies: its segment and offset there.
fn place(ledger: &Embedded, seq: u64) -> (u64, usize) {
    let mut place = (0, 0);
    let found = ledger.history.reader.scan(Cursor::START, seq, |entry| {
        place = (entry.position.segment, entry.position.offset as usize + 30);
        Ok(())
    });
    found.unwrap();
    place
}

/// The embedded ledger on a disk that can lose power.
struct Sim {
    ledger: Option<Arc<Embedded>>,
    disk: SimDisk,
    folder: tempfile::TempDir,
    seed: u64,
}

impl Sim {
    fn new() -> Self {
        let mut bench = Self { ledger: None, disk: SimDisk::new(1), folder: folder(), seed: 0 };
        bench.open();
        bench
    }

    fn open(&mut self) {
        let disk = Arc::new(self.disk.clone());
        self.ledger = Some(Arc::new(Embedded::open_on(disk, self.folder.path(), SMALL).unwrap()));
    }
}

impl Bench for Sim {
    fn ledger(&self) -> Arc<dyn Ledger> {
        self.ledger.clone().unwrap()
    }

    fn restart(&mut self, how: Stop) {
        let ledger = self.ledger.take().unwrap();
        assert_eq!(Arc::strong_count(&ledger), 1, "a story lets go of the ledger before it stops");
        self.seed += 1;
        if how == Stop::PowerCut {
            self.disk.cut_power_at(0);
        }
        drop(ledger);
        match how {
            Stop::Clean => (),
            Stop::PowerCut => self.disk = self.disk.crash(self.seed),
            Stop::WithoutIndex => {
                std::fs::remove_file(self.folder.path().join(INDEX)).unwrap();
            }
        }
        self.open();
    }

    fn spoil(&mut self, seq: u64) {
        let place = place(self.ledger.as_ref().unwrap(), seq);
        let path = format!("ledger/{:012}.jsonl", place.0);
        self.disk.corrupt(&path, |bytes| bytes[place.1] ^= 1);
    }
}

struct InMemory(Arc<Memory>);

impl Bench for InMemory {
    fn ledger(&self) -> Arc<dyn Ledger> {
        self.0.clone()
    }

    fn restart(&mut self, _: Stop) {
        self.0.restart().unwrap();
    }

    fn spoil(&mut self, seq: u64) {
        self.0.spoil(seq, |line| line[30] ^= 1);
    }
}

mod memory {
    use super::*;
    crate::conformance!(InMemory(Arc::default()));
}

mod real {
    use super::*;
    crate::conformance!(Real::new(Tuning::default()));
}

mod real_in_small_pieces {
    use super::*;
    crate::conformance!(Real::new(SMALL));
}

mod sim {
    use super::*;
    crate::conformance!(Sim::new());
}
