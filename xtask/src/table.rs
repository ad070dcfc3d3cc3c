//! Columns that line up, and durations and sizes that people can read.

use std::time::Duration;

/// Rows of text, each column as wide as its widest cell, indented by two spaces, no trailing blanks.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(&format!("  {cell:<width$}"));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// `0.4 s`, `12.3 s`, `6 min 05 s`.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 {
        return format!("{:.1} s", time.as_secs_f64());
    }
    format!("{} min {:02} s", seconds / 60, seconds % 60)
}

/// A file's size in KiB, rounded up.
pub(crate) fn size(bytes: u64) -> String {
    format!("{} KiB", bytes.div_ceil(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["step".to_owned(), "result".to_owned()], vec!["clippy".to_owned(), "ok".to_owned()]];
        assert_eq!(aligned(&rows), "  step    result\n  clippy  ok\n");
    }

    #[test]
    fn durations_are_given_in_seconds_below_a_minute_and_in_minutes_above() {
        assert_eq!(duration(Duration::from_millis(430)), "0.4 s");
        assert_eq!(duration(Duration::from_secs(365)), "6 min 05 s");
    }
}
