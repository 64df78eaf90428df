//! IPv4 addresses that an IPv6 address leads to.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The IPv4 addresses inside an IPv6 address: mapped, compatible and translated ones (RFC 4291, 2765), those of NAT64
/// (RFC 6052), 6to4 (RFC 3056), ISATAP (RFC 5214) and both ends of a Teredo tunnel (RFC 4380).
#[must_use]
pub fn embedded(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let join = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Vec::new(),
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..]
        | [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => vec![join(high, low)],
        [0x2001, 0, server_high, server_low, _, _, high, low] => {
            vec![join(server_high, server_low), join(!high, !low)]
        }
        _ => Vec::new(),
    }
}

/// Whether an IPv6 address is one that translators of a local network use (RFC 8215). Where in it the IPv4 address is, is
/// known to that network alone.
#[must_use]
pub fn is_local_translation(address: Ipv6Addr) -> bool {
    matches!(address.segments(), [0x64, 0xff9b, 1, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_an_older_address_is_known() {
        let private = Ipv4Addr::new(10, 0, 0, 1);
        for text in [
            "::10.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:0:10.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:a00:1::1",
            "2001:db8::5efe:10.0.0.1",
            "2001:0:a00:1::",
            "2001:0:808:808:0:0:f5ff:fffe",
        ] {
            let address: Ipv6Addr = text.parse().unwrap();
            assert!(embedded(address).contains(&private), "{text}");
        }
        for text in ["::", "::1", "2606:4700::1111", "fd00::a00:1"] {
            let address: Ipv6Addr = text.parse().unwrap();
            assert!(embedded(address).is_empty(), "{text}");
        }
    }
}
