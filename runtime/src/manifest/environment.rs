//! Names of environment variables, and which of them guests never see.

use std::fmt;
use std::str::FromStr;

/// Variables that `env.allow` cannot name, whatever the manifest says: what is called like a credential, what changes how
/// programs are loaded, and what the runtime itself sets. `*` stands for any characters; letters are compared without
/// regard to case.
///
/// A credential reaches a provider through `gateway`, and then no guest sees it.
pub const BACKSTOP: &[&str] = &[
    "*_TOKEN",
    "TOKEN",
    "*_API_KEY",
    "API_KEY",
    "*_APIKEY",
    "*_SECRET",
    "SECRET",
    "*_SECRET_KEY",
    "*_ACCESS_KEY",
    "*_ACCESS_KEY_ID",
    "*_PRIVATE_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "SSH_AUTH_SOCK",
    "LD_*",
    "DYLD_*",
    "MURMUR_*",
];

/// Parts between underscores that make a name look like a secret's. Such a variable can be allowed, and is warned about.
const SECRET_SEGMENTS: &[&str] = &[
    "AUTH",
    "COOKIE",
    "CREDENTIAL",
    "CREDENTIALS",
    "DSN",
    "KEY",
    "KEYS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PASSWORDS",
    "SECRET",
    "SECRETS",
    "TOKEN",
    "TOKENS",
];

/// The name of an environment variable: letters, digits and `_`, not beginning with a digit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EnvName(String);

/// Why a text is no [`EnvName`]. The message completes "the name …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not the name of a variable: letters, digits and `_`, not beginning with a digit")]
pub struct NoEnvName;

impl EnvName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first pattern of [`BACKSTOP`] that forbids it.
    pub fn backstop(&self) -> Option<&'static str> {
        BACKSTOP.iter().copied().find(|pattern| fits(pattern, &self.0))
    }

    /// The part of it that is called like a secret.
    pub fn secret_segment(&self) -> Option<&'static str> {
        let named = |segment: &&&str| self.0.split('_').any(|part| part.eq_ignore_ascii_case(segment));
        SECRET_SEGMENTS.iter().find(named).copied()
    }
}

impl FromStr for EnvName {
    type Err = NoEnvName;

    fn from_str(text: &str) -> Result<Self, NoEnvName> {
        let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let begins = text.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
        if plain && begins { Ok(Self(text.to_owned())) } else { Err(NoEnvName) }
    }
}

impl fmt::Display for EnvName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A pattern of variables' names, in which `*` stands for any characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvPattern(String);

/// Why a text is no [`EnvPattern`]. The message completes "the pattern …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not a pattern of variables: letters, digits, `_` and `*`")]
pub struct NoEnvPattern;

impl EnvPattern {
    /// The pattern as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it means `name`, without regard to case.
    pub fn fits(&self, name: &EnvName) -> bool {
        fits(&self.0, &name.0)
    }
}

impl FromStr for EnvPattern {
    type Err = NoEnvPattern;

    fn from_str(text: &str) -> Result<Self, NoEnvPattern> {
        let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'*'));
        if plain && !text.is_empty() { Ok(Self(text.to_owned())) } else { Err(NoEnvPattern) }
    }
}

/// Whether `name` is made of the parts between the pattern's stars, in their order. Linear in both.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_ascii_uppercase(), name.to_ascii_uppercase());
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut rest) = name.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = tail.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_called_like_a_credential_or_loads_code_is_behind_the_backstop() {
        let backstop = |name: &str| name.parse::<EnvName>().unwrap().backstop();
        assert_eq!(backstop("AWS_SECRET_ACCESS_KEY"), Some("*_ACCESS_KEY"));
        assert_eq!(backstop("github_token"), Some("*_TOKEN"));
        assert_eq!(backstop("OPENAI_API_KEY"), Some("*_API_KEY"));
        assert_eq!(backstop("LD_PRELOAD"), Some("LD_*"));
        assert_eq!(backstop("LD_LIBRARY_PATH"), Some("LD_*"));
        assert_eq!(backstop("MURMUR_HOME"), Some("MURMUR_*"));
        for allowed in ["PATH", "LANG", "TOKENS_PER_DAY", "LDFLAGS", "SSH_KEY_PATH", "DB_PASSWORD", "PG_DSN"] {
            assert_eq!(backstop(allowed), None, "{allowed}");
        }
    }

    #[test]
    fn a_name_with_a_secrets_word_looks_like_a_secret() {
        let segment = |name: &str| name.parse::<EnvName>().unwrap().secret_segment();
        assert_eq!(segment("DB_PASSWORD"), Some("PASSWORD"));
        assert_eq!(segment("pg_dsn"), Some("DSN"));
        assert_eq!(segment("SSH_KEY_PATH"), Some("KEY"));
        for plain in ["PATH", "KEYBOARD", "PWD", "MONKEY"] {
            assert_eq!(segment(plain), None, "{plain}");
        }
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        let means = |pattern: &str, name: &str| pattern.parse::<EnvPattern>().unwrap().fits(&name.parse().unwrap());
        for (pattern, name) in [("A*", "A"), ("*", "X"), ("A*C*E", "AbCdE"), ("*_X*", "A_XB"), ("a", "A"), ("**", "A")]
        {
            assert!(means(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("A*", "BA"), ("A*A", "A"), ("A*C*E", "AECD"), ("A", "AB"), ("*_X", "_XY")] {
            assert!(!means(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn names_and_patterns_have_no_other_characters() {
        for bad in ["", "1A", "A B", "A=B", "A-B", "É", "A\0", "*"] {
            assert_eq!(bad.parse::<EnvName>(), Err(NoEnvName), "{bad:?}");
        }
        for bad in ["", "A?", "[A]", "A B"] {
            assert_eq!(bad.parse::<EnvPattern>(), Err(NoEnvPattern), "{bad:?}");
        }
    }
}
