//! The reference page `docs/manifest.md`, made from the schema.

use std::fmt::Write as _;

use super::{Inside, Key, Mapping, ROOT, Standing};

const HEAD: &str = include_str!("reference.md");

/// The reference page of the manifest, `docs/manifest.md`, in Markdown.
pub fn reference_page() -> String {
    page(HEAD, &ROOT, Names { root: "The manifest", code: "E-MAN-003" })
}

/// What a page calls things.
pub(crate) struct Names {
    /// The title of the table of the outermost keys.
    pub(crate) root: &'static str,
    /// The code of a wrong value, where a key has none of its own.
    pub(crate) code: &'static str,
}

/// A page of everything that files of one kind may hold, in Markdown, below what stands at its top.
pub(crate) fn page(head: &str, root: &'static Mapping, names: Names) -> String {
    let mut out = head.to_owned();
    let mut seen: Vec<&str> = Vec::new();
    let mut later: Vec<(String, &str)> = Vec::new();
    section(root, &names, &mut out, &mut seen, &mut later);
    if later.is_empty() {
        return out;
    }
    out.push_str(
        "\n## Keys of later versions\n\nThey are warned about and have no effect.\n\n| key | since |\n|---|---|\n",
    );
    for (field, version) in later {
        line(&mut out, format_args!("| `{field}` | {version} |"));
    }
    out
}

fn section(
    mapping: &'static Mapping,
    names: &Names,
    out: &mut String,
    seen: &mut Vec<&'static str>,
    later: &mut Vec<(String, &'static str)>,
) {
    if seen.contains(&mapping.path) {
        return;
    }
    seen.push(mapping.path);
    let title = if mapping.path.is_empty() { names.root.to_owned() } else { format!("`{}`", mapping.path) };
    line(out, format_args!("\n## {title}\n"));
    if !mapping.about.is_empty() {
        line(out, format_args!("{}\n", mapping.about));
    }
    line(out, format_args!("| key | value | without it | meaning | a wrong value |\n|---|---|---|---|---|"));
    for key in mapping.keys.iter().filter(|key| key.standing == Standing::Read) {
        let code = if key.code.is_empty() { names.code } else { key.code };
        let Key { name, kind, default, meaning, .. } = key;
        line(out, format_args!("| `{name}` | {kind} | {default} | {meaning} | {code} |"));
    }
    for key in mapping.keys {
        match key.standing {
            Standing::Read | Standing::Packed | Standing::Elsewhere => {}
            Standing::Later(version) => later.push((field(mapping, key), version)),
            Standing::Refused(instead) => {
                line(out, format_args!("\n`{}` is refused: {instead}.", field(mapping, key)));
            }
        }
    }
    for key in mapping.keys {
        match key.inside {
            Inside::Plain => {}
            Inside::One(inner) | Inside::Each(inner) => section(inner, names, out, seen, later),
        }
    }
}

fn field(mapping: &Mapping, key: &Key) -> String {
    if mapping.path.is_empty() { key.name.to_owned() } else { format!("{}.{}", mapping.path, key.name) }
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // A string takes everything.
    let _ = writeln!(out, "{text}");
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_reference_page_is_what_the_schema_says() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/manifest.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, reference_page()).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == reference_page(),
            "docs/manifest.md is not what the schema says; run `UPDATE_DOCS=1 cargo test -p mur-runtime reference_page` and \
             read the difference"
        );
    }

    #[test]
    fn the_example_at_the_top_is_a_manifest_without_warnings() {
        let example = HEAD.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
        let reading = crate::manifest::Manifest::parse(Path::new("murmur.yaml"), example);
        assert_eq!(reading.warnings, []);
        assert_eq!(reading.outcome.unwrap().artifacts.len(), 3);
    }
}
