//! Which keys a manifest may hold, mapping by mapping: as data, of which the warnings about unknown keys and the reference
//! page are made.
//!
//! What a key's value may be is known where it is read. A key that is read and not listed here would be warned about, so
//! the two cannot drift apart unnoticed.

mod agent;
mod capabilities;
mod reference;
mod root;

pub(crate) use capabilities::{
    ARTIFACT_CAPABILITIES, CAPABILITIES, FILESYSTEM, LIMITS, NETWORK_ALLOW, RESOURCES, SHELL,
};
pub use reference::reference_page;
pub(crate) use reference::{Names, page};
pub(crate) use root::{ARTIFACT, GATEWAY, ROOT};

/// One mapping and its known keys.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// Its path from the root, as the reference page heads it; empty for the root.
    pub(crate) path: &'static str,
    /// What it is for, in a sentence or two.
    pub(crate) about: &'static str,
    /// The keys, in the order in which people read them.
    pub(crate) keys: &'static [Key],
}

/// One key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    /// The type in words.
    pub(crate) kind: &'static str,
    /// What holds without it; `required` where there is no such thing.
    pub(crate) default: &'static str,
    /// What it means, in a sentence.
    pub(crate) meaning: &'static str,
    pub(crate) standing: Standing,
    pub(crate) inside: Inside,
    /// The code of a wrong value, where it is not that of every wrong value.
    pub(crate) code: &'static str,
}

/// What becomes of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is read.
    Read,
    /// It describes the file as a packed artifact, which the same file may be; silently passed over.
    Packed,
    /// It describes a packed artifact of another role, and has no effect here.
    Elsewhere,
    /// It belongs to this later version of the format, and has no effect.
    Later(&'static str),
    /// It is refused, with what to write instead.
    Refused(&'static str),
}

/// What a key's value holds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Inside {
    /// A scalar, a list of scalars, or a mapping whose keys are free.
    Plain,
    /// This mapping.
    One(&'static Mapping),
    /// A list of this mapping.
    Each(&'static Mapping),
}

/// A key that is read.
pub(crate) const fn key(name: &'static str, kind: &'static str, default: &'static str, meaning: &'static str) -> Key {
    Key { name, kind, default, meaning, standing: Standing::Read, inside: Inside::Plain, code: "" }
}

/// A key that describes the file as a packed artifact.
const fn packed(name: &'static str, meaning: &'static str) -> Key {
    Key { standing: Standing::Packed, ..key(name, "", "", meaning) }
}

/// A key that describes a packed artifact of another role.
const fn elsewhere(name: &'static str, meaning: &'static str) -> Key {
    Key { standing: Standing::Elsewhere, ..key(name, "", "", meaning) }
}

/// A key of a later version of the format.
const fn later(name: &'static str, version: &'static str) -> Key {
    Key { standing: Standing::Later(version), ..key(name, "", "", "") }
}

/// A key that is refused.
const fn refused(name: &'static str, instead: &'static str) -> Key {
    Key { standing: Standing::Refused(instead), ..key(name, "", "", "") }
}

impl Key {
    pub(crate) const fn one(self, mapping: &'static Mapping) -> Self {
        Self { inside: Inside::One(mapping), ..self }
    }

    pub(crate) const fn each(self, mapping: &'static Mapping) -> Self {
        Self { inside: Inside::Each(mapping), ..self }
    }

    const fn code(self, code: &'static str) -> Self {
        Self { code, ..self }
    }
}

/// Tool names that the runtime itself answers to.
pub(crate) const RESERVED_TOOLS: [&str; 4] = ["share-file", "fetch-peer-file", "delegate-task", "submit-plan"];

impl Mapping {
    /// The known key of this name.
    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// The keys of what the key of this name holds; none, where that is no mapping.
    pub(crate) fn inside(&self, name: &str) -> &'static Mapping {
        static FREE: Mapping = Mapping { path: "", about: "", keys: &[] };
        match self.key(name).map(|key| key.inside) {
            Some(Inside::One(inner) | Inside::Each(inner)) => inner,
            Some(Inside::Plain) | None => &FREE,
        }
    }

    /// The known key that was probably meant by `unknown`: the nearest one, if it is near enough.
    ///
    /// Near enough is one slip of the fingers, or one for every three characters.
    pub(crate) fn nearest(&self, unknown: &str) -> Option<&'static str> {
        let characters: Vec<char> = unknown.chars().collect();
        let allowed = (characters.len() / 3).max(1);
        let meant = |key: &&Key| matches!(key.standing, Standing::Read | Standing::Packed);
        let known = self.keys.iter().filter(meant).map(|key| key.name);
        known
            // Lengths that differ by more are no nearer than that, and a long key is not worth a quadratic comparison.
            .filter(|name| name.len().abs_diff(characters.len()) <= allowed)
            .map(|name| (distance(&characters, &name.chars().collect::<Vec<_>>()), name))
            .filter(|(distance, _)| *distance <= allowed)
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, name)| name)
    }
}

/// The Damerau-Levenshtein distance: insertions, deletions, substitutions, and swaps of what then are neighbours.
fn distance(a: &[char], b: &[char]) -> usize {
    // `rows[i + 1][j + 1]` is the distance of the first `i` characters of `a` from the first `j` of `b`. The extra row
    // and column stand for "no earlier occurrence": no swap is ever cheaper than their value.
    let never = a.len() + b.len();
    let mut rows = vec![vec![never; b.len() + 2]; a.len() + 2];
    for i in 0..=a.len() {
        rows[i + 1][1] = i;
    }
    for j in 0..=b.len() {
        rows[1][j + 1] = j;
    }
    for i in 1..=a.len() {
        let mut matched_in_b = 0;
        for j in 1..=b.len() {
            let last_in_a = a[..i - 1].iter().rposition(|&c| c == b[j - 1]).map_or(0, |position| position + 1);
            let last_in_b = matched_in_b;
            let substitution = if a[i - 1] == b[j - 1] {
                matched_in_b = j;
                0
            } else {
                1
            };
            let swap = rows[last_in_a][last_in_b] + (i - last_in_a - 1) + 1 + (j - last_in_b - 1);
            rows[i + 1][j + 1] = (rows[i][j] + substitution).min(rows[i + 1][j] + 1).min(rows[i][j + 1] + 1).min(swap);
        }
    }
    rows[a.len() + 1][b.len() + 1]
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn between(a: &str, b: &str) -> usize {
        distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>())
    }

    #[test]
    fn the_distance_counts_slips_of_each_kind() {
        assert_eq!(between("", ""), 0);
        assert_eq!(between("name", "name"), 0);
        assert_eq!(between("", "name"), 4);
        assert_eq!(between("nam", "name"), 1);
        assert_eq!(between("names", "name"), 1);
        assert_eq!(between("nime", "name"), 1);
        assert_eq!(between("naem", "name"), 1);
        assert_eq!(between("ca", "abc"), 2);
        assert_eq!(between("kitten", "sitting"), 3);
    }

    #[test]
    fn the_nearest_key_is_named_only_when_it_is_near() {
        assert_eq!(ROOT.nearest("artifcats"), Some("artifacts"));
        assert_eq!(ROOT.nearest("Name"), Some("name"));
        assert_eq!(ROOT.nearest("capabilites"), Some("capabilities"));
        assert_eq!(ROOT.nearest("x"), None);
        assert_eq!(ROOT.nearest("author"), None);
        assert_eq!(ROOT.nearest(&"name".repeat(10_000)), None);
        assert_eq!(LIMITS.nearest("memory_byte"), Some("memory_bytes"));
        assert_eq!(FILESYSTEM.nearest(""), None);
    }

    /// Every mapping, the root first.
    fn all() -> Vec<&'static Mapping> {
        let mut mappings = vec![&ROOT];
        let mut next = 0;
        while let Some(mapping) = mappings.get(next).copied() {
            for key in mapping.keys {
                match key.inside {
                    Inside::Plain => {}
                    Inside::One(inner) | Inside::Each(inner) => mappings.push(inner),
                }
            }
            next += 1;
        }
        mappings
    }

    #[test]
    fn no_key_is_listed_twice() {
        for mapping in all() {
            let mut seen = HashSet::new();
            for key in mapping.keys {
                assert!(seen.insert(key.name), "{}.{}", mapping.path, key.name);
            }
        }
    }

    #[test]
    fn every_key_that_is_read_says_what_it_is() {
        for mapping in all() {
            for key in mapping.keys.iter().filter(|key| key.standing == Standing::Read) {
                let said = [key.kind, key.default, key.meaning];
                assert!(said.iter().all(|text| !text.is_empty()), "{}.{}", mapping.path, key.name);
                assert!(key.meaning.ends_with('.'), "{}.{}", mapping.path, key.name);
            }
        }
    }
}
