//! The reference page `docs/configuration.md`, made from the schema.

use super::schema::ROOT;
use crate::manifest::schema::{Names, page};

const HEAD: &str = include_str!("reference.md");

/// The reference page of the configuration, `docs/configuration.md`, in Markdown.
pub fn reference_page() -> String {
    page(HEAD, &ROOT, Names { root: "The file", code: "E-CFG-003" })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_reference_page_is_what_the_schema_says() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, reference_page()).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == reference_page(),
            "docs/configuration.md is not what the schema says; run `UPDATE_DOCS=1 cargo test -p mur-runtime reference_page` \
             and read the difference"
        );
    }

    #[test]
    fn the_example_at_the_top_is_a_configuration_without_warnings() {
        let home = tempfile::tempdir().unwrap();
        let example = HEAD.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
        let path = crate::config::global_file(home.path());
        std::fs::write(&path, example).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let reading = crate::config::Config::load(home.path(), home.path());
        assert_eq!(reading.warnings, []);
        assert_eq!(reading.outcome.unwrap().registry.sources.len(), 2);
    }
}
