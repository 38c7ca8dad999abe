//! What may happen to the index, and that nobody has to care.

use super::*;
use crate::disk::Disk;

fn bench(records: &[Record]) -> Bench {
    let mut bench = Bench::new();
    for record in records {
        bench.append(record);
    }
    bench
}

#[test]
fn a_deleted_or_lagging_index_ends_up_as_one_built_in_one_go() {
    let story = story(20);
    let expected = bench(&story).dump();
    let mut bench = Bench::new();
    // The follower was killed at various points; each start catches up.
    for (at, record) in story.iter().enumerate() {
        bench.append(record);
        if at % 7 == 3 {
            bench.dump();
        }
    }
    assert_eq!(bench.dump(), expected);
    schema::delete(&bench.path()).unwrap();
    assert_eq!(bench.dump(), expected);
}

#[test]
fn a_damaged_or_foreign_file_is_replaced() {
    let bench = bench(&story(20));
    let expected = bench.dump();
    let bytes = std::fs::read(bench.path()).unwrap();
    let spoils: [fn(&mut Vec<u8>); 5] = [
        |bytes| bytes.clear(),
        |bytes| bytes.truncate(5000),
        |bytes| bytes[..100].fill(7),
        |bytes| bytes[4096..].fill(7),
        |bytes| bytes[60..64].fill(9),
    ];
    for (at, spoil) in spoils.iter().enumerate() {
        schema::delete(&bench.path()).unwrap();
        let mut spoilt = bytes.clone();
        spoil(&mut spoilt);
        std::fs::write(bench.path(), spoilt).unwrap();
        assert_eq!(bench.dump(), expected, "spoil {at}");
    }
    schema::delete(&bench.path()).unwrap();
    let other = Connection::open(bench.path()).unwrap();
    other.execute_batch("CREATE TABLE cursor(x); PRAGMA user_version = 1").unwrap();
    drop(other);
    assert_eq!(bench.dump(), expected, "another program's file");
}

#[test]
fn an_index_ahead_of_its_log_or_of_another_log_is_replaced() {
    let long = bench(&story(20));
    let expected = long.dump();
    let same_log = long.disk.clone();
    let shorter = bench(&story(6));
    let short_expected = shorter.dump();
    let bench = long.with_log(shorter.disk.restart());
    assert_eq!(bench.dump(), short_expected, "a backup was put back");

    let mut other = story(20);
    other[79].kind = "look".to_owned();
    let other = super::rebuild::bench(&other);
    let other_expected = other.dump();
    let bench = bench.with_log(same_log.restart());
    assert_eq!(bench.dump(), expected);
    let bench = bench.with_log(other.disk.restart());
    assert_ne!(expected, other_expected);
    assert_eq!(bench.dump(), other_expected, "same length, other history");
}

#[test]
fn damage_met_while_running_is_healed_by_starting_over() {
    let mut bench = bench(&story(20));
    let follower = bench.follow();
    follower.wait_for(80).unwrap();
    let spoil = Connection::open(bench.path()).unwrap();
    spoil.execute_batch("DROP TABLE tallies").unwrap();
    assert!(follower.index().counts().is_err());
    // Whoever asks again is served, although the log has not grown.
    follower.wait_for(80).unwrap();
    assert!(follower.index().counts().is_ok());
    spoil.execute_batch("DROP TABLE tallies").unwrap_or_default();
    let (seq, _) = bench.append(&story(1)[0]);
    follower.wait_for(seq).unwrap();
    let counts = follower.index().counts().unwrap();
    assert_eq!(counts.iter().map(|tally| tally.count).sum::<u64>(), 81);
}

#[test]
fn readers_see_their_own_writes() {
    let mut bench = Bench::new();
    let follower = bench.follow();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for record in story(20) {
        let (seq, position) = bench.append(&record);
        follower.advance(seq);
        if seq % 2 == 0 {
            follower.wait_for(seq).unwrap();
        } else {
            runtime.block_on(follower.until(seq)).unwrap();
        }
        let newest = Filter { limit: 1, newest_first: true, ..Filter::default() };
        assert_eq!(follower.index().records(&newest).unwrap(), [(seq, position)]);
        assert_eq!(follower.indexed(), seq);
    }
}

#[test]
fn a_record_of_unknown_shape_is_left_out_and_the_rest_goes_on() {
    let mut bench = Bench::new();
    let (seq, line) = (1, br#"{"seq":1,"safe":0,"strange":true}"#);
    let mut line = line.to_vec();
    seal(&mut line, 0);
    bench.log.append(&line, seq, seq).unwrap();
    let (seq, position) = bench.append(&story(1)[0]);
    let follower = bench.follow();
    follower.wait_for(seq).unwrap();
    let all = Filter { since: Some(0), until: Some(i64::MAX), ..Filter::default() };
    assert_eq!(follower.index().records(&all).unwrap(), [(seq, position)]);
}

#[test]
fn nobody_waits_for_ever_for_a_follower_that_cannot_go_on() {
    let broken = bench(&story(20));
    let name = broken.disk.list("ledger").unwrap().remove(0);
    broken.disk.corrupt(&format!("ledger/{name}"), |bytes| bytes[700] ^= 1);
    let follower = broken.follow();
    let error = follower.wait_for(80).unwrap_err().to_string();
    assert!(error.starts_with("the index is behind: cannot index the ledger: record"), "{error}");
    assert!(follower.wait_for(80).is_err(), "each who asks gets another try");

    let mut bench = bench(&story(1));
    bench.append(&Record { kind: "panic".to_owned(), ..Record::default() });
    let follower = bench.follow();
    let error = follower.wait_for(5).unwrap_err();
    assert_eq!(error.to_string(), "the index is behind: its thread has ended");
}

#[test]
fn an_answer_from_an_index_that_was_begun_anew_meanwhile_rules_nothing_out() {
    let bench = bench(&story(20));
    let follower = bench.follow();
    follower.wait_for(80).unwrap();
    let index = follower.index();
    assert_eq!(index.looking(|| index.has_workflow(&uuid(2)).unwrap()), (80, true));
    let (looked, found) = index.looking(|| {
        drop(index.start_over().unwrap());
        index.has_workflow(&uuid(2)).unwrap()
    });
    assert_eq!((looked, found), (0, false));
}
