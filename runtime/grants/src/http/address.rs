//! Which addresses are of the public internet. Everything else is somebody's own machine or network, and a name
//! that leads there is refused, however it is written.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use super::name;

/// An address that was looked at and may be dialled: this one, and no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PermittedAddress(SocketAddr);

/// Networks that are not public and may be reached under some names, as the operator or the user says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks(BTreeMap<String, Vec<Network>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    prefix: u8,
}

impl PermittedAddress {
    pub(super) fn new(address: IpAddr, port: u16) -> Self {
        Self(SocketAddr::new(address, port))
    }

    /// The address.
    pub fn get(self) -> SocketAddr {
        self.0
    }
}

impl Networks {
    /// Lets a host lead into a network such as `10.0.0.0/8`. Tells what is wrong with either.
    pub fn add(&mut self, host: &str, network: &str) -> Result<(), String> {
        let name = name::canonical_in_any_script(host).ok_or_else(|| format!("`{host}` is no name of a host"))?;
        let network = Network::parse(network)
            .ok_or_else(|| format!("`{network}` is no network; write an address, or `10.0.0.0/8`"))?;
        self.0.entry(name).or_default().push(network);
        Ok(())
    }

    pub(super) fn allow(&self, name: &str, address: IpAddr) -> bool {
        self.0.get(name).is_some_and(|networks| networks.iter().any(|network| network.contains(address)))
    }
}

impl Network {
    fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address.parse().ok()?, prefix.parse().ok()?),
            None => {
                let address: IpAddr = text.parse().ok()?;
                (address, if address.is_ipv4() { 32 } else { 128 })
            }
        };
        (prefix <= if address.is_ipv4() { 32 } else { 128 }).then_some(Self { address, prefix })
    }

    fn contains(self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => within4(other, own, self.prefix),
            (IpAddr::V6(own), IpAddr::V6(other)) => within6(other, own, self.prefix),
            _ => false,
        }
    }
}

/// What an address is, if it is none of the public internet.
pub(super) fn kept_back(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => kept_back4(address),
        IpAddr::V6(address) => kept_back6(address),
    }
}

const PRIVATE: &str = "an address of a private network";
const LOOPBACK: &str = "an address of this machine";
const LINK: &str = "an address of the local link, where clouds keep a machine's metadata";
const RESERVED: &str = "an address that is reserved";

fn kept_back4(address: Ipv4Addr) -> Option<&'static str> {
    const NETWORKS: [([u8; 4], u8, &str); 16] = [
        ([0, 0, 0, 0], 8, LOOPBACK),
        ([10, 0, 0, 0], 8, PRIVATE),
        ([100, 64, 0, 0], 10, PRIVATE),
        ([127, 0, 0, 0], 8, LOOPBACK),
        ([168, 63, 129, 16], 32, LINK),
        ([169, 254, 0, 0], 16, LINK),
        ([172, 16, 0, 0], 12, PRIVATE),
        ([192, 0, 0, 0], 24, RESERVED),
        ([192, 0, 2, 0], 24, RESERVED),
        ([192, 88, 99, 0], 24, RESERVED),
        ([192, 168, 0, 0], 16, PRIVATE),
        ([198, 18, 0, 0], 15, PRIVATE),
        ([198, 51, 100, 0], 24, RESERVED),
        ([203, 0, 113, 0], 24, RESERVED),
        ([224, 0, 0, 0], 4, "an address for many"),
        ([240, 0, 0, 0], 4, RESERVED),
    ];
    let found = NETWORKS.iter().find(|(network, prefix, _)| within4(address, Ipv4Addr::from(*network), *prefix));
    found.map(|(_, _, kind)| *kind)
}

fn kept_back6(address: Ipv6Addr) -> Option<&'static str> {
    let [a, b, c, d, e, f, high, low] = address.segments();
    let embedded = Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match [a, b, c, d, e, f] {
        // `::1`, `::` and `::127.0.0.1`: none of them is used by anybody but this machine.
        [0, 0, 0, 0, 0, 0] => return Some(LOOPBACK),
        // An IPv4 address in its own clothes, behind a translator or behind NAT64.
        [0, 0, 0, 0, 0, 0xffff] | [0, 0, 0, 0, 0xffff, 0] | [0x64, 0xff9b, 0, 0, 0, 0] => return kept_back4(embedded),
        _ => {}
    }
    const NETWORKS: [(u16, u16, u8, &str); 8] = [
        (0xfe80, 0, 10, LINK),
        (0xfec0, 0, 10, PRIVATE),
        (0xfc00, 0, 7, PRIVATE),
        (0xff00, 0, 8, "an address for many"),
        (0x2001, 0, 23, RESERVED),
        (0x2001, 0xdb8, 32, RESERVED),
        // An IPv4 address in disguise; what it leads to is decided by routers on the way.
        (0x2002, 0, 16, RESERVED),
        (0x3fff, 0, 20, RESERVED),
    ];
    let network = |first: u16, second: u16| Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0);
    let found = NETWORKS.iter().find(|(first, second, prefix, _)| within6(address, network(*first, *second), *prefix));
    // What is not handed out yet is nobody's.
    let is_unicast = within6(address, network(0x2000, 0), 3);
    found.map(|(.., kind)| *kind).or((!is_unicast).then_some(RESERVED))
}

fn within4(address: Ipv4Addr, network: Ipv4Addr, prefix: u8) -> bool {
    let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
    u32::from(address) & mask == u32::from(network) & mask
}

fn within6(address: Ipv6Addr, network: Ipv6Addr, prefix: u8) -> bool {
    let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
    u128::from(address) & mask == u128::from(network) & mask
}
