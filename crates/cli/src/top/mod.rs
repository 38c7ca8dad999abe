//! The live view of a workspace. It reads like any other caller and changes nothing.

mod details;
mod draw;
mod frame;
mod keys;

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use anstream::ColorChoice;
use hyper::Method;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use self::frame::{Frame, Rate, Rates};
use self::keys::Shown;
use crate::failure::Failure;
use crate::session::Session;
use crate::show::width;

/// How often everything is read anew.
const EVERY: Duration = Duration::from_secs(1);
/// How long a key can wait for the view to look whether something new was read.
const LOOK: Duration = Duration::from_millis(100);

/// After so long without news what is shown is old.
const SILENT: Duration = Duration::from_secs(5);

/// Shows the workspace until somebody has seen enough, or once.
pub(crate) fn run(session: Session, once: bool) -> Result<(), Failure> {
    let out = session.out;
    if out.json {
        return out.value(&frame::as_json(&session)?);
    }
    let color = out.color != ColorChoice::Never;
    let first = Frame::read(&session)?;
    if once || !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        let shown = Shown::new(first, false, false);
        return out.write(&draw::text(shown, width()));
    }
    let shown = Shown::new(first, true, color);
    let news = follow(session);
    // It takes a panic for granted that the terminal is restored before its words are printed.
    let mut terminal = ratatui::try_init().map_err(|error| unusable(&error))?;
    let ended = watch(&mut terminal, shown, &news);
    // A terminal that is gone needs no restoring. Dropping it would print about that, to nobody.
    let _ = terminal.show_cursor();
    let _ = ratatui::try_restore();
    std::mem::forget(terminal);
    ended.map_err(|error| unusable(&error))
}

fn unusable(error: &io::Error) -> Failure {
    let sentence = format!("cannot use this terminal: {error}");
    Failure::failed(sentence, "`baton top --once` prints the same as text")
}

type News = Result<(Box<Frame>, Option<Rate>), String>;

/// Reads on a thread of its own, so that keys never wait for the network.
fn follow(session: Session) -> Receiver<News> {
    let (tell, news) = mpsc::channel();
    thread::spawn(move || {
        let mut rates = Rates::default();
        loop {
            thread::sleep(EVERY);
            // Whoever only looks starts nothing again that somebody stopped.
            let there = session.client.peek(Method::GET, "/v1/status");
            let read = there.and_then(|found| match found {
                Some(_) => Frame::read(&session),
                None => Err(Failure::failed("no coordinator runs", "the next verb starts one")),
            });
            let read = read.map(|frame| {
                let (records, handoffs) = (frame.status.records, frame.stats.total_handoffs);
                let rate = rates.note(Instant::now(), records, handoffs);
                (Box::new(frame), rate)
            });
            if tell.send(read.map_err(|failure| failure.sentence)).is_err() {
                return;
            }
        }
    });
    news
}

fn watch(
    terminal: &mut DefaultTerminal,
    mut shown: Shown,
    news: &Receiver<News>,
) -> io::Result<()> {
    let told_to_end = signals()?;
    let mut heard = Instant::now();
    loop {
        terminal.draw(|canvas| draw::draw(canvas, &mut shown))?;
        loop {
            match news.try_recv() {
                Ok(read) => {
                    heard = Instant::now();
                    match read {
                        Ok((frame, rate)) => shown.renew(*frame, rate),
                        Err(trouble) => shown.trouble = Some(trouble),
                    }
                }
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => {
                    if told_to_end.load(Ordering::Relaxed) || is_gone(Duration::ZERO)? {
                        return Ok(());
                    }
                    if event::poll(Duration::ZERO)? {
                        match event::read()? {
                            Event::Key(key) if !shown.press(key) => return Ok(()),
                            _ => (),
                        }
                    } else if heard.elapsed() > SILENT && shown.trouble.is_none() {
                        shown.trouble = Some("the coordinator does not answer".to_owned());
                    } else if is_gone(LOOK)? {
                        return Ok(());
                    } else {
                        continue;
                    }
                }
            }
            break;
        }
    }
}

/// Becomes true when somebody tells this process to end, so that it can leave the terminal as it
/// was.
fn signals() -> io::Result<Arc<AtomicBool>> {
    let told = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGHUP, SIGINT] {
        signal_hook::flag::register(signal, told.clone())?;
    }
    Ok(told)
}

/// Waits for something to be typed. Returns whether nobody can type any more: the terminal is gone,
/// and asking it for keys would never end.
fn is_gone(within: Duration) -> io::Result<bool> {
    let stdin = io::stdin();
    let mut typed = [PollFd::new(&stdin, PollFlags::IN)];
    let within = within.try_into().map_err(io::Error::other)?;
    match rustix::event::poll(&mut typed, Some(&within)) {
        // A signal came; whoever asks looks what it was.
        Ok(_) | Err(Errno::INTR) => (),
        Err(error) => return Err(error.into()),
    }
    Ok(typed[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL))
}
