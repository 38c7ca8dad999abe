//! Which addresses on the web may be called.
//!
//! A URL in a registration must not lead Baton into the network that it runs in. The name is
//! resolved here, each address is checked, and the call goes to a checked address and nowhere else:
//! a name that means something else a moment later changes nothing.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use baton_protocol::limits::ALLOWED_MAX;
use reqwest::Url;

/// IPv4 ranges that are not the public network.
const NOT_PUBLIC_4: &[(Ipv4Addr, u8)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];
/// The only IPv6 range that is public at all. Mapped, translated, local and multicast addresses lie
/// outside of it.
const PUBLIC_6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
/// What is not public inside of it: special purposes (Teredo among them), documentation, and 6to4,
/// which carries an IPv4 address.
const NOT_PUBLIC_6: &[(Ipv6Addr, u8)] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Whether an address belongs to the public network.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(ip) => !NOT_PUBLIC_4.iter().any(|(net, bits)| within_4(ip, *net, *bits)),
        IpAddr::V6(ip) => {
            within_6(ip, PUBLIC_6.0, PUBLIC_6.1)
                && !NOT_PUBLIC_6.iter().any(|(net, bits)| within_6(ip, *net, *bits))
        }
    }
}

fn within_4(ip: Ipv4Addr, net: Ipv4Addr, bits: u8) -> bool {
    let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
    ip.to_bits() & mask == net.to_bits() & mask
}

fn within_6(ip: Ipv6Addr, net: Ipv6Addr, bits: u8) -> bool {
    let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
    ip.to_bits() & mask == net.to_bits() & mask
}

/// What a workspace allows to be called beside the public network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allow(Vec<Allowed>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Allowed {
    /// Every address of a range, on any port.
    Range(IpAddr, u8),
    /// A host as it is written in the URL, on one port, wherever its name leads.
    Host(String, u16),
}

/// A word that allows nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{word}` is not an address, a range such as 10.0.0.0/8, or a host with its port; expected at \
     most {ALLOWED_MAX} of these"
)]
pub struct AllowError {
    word: String,
}

impl Allow {
    /// Reads what a configuration allows.
    pub fn of(words: &[String]) -> Result<Self, AllowError> {
        if let Some(word) = words.get(ALLOWED_MAX) {
            return Err(AllowError { word: word.clone() });
        }
        words.iter().map(|word| word.parse()).collect::<Result<_, _>>().map(Self)
    }

    fn allows(&self, host: &str, address: SocketAddr) -> bool {
        self.0.iter().any(|allowed| match (allowed, address.ip()) {
            (Allowed::Range(IpAddr::V4(net), bits), IpAddr::V4(ip)) => within_4(ip, *net, *bits),
            (Allowed::Range(IpAddr::V6(net), bits), IpAddr::V6(ip)) => within_6(ip, *net, *bits),
            (Allowed::Range(..), _) => false,
            (Allowed::Host(name, port), _) => name == host && *port == address.port(),
        })
    }
}

impl FromStr for Allowed {
    type Err = AllowError;

    fn from_str(word: &str) -> Result<Self, AllowError> {
        let wrong = || AllowError { word: word.chars().take(80).collect() };
        let most = |ip: &IpAddr| if ip.is_ipv4() { 32 } else { 128 };
        if let Ok(ip) = word.parse::<IpAddr>() {
            return Ok(Self::Range(ip, most(&ip)));
        }
        if let Some((net, bits)) = word.split_once('/') {
            let net: IpAddr = net.parse().map_err(|_| wrong())?;
            let bits: u8 = bits.parse().map_err(|_| wrong())?;
            return if bits <= most(&net) { Ok(Self::Range(net, bits)) } else { Err(wrong()) };
        }
        let (host, port) = word.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().map_err(|_| wrong())?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._[]:".contains(c);
        match !host.is_empty() && host.chars().all(plain) {
            true => Ok(Self::Host(host.to_ascii_lowercase(), port)),
            false => Err(wrong()),
        }
    }
}

/// Why an address is not called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Barred {
    /// It never will be, as things are.
    Forbidden(String),
    /// It could not be told where it leads.
    Unknown(String),
}

impl fmt::Display for Barred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forbidden(why) | Self::Unknown(why) => f.write_str(why),
        }
    }
}

/// An address that may be called: where it leads was checked, and it leads nowhere else.
#[derive(Clone, Debug)]
pub(super) struct Checked {
    pub(super) url: Url,
    /// The host as it is written in the URL.
    pub(super) host: String,
    pub(super) to: Vec<SocketAddr>,
}

/// Checks where `url` leads now.
pub(super) async fn check(url: Url, allow: &Allow) -> Result<Checked, Barred> {
    let forbidden = |why: String| Err(Barred::Forbidden(why));
    if !matches!(url.scheme(), "http" | "https") {
        return forbidden(format!("{}: is not the web", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return forbidden("an address with a user name in it is not called".to_owned());
    }
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return forbidden("an address without a host leads nowhere".to_owned());
    };
    let host = host.to_owned();
    let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let found: Vec<SocketAddr> = match literal {
        Ok(ip) => vec![SocketAddr::new(ip, port)],
        Err(_) => match tokio::net::lookup_host((host.as_str(), port)).await {
            Ok(found) => found.collect(),
            Err(error) => return Err(Barred::Unknown(format!("cannot find {host}: {error}"))),
        },
    };
    let fits = |to: &&SocketAddr| is_public(to.ip()) || allow.allows(&host, **to);
    let to: Vec<SocketAddr> = found.iter().filter(fits).copied().collect();
    match (to.is_empty(), found.first()) {
        (true, Some(first)) => forbidden(format!(
            "{host} leads to {}, which [outgoing] in .baton/config.toml does not allow",
            first.ip()
        )),
        (true, None) => Err(Barred::Unknown(format!("{host} leads nowhere"))),
        (false, _) => Ok(Checked { url, host, to }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allow(words: &[&str]) -> Allow {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Allow::of(&words).expect("it allows something")
    }

    async fn checked(url: &str, allow: &Allow) -> Result<Checked, Barred> {
        check(url.parse().expect("an address"), allow).await
    }

    #[tokio::test]
    async fn whatever_is_not_the_public_network_is_not_called() {
        let forbidden = [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "[::]",
            "[::1]",
            "[::7f00:1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:8.8.8.8]",
            "[64:ff9b::7f00:1]",
            "[64:ff9b:1::1]",
            "[100::1]",
            "[2001::1]",
            "[2001:10::1]",
            "[2001:20::1]",
            "[2001:db8::1]",
            "[2002:7f00:1::]",
            "[3fff::1]",
            "[5f00::1]",
            "[fc00::1]",
            "[fd12::1]",
            "[fe80::1]",
            "[fec0::1]",
            "[ff02::1]",
            // The same as 127.0.0.1, as browsers read it.
            "0x7f.1",
            "2130706433",
            "0177.0.0.1",
            "127.1",
        ];
        for host in forbidden {
            let found = checked(&format!("http://{host}/hook"), &Allow::default()).await;
            assert!(matches!(found, Err(Barred::Forbidden(_))), "{host}: {found:?}");
        }
        for host in ["8.8.8.8", "100.63.255.255", "172.32.0.1", "[2606:4700::1111]"] {
            let found = checked(&format!("https://{host}/hook"), &Allow::default()).await;
            assert!(found.is_ok(), "{host}: {found:?}");
        }
    }

    #[tokio::test]
    async fn a_name_is_checked_by_where_it_leads() {
        let local = checked("http://localhost:8080/", &Allow::default()).await;
        assert!(matches!(local, Err(Barred::Forbidden(_))), "{local:?}");
        let by_range = checked("http://localhost:8080/", &allow(&["127.0.0.0/8", "::1"])).await;
        assert!(by_range.expect("allowed").to.iter().all(|to| to.ip().is_loopback()));
        assert!(checked("http://localhost:8080/", &allow(&["localhost:8080"])).await.is_ok());
        assert!(checked("http://localhost:8081/", &allow(&["localhost:8080"])).await.is_err());
        assert!(checked("http://LOCALHOST:8080/", &allow(&["localhost:8080"])).await.is_ok());
        // What is allowed for IPv4 is not allowed in disguise.
        assert!(checked("http://[::ffff:127.0.0.1]/", &allow(&["127.0.0.0/8"])).await.is_err());
        assert!(checked("http://someone@localhost:8080/", &allow(&["::/0"])).await.is_err());
        assert!(checked("file:///etc/passwd", &allow(&["0.0.0.0/0"])).await.is_err());
    }

    #[test]
    fn a_word_that_allows_nothing_is_named() {
        for bad in ["", "10.0.0.0/33", "::/129", "localhost", "localhost:http", "a b:80", "10/8"] {
            let refused = Allow::of(&[bad.to_owned()]);
            assert_eq!(refused, Err(AllowError { word: bad.to_owned() }));
        }
        assert!(Allow::of(&vec!["10.0.0.1".to_owned(); ALLOWED_MAX + 1]).is_err());
    }
}
