//! Tables on stdout: columns as wide as their widest cell, every cell escaped.

use mur_seal::escape;

/// The rows under their headings. Nothing stands behind the last cell of a row.
pub(crate) fn render(headings: &[&str], rows: &[Vec<String>]) -> String {
    let escaped: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| escape(cell).into_owned()).collect()).collect();
    let headings: Vec<String> = headings.iter().map(|heading| (*heading).to_owned()).collect();
    let all: Vec<&Vec<String>> = std::iter::once(&headings).chain(&escaped).collect();
    let width = |column: usize| {
        all.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |row: &&Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    all.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_cells_cannot_steer_the_terminal() {
        let rows = [vec!["a".to_owned(), "first\u{1b}[2J".to_owned()], vec!["long-name".to_owned(), String::new()]];
        insta::assert_snapshot!(render(&["NAME", "WHAT"], &rows), @r"
        NAME       WHAT
        a          first\u{1b}[2J
        long-name
        ");
    }
}
