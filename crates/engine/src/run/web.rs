//! Calls over the web: to checked addresses only, hop by hop, with a limit on time and size.

use std::sync::Once;
use std::time::Duration;

use baton_protocol::limits::{CALL_ANSWER_BYTES_MAX, REDIRECTS_MAX, RUN_RESULT_BYTES_MAX};
use reqwest::header::{HeaderMap, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, StatusCode, Url};

use super::guard::{self, Allow, Barred, Checked};

/// What is asked of a web service.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// What it answered.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) body: Vec<u8>,
    /// Whether there was more than is taken.
    pub(crate) cut: bool,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// It may not be called, and asking again changes nothing.
    Forbidden(String),
    /// It may answer another time.
    Failed(String),
}

impl From<Barred> for Unanswered {
    fn from(barred: Barred) -> Self {
        match barred {
            Barred::Forbidden(why) => Self::Forbidden(why),
            Barred::Unknown(why) => Self::Failed(why),
        }
    }
}

/// Asks, and goes where it is sent on to, at most a few times.
pub(crate) async fn ask(
    asked: &Asked,
    allow: &Allow,
    within: Duration,
) -> Result<Answered, Unanswered> {
    let hops = async {
        let mut url = parsed(&asked.url)?;
        for _ in 0..=REDIRECTS_MAX {
            // Each hop is checked as the first one was: whoever is called does not decide whom
            // Baton may call.
            let checked = guard::check(url, allow).await?;
            let from = checked.url.clone();
            let response = once(asked, checked).await?;
            match onward(&asked.method, &from, response.status(), response.headers())? {
                Some(next) => url = next,
                None => return whole(response).await,
            }
        }
        Err(Unanswered::Failed(format!("sent on more than {REDIRECTS_MAX} times")))
    };
    let late = |_| Unanswered::Failed(format!("no answer in {} s", within.as_secs()));
    tokio::time::timeout(within, hops).await.map_err(late)?
}

fn parsed(url: &str) -> Result<Url, Unanswered> {
    let wrong = |error| Unanswered::Forbidden(format!("{error} in the address"));
    url.parse().map_err(wrong)
}

async fn once(asked: &Asked, checked: Checked) -> Result<reqwest::Response, Unanswered> {
    static TLS: Once = Once::new();
    TLS.call_once(|| {
        // An error means that there is one already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let client = Client::builder()
        .redirect(Policy::none())
        // A proxy would resolve the name anew, and call whatever it finds.
        .no_proxy()
        .resolve_to_addrs(&checked.host, &checked.to)
        .user_agent(concat!("baton/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(failed)?;
    let request = client.request(asked.method.clone(), checked.url).headers(asked.headers.clone());
    request.body(asked.body.clone()).send().await.map_err(failed)
}

/// Where the caller is sent on to, if it is.
fn onward(
    method: &Method,
    from: &Url,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<Option<Url>, Unanswered> {
    let kept = [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT].contains(&status);
    if !status.is_redirection() || status == StatusCode::NOT_MODIFIED {
        return Ok(None);
    }
    if *method != Method::GET && !kept {
        // Others would turn it into a question without its body.
        let why = format!("{status} sends the call on without its body; answer 307 or 308");
        return Err(Unanswered::Failed(why));
    }
    let place = headers.get(LOCATION).and_then(|place| place.to_str().ok());
    let next = place.and_then(|place| from.join(place).ok());
    let nowhere = || Unanswered::Failed(format!("{status} does not say where to go"));
    let next = next.ok_or_else(nowhere)?;
    if from.scheme() == "https" && next.scheme() != "https" {
        let why = format!("{status} sends the call on to where everybody can read it");
        return Err(Unanswered::Failed(why));
    }
    Ok(Some(next))
}

async fn whole(mut response: reqwest::Response) -> Result<Answered, Unanswered> {
    let status = response.status();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if body.len() + chunk.len() > CALL_ANSWER_BYTES_MAX {
            // The work is done, so asking again would do it twice: the beginning must do.
            body.truncate(RUN_RESULT_BYTES_MAX);
            return Ok(Answered { status, body, cut: true });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answered { status, body, cut: false })
}

fn failed(error: reqwest::Error) -> Unanswered {
    // The address is not repeated: it may hold what only its owner should see.
    Unanswered::Failed(baton_store::causes(&error.without_url()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a call is sent on to by this status and place.
    fn sent(
        method: Method,
        from: &str,
        status: u16,
        place: &str,
    ) -> Result<Option<String>, String> {
        let from = from.parse().expect("an address");
        let status = StatusCode::from_u16(status).expect("a status");
        let headers = HeaderMap::from_iter([(LOCATION, place.parse().expect("a header"))]);
        let next = onward(&method, &from, status, &headers).map_err(|why| format!("{why:?}"))?;
        Ok(next.map(String::from))
    }

    #[test]
    fn a_call_is_never_sent_on_to_where_everybody_can_read_it() {
        let secret = "https://build.example/run";
        for (place, next) in [
            ("https://other.example/run", Some("https://other.example/run")),
            ("/elsewhere", Some("https://build.example/elsewhere")),
            ("//other.example/run", Some("https://other.example/run")),
            ("http://build.example/run", None),
            ("HTTP://build.example/run", None),
            ("ftp://build.example/run", None),
        ] {
            let sent = sent(Method::POST, secret, 307, place);
            assert_eq!(sent.clone().ok().flatten().as_deref(), next, "{place}: {sent:?}");
        }
        let open = sent(Method::POST, "http://build.example/run", 308, "http://other.example/");
        assert_eq!(open, Ok(Some("http://other.example/".to_owned())), "it was open before");
    }

    #[test]
    fn a_call_keeps_its_body_wherever_it_is_sent() {
        let secret = "https://build.example/run";
        for status in [301, 302, 303] {
            let question = sent(Method::GET, secret, status, "/other");
            assert_eq!(question, Ok(Some("https://build.example/other".to_owned())));
            let call = sent(Method::POST, secret, status, "/other");
            assert!(call.is_err_and(|why| why.contains("307 or 308")), "{status}");
        }
        assert_eq!(sent(Method::GET, secret, 304, "/other"), Ok(None));
        assert_eq!(sent(Method::POST, secret, 200, "/other"), Ok(None));
    }
}
