//! Platforms of native artifacts, and for which of them a binary is.

use std::fmt;
use std::str::FromStr;

/// A platform that native artifacts are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Platform {
    /// macOS on Apple's processors.
    DarwinAarch64,
    /// macOS on Intel's.
    DarwinX86_64,
    /// Linux on 64-bit ARM.
    LinuxAarch64,
    /// Linux on x86-64.
    LinuxX86_64,
}

/// A text that is no platform's tag. The message completes "`text` …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not one of darwin-aarch64, darwin-x86_64, linux-aarch64, linux-x86_64")]
pub struct UnknownPlatform;

impl Platform {
    /// Every platform, in the order of their tags.
    pub const ALL: [Self; 4] = [Self::DarwinAarch64, Self::DarwinX86_64, Self::LinuxAarch64, Self::LinuxX86_64];

    /// The one that this program runs on; `None` where artifacts are made for no such platform.
    pub fn host() -> Option<Self> {
        let os = match std::env::consts::OS {
            "macos" => "darwin",
            other => other,
        };
        Self::ALL.into_iter().find(|platform| platform.parts() == [os, std::env::consts::ARCH])
    }

    /// Its tag in file names and locks.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::DarwinAarch64 => "darwin-aarch64",
            Self::DarwinX86_64 => "darwin-x86_64",
            Self::LinuxAarch64 => "linux-aarch64",
            Self::LinuxX86_64 => "linux-x86_64",
        }
    }

    /// Operating system and processor, as in metadata.
    pub const fn parts(self) -> [&'static str; 2] {
        match self {
            Self::DarwinAarch64 => ["darwin", "aarch64"],
            Self::DarwinX86_64 => ["darwin", "x86_64"],
            Self::LinuxAarch64 => ["linux", "aarch64"],
            Self::LinuxX86_64 => ["linux", "x86_64"],
        }
    }
}

impl FromStr for Platform {
    type Err = UnknownPlatform;

    fn from_str(text: &str) -> Result<Self, UnknownPlatform> {
        Self::ALL.into_iter().find(|platform| platform.tag() == text).ok_or(UnknownPlatform)
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.tag())
    }
}

/// What the first bytes of an executable file say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Header {
    /// It is for these platforms.
    For(Vec<Platform>),
    /// It is a binary for something else.
    Foreign(String),
    /// It is of no known format, for example a script: nothing is known of it.
    Unverified,
}

impl Header {
    pub(super) fn of(bytes: &[u8]) -> Self {
        match bytes {
            [0x7f, b'E', b'L', b'F', ..] => elf(bytes),
            [0xcf, 0xfa, 0xed, 0xfe, rest @ ..] => match word(rest, u32::from_le_bytes).map(mach_processor) {
                Some(Ok(platform)) => Self::For(vec![platform]),
                Some(Err(other)) => Self::Foreign(format!("macOS on processor type {other}")),
                None => Self::Foreign("a Mach-O file that is cut off".to_owned()),
            },
            [0xca, 0xfe, 0xba, 0xbe, rest @ ..] => universal(rest),
            _ => Self::Unverified,
        }
    }

    /// Whether the binary may run on `platform`, as far as its header says.
    pub(super) fn fits(&self, platform: Platform) -> bool {
        match self {
            Self::For(platforms) => platforms.contains(&platform),
            Self::Foreign(_) => false,
            Self::Unverified => true,
        }
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::For(platforms) => {
                f.write_str(&platforms.iter().map(|platform| platform.tag()).collect::<Vec<_>>().join(" and "))
            }
            Self::Foreign(what) => f.write_str(what),
            Self::Unverified => f.write_str("an unknown format"),
        }
    }
}

fn word(bytes: &[u8], order: fn([u8; 4]) -> u32) -> Option<u32> {
    bytes.first_chunk().map(|word| order(*word))
}

fn elf(bytes: &[u8]) -> Header {
    let (Some(class), Some(order), Some(abi), Some(machine)) =
        (bytes.get(4), bytes.get(5), bytes.get(7), bytes.get(18..20))
    else {
        return Header::Foreign("an ELF file that is cut off".to_owned());
    };
    // Little endian in both processors that there are tags for.
    let machine = u16::from_le_bytes([machine[0], machine[1]]);
    // 0 is what most linkers write for Linux, 3 is Linux by name.
    match (class, order, abi, machine) {
        (2, 1, 0 | 3, 62) => Header::For(vec![Platform::LinuxX86_64]),
        (2, 1, 0 | 3, 183) => Header::For(vec![Platform::LinuxAarch64]),
        _ => Header::Foreign(format!("an ELF file of system {abi} and machine {machine}")),
    }
}

fn mach_processor(kind: u32) -> Result<Platform, u32> {
    match kind {
        0x0100_0007 => Ok(Platform::DarwinX86_64),
        0x0100_000c => Ok(Platform::DarwinAarch64),
        other => Err(other),
    }
}

/// A file with code for several processors. The same first bytes begin a Java class, which counts no processors there.
fn universal(rest: &[u8]) -> Header {
    const MOST: u32 = 30;
    const RECORD: usize = 20;
    let Some(count) = word(rest, u32::from_be_bytes).filter(|count| (1..=MOST).contains(count)) else {
        return Header::Unverified;
    };
    let records = rest[4..].chunks_exact(RECORD).take(count as usize);
    let platforms: Vec<Platform> =
        records.filter_map(|record| mach_processor(word(record, u32::from_be_bytes)?).ok()).collect();
    if platforms.is_empty() {
        return Header::Foreign("macOS on other processors".to_owned());
    }
    Header::For(platforms)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn elf_of(class: u8, abi: u8, machine: u16) -> Vec<u8> {
        let mut bytes = vec![0x7f, b'E', b'L', b'F', class, 1, 1, abi, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0];
        bytes.extend(machine.to_le_bytes());
        bytes
    }

    #[test]
    fn a_tag_names_one_platform() {
        for platform in Platform::ALL {
            assert_eq!(platform.tag().parse(), Ok(platform));
            assert_eq!(platform.parts().join("-"), platform.tag());
        }
        assert_eq!("windows-x86_64".parse::<Platform>(), Err(UnknownPlatform));
    }

    #[test]
    fn a_header_tells_the_platform_or_that_nothing_is_known() {
        use Platform::{DarwinAarch64, DarwinX86_64, LinuxAarch64, LinuxX86_64};
        let mach = |kind: u32| [vec![0xcf, 0xfa, 0xed, 0xfe], kind.to_le_bytes().to_vec()].concat();
        let record = |kind: u32| [kind.to_be_bytes().to_vec(), vec![0; 16]].concat();
        let fat = |records: &[u32]| {
            let head = [vec![0xca, 0xfe, 0xba, 0xbe], (records.len() as u32).to_be_bytes().to_vec()].concat();
            records.iter().fold(head, |bytes, kind| [bytes, record(*kind)].concat())
        };
        let shown = |bytes: &[u8]| Header::of(bytes).to_string();
        assert_eq!(Header::of(&elf_of(2, 0, 62)), Header::For(vec![LinuxX86_64]));
        assert_eq!(Header::of(&elf_of(2, 3, 183)), Header::For(vec![LinuxAarch64]));
        assert_eq!(Header::of(&mach(0x0100_0007)), Header::For(vec![DarwinX86_64]));
        assert_eq!(Header::of(&fat(&[0x0100_0007, 0x0100_000c])), Header::For(vec![DarwinX86_64, DarwinAarch64]));
        assert_eq!(shown(&elf_of(2, 9, 62)), "an ELF file of system 9 and machine 62");
        assert_eq!(shown(&elf_of(1, 0, 3)), "an ELF file of system 0 and machine 3");
        assert_eq!(shown(b"\x7fELF"), "an ELF file that is cut off");
        assert_eq!(shown(&mach(7)), "macOS on processor type 7");
        assert_eq!(shown(&fat(&[7])), "macOS on other processors");
        // A Java class: its version stands where the processors are counted.
        for bytes in
            [&b"#!/bin/sh\n"[..], b"", b"MZ", &[0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 61], &[0xca, 0xfe, 0xba, 0xbe]]
        {
            assert_eq!(Header::of(bytes), Header::Unverified);
        }
    }
}
