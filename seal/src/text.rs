//! Text from a record is foreign: it is escaped before it reaches a terminal.

use alloc::borrow::Cow;
use alloc::string::String;

/// `text` with everything that could steer a terminal, or reorder or hide what is shown, as `\u{…}`.
///
/// Escaped are control characters, bidirectional controls, invisible format characters and line separators, and the
/// backslash itself, so that the shown form has one reading. JSON output needs none of this: there, text stays exact.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\\' => shown.push_str("\\\\"),
            '\n' | '\r' | '\t' => shown.extend(character.escape_default()),
            c if is_unsafe(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

fn is_unsafe(c: char) -> bool {
    c == '\\'
        || c.is_control()
        || matches!(
            u32::from(c),
            0xad | 0x61c | 0x180e                       // soft hyphen, Arabic letter mark, Mongolian separator
            | 0x115f | 0x1160 | 0x3164 | 0xffa0         // Hangul fillers: letters that show as nothing
            | 0x200b..=0x200f | 0x2028..=0x202e         // zero width, marks, separators, embeddings, overrides
            | 0x2060..=0x206f | 0xfe00..=0xfe0f | 0xfeff | 0xfff9..=0xfffb // joiners, isolates, selectors, the byte order mark
            | 0xe0000..=0xe01ef                         // tags, further selectors
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_passed_through_without_a_copy() {
        assert!(matches!(escape("ses_0199 Grüße 日本"), Cow::Borrowed(_)));
    }

    #[test]
    fn escapes_overrides_and_invisible_characters_are_shown() {
        assert_eq!(escape("a\u{1b}[31mred"), "a\\u{1b}[31mred");
        assert_eq!(escape("x\u{202e}y\u{200b}z\u{2066}"), "x\\u{202e}y\\u{200b}z\\u{2066}");
        assert_eq!(escape("two\nlines\r\u{9b}31m"), "two\\nlines\\r\\u{9b}31m");
    }

    #[test]
    fn an_escaped_text_cannot_be_confused_with_one_that_holds_the_escape() {
        assert_ne!(escape("\u{1b}"), escape("\\u{1b}"));
    }
}
