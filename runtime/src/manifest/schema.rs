//! Which keys a manifest may hold, mapping by mapping, and what this version does with each.
//!
//! Three kinds of known keys keep a manifest honest. What is *read* takes effect. What is *accepted* describes the file
//! to something else (a packed artifact's own manifest may be run as it is) and cannot change what a session may do.
//! Everything else that manifests can say is *unsupported* and refused: to ignore a restriction would be unsafe, and to
//! ignore a grant would surprise. A key that is none of these is unknown: it is warned about, with the nearest known one.

/// What happens to a known key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    Read,
    Accepted,
    Unsupported,
}

use Treatment::{Accepted, Read, Unsupported};

/// One mapping of the manifest and its known keys.
#[derive(Debug)]
pub(super) struct Mapping {
    keys: &'static [(Treatment, &'static [&'static str])],
}

/// The manifest itself.
pub(super) const ROOT: Mapping = Mapping {
    keys: &[
        (Read, &["name", "version", "artifacts", "capabilities"]),
        (
            Accepted,
            &["runtime", "implementation", "execution", "requires_files", "description", "tags", "input_schema"],
        ),
        (
            Unsupported,
            &[
                "inference",
                "context",
                "observability",
                "trace",
                "network",
                "lifecycle",
                "exports",
                "control",
                "deploy",
                "mur_version",
                "config",
                "registry",
                // A packed artifact's own, with an effect that is not there.
                "upstream_auth",
                "models",
                "binding",
                "execution_mode",
                "commit_policy",
            ],
        ),
    ],
};

/// `artifacts[]`.
pub(super) const ARTIFACT: Mapping = Mapping {
    keys: &[
        (Read, &["name", "version", "runtime", "source", "local_source"]),
        (Unsupported, &["prompt_payload", "capabilities", "config", "gateway", "on_overflow"]),
    ],
};

/// `capabilities`.
pub(super) const CAPABILITIES: Mapping = Mapping {
    keys: &[
        (Read, &["filesystem", "limits", "containment"]),
        (
            Unsupported,
            &[
                "network",
                "peer_fetch",
                "shell",
                "spawn",
                "env",
                "resources",
                "state",
                "task_io",
                "conversation",
                "plan",
                "install",
            ],
        ),
    ],
};

/// `capabilities.filesystem`.
pub(super) const FILESYSTEM: Mapping =
    Mapping { keys: &[(Read, &["scope"]), (Unsupported, &["read_only", "workdir_exec", "records"])] };

/// `capabilities.limits`.
pub(super) const LIMITS: Mapping =
    Mapping { keys: &[(Read, &["memory_bytes", "table_elements", "instances", "deadline_seconds"])] };

/// The words that `artifacts[].runtime` may hold. `tool` is the one that this version runs.
pub(super) const ROLES: [&str; 4] = ["tool", "driver", "hook", "skill"];

/// Tool names that the runtime itself answers to.
pub(super) const RESERVED_TOOLS: [&str; 4] = ["share-file", "fetch-peer-file", "delegate-task", "submit-plan"];

impl Mapping {
    /// What happens to `key`; `None` if it is unknown.
    pub(super) fn treatment(&self, key: &str) -> Option<Treatment> {
        self.keys.iter().find(|(_, names)| names.contains(&key)).map(|(treatment, _)| *treatment)
    }

    /// The keys that are refused.
    #[cfg(test)]
    pub(super) fn unsupported(&self) -> impl Iterator<Item = &'static str> {
        let refused = self.keys.iter().filter(|(treatment, _)| *treatment == Unsupported);
        refused.flat_map(|(_, names)| names.iter().copied())
    }

    /// The known key that was probably meant by `unknown`: the nearest one, if it is near enough.
    ///
    /// Near enough is one slip of the fingers, or one for every three characters.
    pub(super) fn nearest(&self, unknown: &str) -> Option<&'static str> {
        let characters: Vec<char> = unknown.chars().collect();
        let allowed = (characters.len() / 3).max(1);
        let known = self.keys.iter().flat_map(|(_, names)| names.iter().copied());
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

    #[test]
    fn no_key_is_listed_twice() {
        for mapping in [ROOT, ARTIFACT, CAPABILITIES, FILESYSTEM, LIMITS] {
            let mut seen = HashSet::new();
            for key in mapping.keys.iter().flat_map(|(_, names)| names.iter()) {
                assert!(seen.insert(key), "{key}");
            }
        }
    }
}
