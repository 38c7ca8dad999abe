//! Finds tags without the rest of Baton around it, for profiling: `find PATTERN PATH`.

use std::env;
use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use baton_tags::{Search, find};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = env::args().skip(1);
    let (Some(pattern), Some(tree)) = (words.next(), words.next()) else {
        return Err("usage: find PATTERN PATH".into());
    };
    let found = find(Path::new(&tree), &Search::new(pattern.parse()?))?;
    let mut out = BufWriter::new(io::stdout().lock());
    for hit in &found.hits {
        writeln!(out, "{}", hit.path.display())?;
    }
    for skipped in &found.skipped {
        eprintln!("{}: {}", skipped.path.display(), skipped.reason);
    }
    out.flush()?;
    Ok(())
}
