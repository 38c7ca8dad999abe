//! Temporary measurement.
use baton_store::*;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Instant;

#[derive(Deserialize)]
struct Rec<'a> {
    seq: u64,
    at: i64,
    kind: &'a str,
    workflow: &'a str,
    handoff: Option<&'a str>,
    from: Option<&'a str>,
    to: Option<&'a str>,
    actor: Option<&'a str>,
    command: &'a str,
    title: Option<&'a str>,
    closes: Option<&'a str>,
    state: Option<&'a str>,
}
fn hex(s: &str) -> [u8; 16] {
    let mut b = [0; 16];
    for i in 0..16 {
        b[i] = u8::from_str_radix(&s[2 * i..2 * i + 2], 16).unwrap();
    }
    b
}
fn extract(line: &[u8]) -> Option<Row<'_>> {
    let r: Rec<'_> = serde_json::from_slice(line).ok()?;
    Some(Row {
        seq: r.seq,
        at: r.at,
        kind: r.kind,
        workflow: Some(hex(r.workflow)),
        handoff: r.handoff.map(hex),
        from: r.from,
        to: r.to,
        actor: r.actor,
        command: Some(hex(r.command)),
        title: r.title.map(Into::into),
        closes: r.closes,
        handoff_state: r.state,
    })
}
fn mix(n: u64) -> u128 {
    let mut x = n.wrapping_mul(0x9E3779B97F4A7C15);
    x ^= x >> 29;
    x = x.wrapping_mul(0xBF58476D1CE4E5B9);
    x ^= x >> 32;
    (x as u128) << 64 | (x.wrapping_mul(0x2545F4914F6CDD1D) as u128)
}
fn main() {
    let dir = std::path::PathBuf::from(std::env::args().nth(1).unwrap());
    let total: u64 = std::env::args().nth(2).unwrap().parse().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(&dir).unwrap());
    let t = Instant::now();
    let (mut log, opened) =
        Log::open(disk.clone(), Options::default(), Cursor::START, |_| Ok(())).unwrap();
    println!("open {:?} next {}", t.elapsed(), opened.next.seq);
    let pad = "p".repeat(250);
    let kinds = [
        ("initiated", "initiated"),
        ("accepted", "accepted"),
        ("returned", "returned"),
        ("completed", "closed"),
    ];
    let mut buf = Vec::new();
    let t = Instant::now();
    let mut synced = std::time::Duration::ZERO;
    let (mut bytes, mut batches) = (0usize, 0);
    let mut max = std::time::Duration::ZERO;
    let mut seal_t = std::time::Duration::ZERO;
    while log.next().seq <= total {
        buf.clear();
        let first = log.next().seq;
        let safe = first - 1;
        let s0 = Instant::now();
        for i in 0..256u64 {
            let seq = first + i;
            let cycle = (seq - 1) / 4;
            let step = ((seq - 1) % 4) as usize;
            let start = buf.len();
            use std::io::Write;
            write!(buf, r#"{{"seq":{seq},"safe":{safe},"at":{},"kind":"{}","workflow":"{:032x}","handoff":"{:032x}","from":"agent-{}","to":"agent-{}","actor":"agent-{}","command":"{:032x}","state":"{}","pad":"{pad}""#,
              1700000000000000+seq*20, kinds[step].0, mix(cycle*2), mix(cycle*2+1), cycle%17, cycle%13, cycle%17, mix(seq^0xabcdef), kinds[step].1).unwrap();
            if step == 0 {
                write!(buf, r#","title":"work number {cycle}""#).unwrap();
            }
            if step == 3 {
                write!(buf, r#","closes":"completed""#).unwrap();
            }
            buf.push(b'}');
            seal(&mut buf, start);
        }
        seal_t += s0.elapsed();
        let s = Instant::now();
        log.append(&buf, first, first + 255).unwrap();
        let e = s.elapsed();
        synced += e;
        max = max.max(e);
        bytes += buf.len();
        batches += 1;
        if let Some(p) = log.preparation() {
            std::thread::spawn(move || p.run());
        }
    }
    println!(
        "appended {} batches, {} B/line, build+seal {:?}, append {:?} = {:?}/batch max {:?}, total {:?}",
        batches,
        if batches > 0 { bytes / batches / 256 } else { 0 },
        seal_t,
        synced,
        synced / batches.max(1) as u32,
        max,
        t.elapsed()
    );
    let t = Instant::now();
    let next = log.next().seq;
    let f = Follower::spawn(&dir.join("index.sqlite"), log.reader(), next, extract).unwrap();
    let b = f.indexed();
    let mut last = (b, Instant::now());
    while f.indexed() < next - 1 {
        let w = (f.indexed() + 100_000).min(next - 1);
        f.wait_for(w).unwrap();
        let n = f.indexed();
        println!("  {n}: {:.2} us/rec", last.1.elapsed().as_secs_f64() * 1e6 / (n - last.0) as f64);
        last = (n, Instant::now());
    }
    println!(
        "indexed {} in {:?} = {:.2} us/record; file {} MB",
        next - 1 - b,
        t.elapsed(),
        t.elapsed().as_secs_f64() * 1e6 / (next - 1 - b).max(1) as f64,
        std::fs::metadata(dir.join("index.sqlite")).unwrap().len() >> 20
    );
    let i = f.index();
    let q = |name: &str, g: &dyn Fn() -> usize| {
        let t = Instant::now();
        let n = g();
        println!("  {name}: {n} in {:?}", t.elapsed());
    };
    let base = Filter { limit: 100, newest_first: true, ..Filter::default() };
    q("all newest", &|| i.records(&base).unwrap().len());
    q("from", &|| {
        i.records(&Filter { from: Some("agent-3".into()), ..base.clone() }).unwrap().len()
    });
    q("agent", &|| {
        i.records(&Filter { agent: Some("agent-3".into()), ..base.clone() }).unwrap().len()
    });
    q("agent oldest", &|| {
        i.records(&Filter { agent: Some("agent-3".into()), newest_first: false, ..base.clone() })
            .unwrap()
            .len()
    });
    q("kinds", &|| {
        i.records(&Filter { kinds: vec!["initiated".into(), "completed".into()], ..base.clone() })
            .unwrap()
            .len()
    });
    q("kinds+agent", &|| {
        i.records(&Filter {
            kinds: vec!["initiated".into(), "completed".into()],
            agent: Some("agent-3".into()),
            ..base.clone()
        })
        .unwrap()
        .len()
    });
    q("workflow", &|| {
        i.records(&Filter { workflow: Some(mix(2000).to_be_bytes()), ..base.clone() })
            .unwrap()
            .len()
    });
    q("time", &|| {
        i.records(&Filter {
            since: Some(1700000000000000 + 20 * 50000),
            until: Some(1700000000000000 + 20 * 60000),
            ..base.clone()
        })
        .unwrap()
        .len()
    });
    q("time+kind", &|| {
        i.records(&Filter {
            since: Some(1700000000000000 + 20 * 50000),
            until: Some(1700000000000000 + 20 * 60000),
            kinds: vec!["accepted".into()],
            ..base.clone()
        })
        .unwrap()
        .len()
    });
    q("prefix", &|| i.find_handoffs(&format!("{:032x}", mix(2001))[..8]).unwrap().len());
    q("list", &|| i.workflows(WorkflowPage { limit: 50, ..Default::default() }).unwrap().len());
    q("list open", &|| {
        i.workflows(WorkflowPage { open: Some(true), limit: 50, ..Default::default() })
            .unwrap()
            .len()
    });
    q("counts", &|| i.counts().unwrap().len());
    let rss = std::fs::read_to_string("/proc/self/status").unwrap();
    println!(
        "{}",
        rss.lines()
            .filter(|l| l.starts_with("VmRSS") || l.starts_with("VmHWM"))
            .collect::<Vec<_>>()
            .join(" ")
    );
    drop(f);
    drop(log);
    let t = Instant::now();
    let mut n = 0u64;
    let (_l, o) = Log::open(disk, Options::default(), Cursor::START, |_| {
        n += 1;
        Ok(())
    })
    .unwrap();
    println!("full reopen scan {n} in {:?} next {}", t.elapsed(), o.next.seq);
}
