#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;

use proptest::prelude::*;

use super::*;

fn id(text: &str) -> ArtifactId {
    text.parse().unwrap()
}

fn hash(text: &str) -> ContentHash {
    ContentHash::of(text.as_bytes())
}

fn parse(text: &str) -> Result<Lock, LockError> {
    Lock::parse(Path::new("murmur.lock"), text.as_bytes())
}

fn sample() -> Lock {
    let mut lock = Lock::default();
    lock.upsert(&id("some-tool@1.2.3"), Pinned::Any(hash("a")));
    lock.upsert(&id("native@0.4.2"), Pinned::For(Platform::LinuxX86_64, hash("b")));
    lock
}

#[test]
fn a_lock_is_written_as_it_is_documented_and_reads_back() {
    let mut lock = sample();
    lock.upsert(&id("native@0.4.2"), Pinned::For(Platform::DarwinAarch64, hash("c")));
    insta::assert_snapshot!(lock.to_text(), @r#"
    lock_version: 2
    artifacts:
      - name: native
        resolved_version: "0.4.2"
        sha256:
          platforms:
            darwin-aarch64: "2e7d2c03a9507ae265ecf5b5356885a53393a2029d241394997265a1a25aefc6"
            linux-x86_64: "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"
      - name: some-tool
        resolved_version: "1.2.3"
        sha256:
          any: "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
    "#);
    assert_eq!(parse(&lock.to_text()), Ok(lock));
    insta::assert_snapshot!(Lock::default().to_text(), @r"
    lock_version: 2
    artifacts: []
    ");
    assert_eq!(parse(&Lock::default().to_text()), Ok(Lock::default()));
}

#[test]
fn names_that_yaml_would_take_for_something_else_are_quoted() {
    for name in ["null", "123", "1e3", "no"] {
        let mut lock = Lock::default();
        lock.upsert(&id(&format!("{name}@1.0")), Pinned::Any(hash("a")));
        assert!(lock.to_text().contains(&format!("name: \"{name}\"\n    resolved_version: \"1.0\"")));
        assert_eq!(parse(&lock.to_text()), Ok(lock));
    }
}

#[test]
fn the_form_in_which_others_write_a_lock_is_read() {
    let text = format!(
        "lock_version: 2\nartifacts:\n  - {{name: some-tool, resolved_version: \"1.2.3\", sha256: {{any: \"{}\"}}}}\n  \
         - {{name: native, resolved_version: \"0.4.2\", sha256: {{platforms: {{linux-x86_64: \"{}\"}}}}}}\n",
        hash("a"),
        hash("b"),
    );
    assert_eq!(parse(&text), Ok(sample()));
    assert_eq!(parse("lock_version: 2\n"), Ok(Lock::default()));
}

#[test]
fn what_is_no_lock_of_this_version_is_refused_with_its_place() {
    let entry = |rest: &str| format!("lock_version: 2\nartifacts:\n  - {{name: a, resolved_version: '1', {rest}}}\n");
    let good = hash("a");
    let said = [
        String::new(),
        "artifacts: []\n".to_owned(),
        "lock_version: 1\nartifacts: {old: shape}\n".to_owned(),
        "# later\nlock_version: 3\n".to_owned(),
        "lock_version: two\n".to_owned(),
        "lock_version: [\n".to_owned(),
        "lock_version: 2\nartifacts: {}\n".to_owned(),
        entry("sha256: {}"),
        entry("sha256: {platforms: {}}"),
        entry(&format!("sha256: {{any: '{good}', platforms: {{linux-x86_64: '{good}'}}}}")),
        entry("sha256: {any: 'ABC'}"),
        entry(&format!("sha256: {{platforms: {{plan9-mips: '{good}'}}}}")),
        entry(&format!("sha256: {{any: '{good}'}}, session: x")),
        "lock_version: 2\nartifacts:\n  - {name: a}\n".to_owned(),
        format!("lock_version: 2\nartifacts:\n  - {{name: A, resolved_version: '1', sha256: {{any: '{good}'}}}}\n"),
        format!("lock_version: 2\nartifacts:\n  - {{name: a, resolved_version: '../1', sha256: {{any: '{good}'}}}}\n"),
        format!(
            "lock_version: 2\nartifacts:\n  - {{name: a, resolved_version: '1', sha256: {{any: '{good}'}}}}\n  \
             - {{name: a, resolved_version: '2', sha256: {{any: '{good}'}}}}\n"
        ),
    ]
    .map(|text| parse(&text).unwrap_err().diagnostic().to_string());
    insta::assert_snapshot!(said.join("\n"), @r"
    error[E-RUN-003]: murmur.lock:1:1: `lock_version` is missing
      hint: delete it and run `mur install`
    error[E-RUN-003]: murmur.lock:1:1: `lock_version` is missing
      hint: delete it and run `mur install`
    error[E-RUN-003]: murmur.lock:1:15: `lock_version` is 1, and this version of mur reads 2
      hint: delete it and run `mur install`
    error[E-RUN-003]: murmur.lock:2:15: `lock_version` is 3, and this version of mur reads 2
      hint: delete it and run `mur install`
    error[E-RUN-003]: murmur.lock:1:15: `lock_version` is `two`, and this version of mur reads 2
      hint: delete it and run `mur install`
    error[E-RUN-003]: murmur.lock:1:15: unclosed bracket '['
      hint: delete it and run `mur install`
    error[E-RUN-003]: murmur.lock:2:12: expected sequence start
      hint: delete it and run `mur install`
    error[E-RUN-003]: murmur.lock:3:46: `sha256` holds no hash
      hint: delete it and run `mur install`
    error[E-RUN-003]: murmur.lock:3:46: `sha256` holds no hash
      hint: delete it and run `mur install`
    error[E-RUN-003]: murmur.lock:3:46: `sha256` holds both `any` and `platforms`
      hint: delete it and run `mur install`
    error[E-RUN-003]: murmur.lock:3:52: the hash is not 64 hexadecimal digits in lower case
      hint: delete it and run `mur install`
    error[E-RUN-003]: murmur.lock:3:71: `plan9-mips` is not one of darwin-aarch64, darwin-x86_64, linux-aarch64, linux-x86_64
      hint: delete it and run `mur install`
    error[E-RUN-003]: murmur.lock:3:121: unknown field `session`, expected one of name, resolved_version, sha256
      hint: delete it and run `mur install`
    error[E-RUN-003]: murmur.lock:3:6: missing field `resolved_version`
      hint: delete it and run `mur install`
    error[E-RUN-003]: murmur.lock:3:12: the name holds `A`, and only a-z, 0-9 and `-` are allowed
      hint: delete it and run `mur install`
    error[E-RUN-003]: murmur.lock:3:33: `a` has a version that cannot be part of a file's name
      hint: delete it and run `mur install`
    error[E-RUN-003]: murmur.lock:4:12: there is another entry for `a`
      hint: delete it and run `mur install`
    ");
    assert!(parse("lock_version: 2\nartifacts: &a [*a]\n").is_err());
    assert!(Lock::parse(Path::new("murmur.lock"), b"lock_version: 2 # \xff").is_err());
}

#[test]
fn a_lock_that_pins_something_else_says_what() {
    let lock = sample();
    let refused =
        |artifact: &str, found: Pinned| lock.verify(&id(artifact), found).unwrap_err().diagnostic().to_string();
    assert_eq!(lock.verify(&id("some-tool@1.2.3"), Pinned::Any(hash("a"))), Ok(()));
    assert_eq!(lock.verify(&id("native@0.4.2"), Pinned::For(Platform::LinuxX86_64, hash("b"))), Ok(()));
    let said = [
        refused("other@1.0.0", Pinned::Any(hash("a"))),
        refused("some-tool@2.0.0", Pinned::Any(hash("a"))),
        refused("some-tool@1.2.3", Pinned::Any(hash("b"))),
        refused("some-tool@1.2.3", Pinned::For(Platform::LinuxX86_64, hash("a"))),
        refused("native@0.4.2", Pinned::For(Platform::DarwinAarch64, hash("b"))),
        refused("native@0.4.2", Pinned::Any(hash("b"))),
    ];
    insta::assert_snapshot!(said.join("\n"), @r"
    error[E-RUN-003]: murmur.lock has no entry for other@1.0.0
      hint: run `mur install`
    error[E-RUN-003]: murmur.lock pins some-tool@1.2.3, and some-tool@2.0.0 is to be run
      hint: run `mur install`
    error[E-RUN-003]: murmur.lock pins some-tool@1.2.3 with the SHA-256 ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb, and what is installed has 3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d
      hint: run `mur install` to get what is pinned; if the change is meant, remove the entry from the lock first
    error[E-RUN-003]: murmur.lock pins some-tool@1.2.3 for every platform, and what is installed is native
      hint: run `mur install`
    error[E-RUN-003]: murmur.lock pins native@0.4.2 for linux-x86_64, and has no hash for darwin-aarch64
      hint: run `mur install`
    error[E-RUN-003]: murmur.lock pins native@0.4.2 for single platforms, and what is installed is for every platform
      hint: run `mur install`
    ");
}

#[test]
fn a_pin_is_added_to_or_replaced_when_all_of_it_is_out_of_date() {
    let mut lock = sample();
    lock.upsert(&id("native@0.5.0"), Pinned::For(Platform::DarwinAarch64, hash("c")));
    let (mac, linux) = (Platform::DarwinAarch64, Platform::LinuxX86_64);
    assert_eq!(lock.verify(&id("native@0.5.0"), Pinned::For(mac, hash("c"))), Ok(()));
    assert!(matches!(lock.verify(&id("native@0.5.0"), Pinned::For(linux, hash("b"))), Err(LockError::NoHash { .. })));
    lock.upsert(&id("native@0.5.0"), Pinned::Any(hash("d")));
    assert_eq!(lock.verify(&id("native@0.5.0"), Pinned::Any(hash("d"))), Ok(()));
    assert_eq!(lock.verify(&id("some-tool@1.2.3"), Pinned::Any(hash("a"))), Ok(()));
}

#[test]
fn only_another_hash_in_the_same_place_is_a_conflict() {
    let lock = sample();
    assert_eq!(lock.conflict(&id("some-tool@1.2.3"), Pinned::Any(hash("x"))), Some(hash("a")));
    assert_eq!(lock.conflict(&id("some-tool@1.2.3"), Pinned::Any(hash("a"))), None);
    assert_eq!(lock.conflict(&id("some-tool@1.2.4"), Pinned::Any(hash("x"))), None);
    assert_eq!(lock.conflict(&id("native@0.4.2"), Pinned::For(Platform::DarwinAarch64, hash("x"))), None);
    assert_eq!(lock.conflict(&id("native@0.4.2"), Pinned::Any(hash("x"))), None);
}

#[test]
fn a_lock_that_says_the_same_is_not_written_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(LOCK_FILE);
    assert_eq!(Lock::load(&path).unwrap(), None);
    let mine = format!("# mine\n{}", sample().to_text());
    fs::write(&path, &mine).unwrap();
    sample().save(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), mine);
    Lock::default().save(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), Lock::default().to_text());
    assert_eq!(Lock::load(&path).unwrap(), Some(Lock::default()));
}

#[test]
fn a_new_lock_takes_no_other_ones_place() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(LOCK_FILE);
    sample().create(&path).unwrap();
    Lock::default().create(&path).unwrap();
    assert_eq!(Lock::load(&path).unwrap(), Some(sample()));
    assert_eq!(file::names(directory.path()).unwrap(), [LOCK_FILE]);
    assert!(sample().create(&directory.path().join("absent").join(LOCK_FILE)).is_err());
}

#[test]
fn a_lock_that_is_a_link_to_nowhere_is_not_taken_for_absent() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(LOCK_FILE);
    assert!(Lock::load(&path).unwrap().is_none());
    std::os::unix::fs::symlink("nowhere", &path).unwrap();
    let said = Lock::load(&path).unwrap_err().to_string();
    assert_eq!(said, format!("{}:1:1: it is a symbolic link that leads nowhere", path.display()));
}

#[test]
fn a_refusal_does_not_speak_of_the_parser() {
    let said = ["lock_version: 2.5", "lock_version: 2\nlock_version: 2", "lock_version: 2\n---\nlock_version: 2"]
        .map(|text| parse(text).unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"), @r"
    murmur.lock:1:15: `lock_version` is no whole number
    murmur.lock:2:1: duplicate mapping key: lock_version
    murmur.lock:3:1: multiple YAML documents detected
    ");
}

fn pins() -> impl Strategy<Value = Vec<(ArtifactId, Pinned)>> {
    let platform = prop::sample::select(vec![None, Some(Platform::LinuxX86_64), Some(Platform::DarwinAarch64)]);
    let pin = ("[a-c]", "[1-3]", platform, "[xyz]").prop_map(|(name, version, platform, bytes)| {
        (id(&format!("{name}@{version}")), Pinned::of(platform, hash(&bytes)))
    });
    prop::collection::vec(pin, 0..12)
}

proptest! {
    #[test]
    fn pinning_is_idempotent_and_what_is_pinned_is_verified(pins in pins()) {
        let mut lock = Lock::default();
        for (id, pinned) in &pins {
            lock.upsert(id, *pinned);
            prop_assert_eq!(lock.verify(id, *pinned), Ok(()));
            let once = lock.clone();
            lock.upsert(id, *pinned);
            prop_assert_eq!(&lock, &once);
        }
        prop_assert_eq!(parse(&lock.to_text()), Ok(lock));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(lock_version: [0-9]\n)?[ -~\n]{0,200}") {
        let _ = parse(&text);
    }
}
