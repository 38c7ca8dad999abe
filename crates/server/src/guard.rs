//! What is looked at before anything else of a request from the network.
//!
//! A web page that somebody has open can make their browser call us, under a name that its owner
//! points at this machine. So callers must ask for us by an address or a name that we were given,
//! and a page of another site is turned away. There are no cookies: without a token a browser is
//! nobody.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};

use crate::caller::Peer;
use crate::wire::Problem;

/// Turns away whoever asks for somebody else.
pub(crate) fn look(request: &Request, hosts: &[String]) -> Result<(), Problem> {
    match request.extensions().get() {
        Some(Peer::Network) => {
            let authority = request.uri().authority().map(|authority| authority.as_str());
            may_enter(request.headers(), authority, hosts)
        }
        Some(Peer::Socket { .. }) | None => Ok(()),
    }
}

fn may_enter(headers: &HeaderMap, uri: Option<&str>, hosts: &[String]) -> Result<(), Problem> {
    let text = |name| headers.get(name).map(|value: &header::HeaderValue| value.to_str());
    let asked = uri.or_else(|| text(header::HOST)?.ok()).unwrap_or("");
    if !is_ours(asked, hosts) {
        let detail = format!("this coordinator is not known as `{asked}`");
        let hint = "ask by its address, or start it with --host NAME";
        let status = StatusCode::MISDIRECTED_REQUEST;
        return Err(Problem::new(status, "wrong-host", detail, hint));
    }
    let origin = match text(header::ORIGIN) {
        None => return Ok(()),
        Some(origin) => origin.unwrap_or(""),
    };
    let site = origin.split_once("://").map_or("", |(_, site)| site);
    if is_ours(site, hosts) && same_door(site, asked) {
        return Ok(());
    }
    let detail = "a page of another site may not call this coordinator";
    let hint = "call it from a program, or from its own pages";
    Err(Problem::new(StatusCode::FORBIDDEN, "wrong-origin", detail, hint))
}

/// Whether a page at `site` comes from where the request goes.
fn same_door(site: &str, asked: &str) -> bool {
    site.eq_ignore_ascii_case(asked)
}

/// Whether we are meant. An address cannot be pointed elsewhere by the owner of a name.
fn is_ours(authority: &str, hosts: &[String]) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        Some(_) | None => authority,
    };
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok()
        || hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enters(host: &str, origin: Option<&str>) -> Result<(), Problem> {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().expect("a header"));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().expect("a header"));
        }
        may_enter(&headers, None, &["baton.example".to_owned()])
    }

    #[test]
    fn a_name_that_somebody_pointed_at_us_is_not_ours() {
        for ours in ["127.0.0.1:7777", "localhost", "LocalHost:1", "[::1]:9", "baton.example:443"] {
            assert!(enters(ours, None).is_ok(), "{ours}");
        }
        for other in ["", "evil.example", "localhost.evil.example:80", "127.0.0.1.evil.example"] {
            assert!(enters(other, None).is_err(), "{other}");
        }
    }

    #[test]
    fn a_page_of_another_site_is_turned_away() {
        assert!(enters("127.0.0.1:7777", Some("http://127.0.0.1:7777")).is_ok());
        for other in
            ["http://evil.example", "null", "http://127.0.0.1:8888", "http://localhost:7777", ""]
        {
            assert!(enters("127.0.0.1:7777", Some(other)).is_err(), "{other}");
        }
    }
}
