//! Which addresses belong to the machine, its networks or nobody, and which to the internet.
//! Pure; knows no grants.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where the machines of one large cloud ask about themselves. It looks like a public address.
const CLOUD_METADATA_PUBLIC: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

/// What an address is for, when it is not the internet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reserved {
    /// Means "any" or "this machine", depending on who reads it.
    Unspecified,
    /// This machine.
    Loopback,
    /// A network behind a router: RFC 1918, IPv6 unique and site local.
    Private,
    /// The cable; also where clouds keep their metadata.
    LinkLocal,
    /// Shared by the customers of a carrier.
    CarrierGrade,
    /// What a cloud tells its machines about themselves.
    Metadata,
    /// Many receivers at once.
    Multicast,
    /// For books.
    Documentation,
    /// An IPv4 address inside an IPv6 one: mapped, 6to4, Teredo, translated.
    Embedded,
    /// Kept by the internet's registry for protocols, benchmarks or later.
    Special,
}

impl Reserved {
    /// Whether a grant of exactly this address can open it. Those that stand for another
    /// address can't be granted: write that other address.
    pub fn grantable(self) -> bool {
        !matches!(self, Self::Unspecified | Self::Embedded | Self::Multicast)
    }
}

impl fmt::Display for Reserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "an unspecified address",
            Self::Loopback => "a loopback address",
            Self::Private => "a private address",
            Self::LinkLocal => "a link-local address",
            Self::CarrierGrade => "a carrier's shared address",
            Self::Metadata => "a cloud's metadata address",
            Self::Multicast => "a multicast address",
            Self::Documentation => "a documentation address",
            Self::Embedded => "an IPv4 address inside an IPv6 one",
            Self::Special => "a reserved address",
        })
    }
}

/// What an address is reserved for; `None` for the internet.
pub fn reserved(address: IpAddr) -> Option<Reserved> {
    match address {
        IpAddr::V4(address) => reserved_v4(address),
        IpAddr::V6(address) => reserved_v6(address),
    }
}

fn reserved_v4(address: Ipv4Addr) -> Option<Reserved> {
    if address == CLOUD_METADATA_PUBLIC {
        return Some(Reserved::Metadata);
    }
    Some(match address.octets() {
        [0, ..] => Reserved::Unspecified,
        [127, ..] => Reserved::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Reserved::Private,
        [169, 254, ..] => Reserved::LinkLocal,
        [100, 64..=127, ..] => Reserved::CarrierGrade,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Reserved::Documentation,
        [192, 0, 0, _] | [192, 88, 99, _] | [198, 18..=19, ..] | [240..=255, ..] => {
            Reserved::Special
        }
        [224..=239, ..] => Reserved::Multicast,
        _ => return None,
    })
}

/// An allow-list: of IPv6 only global unicast (2000::/3) is in use on the internet, so what a
/// later standard carves out of the rest is closed before we have heard of it.
fn reserved_v6(address: Ipv6Addr) -> Option<Reserved> {
    Some(match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Reserved::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => Reserved::Loopback,
        // The translator's well-known prefix: networks without IPv4 reach the whole IPv4
        // internet by it, so what counts is the address inside.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            let [a, b] = high.to_be_bytes();
            let [c, d] = low.to_be_bytes();
            return reserved_v4(Ipv4Addr::new(a, b, c, d)).map(|_| Reserved::Embedded);
        }
        // Mapped, compatible and translated IPv4, and translators' local prefixes.
        [0, ..] | [0x64, 0xff9b, ..] | [0x2002, ..] | [0x2001, 0, ..] => Reserved::Embedded,
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => Reserved::Documentation,
        [0x2001, 1..=0x1ff, ..] => Reserved::Special,
        [0x2000..=0x3fff, ..] => return None,
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Reserved::Private,
        [0xfe80..=0xfebf, ..] => Reserved::LinkLocal,
        [0xff00..=0xffff, ..] => Reserved::Multicast,
        _ => Reserved::Special,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_reserved_range_is_known_at_both_ends_and_its_neighbours_are_not() {
        let class = |text: &str| reserved(text.parse().unwrap());
        for (text, want) in [
            ("0.0.0.0", Reserved::Unspecified),
            ("0.255.255.255", Reserved::Unspecified),
            ("10.0.0.0", Reserved::Private),
            ("10.255.255.255", Reserved::Private),
            ("100.64.0.0", Reserved::CarrierGrade),
            ("100.127.255.255", Reserved::CarrierGrade),
            ("127.0.0.1", Reserved::Loopback),
            ("127.255.255.255", Reserved::Loopback),
            ("169.254.169.254", Reserved::LinkLocal),
            ("172.16.0.0", Reserved::Private),
            ("172.31.255.255", Reserved::Private),
            ("192.0.0.192", Reserved::Special),
            ("192.0.2.1", Reserved::Documentation),
            ("192.88.99.1", Reserved::Special),
            ("192.168.255.255", Reserved::Private),
            ("198.18.0.0", Reserved::Special),
            ("198.19.255.255", Reserved::Special),
            ("198.51.100.7", Reserved::Documentation),
            ("203.0.113.7", Reserved::Documentation),
            ("224.0.0.1", Reserved::Multicast),
            ("240.0.0.0", Reserved::Special),
            ("255.255.255.255", Reserved::Special),
            ("168.63.129.16", Reserved::Metadata),
            ("::", Reserved::Unspecified),
            ("::1", Reserved::Loopback),
            ("::2", Reserved::Embedded),
            ("::127.0.0.1", Reserved::Embedded),
            ("::ffff:8.8.8.8", Reserved::Embedded),
            ("::ffff:0:8.8.8.8", Reserved::Embedded),
            ("64:ff9b::10.0.0.1", Reserved::Embedded),
            ("64:ff9b:1::8.8.8.8", Reserved::Embedded),
            ("100::1", Reserved::Special),
            ("2001::1", Reserved::Embedded),
            ("2001:2::1", Reserved::Special),
            ("2001:1ff:ffff::", Reserved::Special),
            ("2001:db8::1", Reserved::Documentation),
            ("2002:7f00:1::", Reserved::Embedded),
            ("3fff:fff::1", Reserved::Documentation),
            ("4000::1", Reserved::Special),
            ("5f00::1", Reserved::Special),
            ("fc00::1", Reserved::Private),
            ("fd00:ec2::254", Reserved::Private),
            ("fe80::1", Reserved::LinkLocal),
            ("fec0::1", Reserved::Private),
            ("ff02::1", Reserved::Multicast),
        ] {
            assert_eq!(class(text), Some(want), "{text}");
        }
        for public in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.0.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "168.63.129.15",
            "2001:200::1",
            "2606:4700::1111",
            "3fff:1000::1",
            "64:ff9b::8.8.8.8",
        ] {
            assert_eq!(class(public), None, "{public}");
        }
    }

    proptest! {
        #[test]
        fn an_address_that_std_calls_local_is_never_the_internet(bits: u32) {
            let address = Ipv4Addr::from_bits(bits);
            let local = address.is_loopback() || address.is_private() || address.is_link_local()
                || address.is_multicast() || address.is_broadcast() || address.is_unspecified()
                || address.is_documentation();
            prop_assert!(!local || reserved(address.into()).is_some());
        }

        #[test]
        fn an_ipv4_address_inside_an_ipv6_one_is_never_more_open_than_itself(bits: u32) {
            let [high, low] = [(bits >> 16) as u16, bits as u16];
            for inside in [
                [0, 0, 0, 0, 0, 0xffff, high, low],
                [0, 0, 0, 0, 0, 0, high, low],
                [0, 0, 0, 0, 0xffff, 0, high, low],
                [0x64, 0xff9b, 0, 0, 0, 0, high, low],
                [0x64, 0xff9b, 1, 0, 0, 0, high, low],
                [0x2002, high, low, 0, 0, 0, 0, 1],
                [0x2001, 0, 0, 0, 0, 0, !high, !low],
            ] {
                let open = reserved(Ipv6Addr::from(inside).into()).is_none();
                prop_assert!(!open || reserved(Ipv4Addr::from_bits(bits).into()).is_none());
            }
        }
    }
}
