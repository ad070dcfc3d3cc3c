//! What is read of the configuration, how its files are merged, and what is said of what is wrong.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use tempfile::TempDir;

use super::*;
use crate::context::Context;
use crate::manifest::CredentialName;

/// A murmur home and a project.
struct Host {
    root: TempDir,
}

impl Host {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("home")).unwrap();
        fs::create_dir_all(root.path().join("project/.murmur")).unwrap();
        Self { root }
    }

    fn with(global: &str, project: &str) -> Self {
        let host = Self::new();
        fs::write(host.global(), global).unwrap();
        fs::set_permissions(host.global(), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(host.project(), project).unwrap();
        host
    }

    fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    fn here(&self) -> PathBuf {
        self.root.path().join("project")
    }

    fn global(&self) -> PathBuf {
        global_file(&self.home())
    }

    fn project(&self) -> PathBuf {
        project_file(&self.here())
    }

    fn load(&self) -> ConfigReading {
        Config::load(&self.home(), &self.here())
    }

    fn config(&self) -> Config {
        self.load().outcome.unwrap()
    }

    /// Every warning, then the refusal; the directory's own path left out.
    fn said(&self) -> String {
        let ConfigReading { warnings, outcome } = self.load();
        let mut lines: Vec<String> = warnings.iter().map(|warning| warning.diagnostic().to_string()).collect();
        lines.extend(outcome.err().map(|error| error.diagnostic().to_string()));
        self.redacted(&lines.join("\n"))
    }

    fn redacted(&self, text: &str) -> String {
        text.replace(&self.root.path().display().to_string(), "ROOT")
    }

    fn context(&self, variables: &[(&str, &str)]) -> Context {
        Context::of_process().with_home(self.home()).with_variables(variables.iter().copied())
    }
}

const FULL: &str = "registry:
  default: mirror
  index_url: https://artifacts.example.com/index.json
  sources:
    - {name: mirror, type: directory, path: mirror}
    - {name: office, type: http, url: 'http://artifacts.example.com:7800/murmur/'}
    - {name: upstream, type: github, repo: owner/name, token: hunter2}
    - {name: nexus, type: nexus}
inference: {provider: p, model: m, api_key: hunter2, endpoint: 'https://p.example'}
credentials: {PROVIDER_API_KEY: hunter2}
containment: scoped
spend: {machine_tokens_per_day: 1000}
beta: {enabled: [mur-new]}
";

#[test]
fn without_a_file_everything_has_its_default_and_nothing_is_said() {
    let host = Host::new();
    assert_eq!((host.config(), host.said()), (Config::default(), String::new()));
    fs::remove_dir(host.home()).unwrap();
    fs::write(host.home(), "a file in the place of the directory").unwrap();
    assert_eq!((host.config(), host.said()), (Config::default(), String::new()));
}

#[test]
fn a_full_configuration_is_read_without_a_warning_and_shows_no_secret() {
    let host = Host::with(FULL, "");
    assert_eq!(host.said(), "");
    let shown = host.redacted(&format!("{:#?}", host.config()));
    assert!(!shown.contains("hunter"), "{shown}");
    insta::assert_snapshot!(shown);
}

#[test]
fn a_projects_fields_win_but_for_keys_floors_and_ceilings() {
    let project = "registry: {default: local, sources: [{name: own, type: directory, path: ../artifacts}]}
inference: {model: other}
containment: advisory
spend: {machine_tokens_per_day: 5000}
";
    let host = Host::with(FULL, project);
    let config = host.config();
    assert_eq!(config.registry.default.as_deref(), Some("local"));
    assert_eq!(config.registry.index_url.as_deref(), Some("https://artifacts.example.com/index.json"));
    let names: Vec<&str> = config.registry.sources.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(names, ["own"]);
    assert_eq!(config.registry.sources[0].kind, SourceKind::Directory(host.here().join("../artifacts")));
    assert_eq!(config.inference.model.as_deref(), Some("other"));
    assert_eq!(config.inference.provider.as_deref(), Some("p"));
    assert_eq!(config.inference.api_key.map(|key| key.expose().to_owned()).as_deref(), Some("hunter2"));
    assert_eq!(config.containment, Containment::Scoped, "the stronger");
    assert_eq!(config.machine_tokens_per_day.map(NonZeroU64::get), Some(1000), "the lower");
    assert_eq!(config.beta, ["mur-new"]);

    let config =
        Host::with("spend: {machine_tokens_per_day: 9}\n", "containment: sealed\nspend: {machine_tokens_per_day: 5}\n")
            .config();
    assert_eq!(
        (config.containment, config.machine_tokens_per_day.map(NonZeroU64::get)),
        (Containment::Sealed, Some(5))
    );
}

#[test]
fn keys_in_a_projects_configuration_have_no_effect_and_that_is_said() {
    let host = Host::with("", "credentials: {A: hunter2}\ninference: {api_key: hunter2}\n");
    assert_eq!(host.config().inference.api_key, None);
    assert_eq!(Credentials::new(&host.home(), &host.context(&[])).lookup(&"A".parse().unwrap()).unwrap(), None);
    insta::assert_snapshot!(host.said(), @"
    warning[W-SEC-019]: ROOT/project/.murmur/config.yaml:1:1: `credentials` has no effect in a project's configuration (https://docs.murmur.nexus/reference/diagnostics/#w-sec-019)
      hint: move it to the global one, and out of the project: `mur config set -g` writes there
    warning[W-SEC-019]: ROOT/project/.murmur/config.yaml:2:13: `inference.api_key` has no effect in a project's configuration (https://docs.murmur.nexus/reference/diagnostics/#w-sec-019)
      hint: move it to the global one, and out of the project: `mur config set -g` writes there
    ");
}

#[test]
fn a_murmur_home_in_the_directory_of_the_command_is_one_configuration_and_not_two() {
    let host = Host::with("", FULL);
    let home = host.here().join(PROJECT_DIR);
    fs::set_permissions(host.project(), fs::Permissions::from_mode(0o600)).unwrap();
    let ConfigReading { warnings, outcome } = Config::load(&home, &host.here());
    assert_eq!(warnings, []);
    assert_eq!(outcome.unwrap().registry.sources[0].kind, SourceKind::Directory(home.join("mirror")));
}

#[test]
fn a_file_of_secrets_that_others_may_use_is_told_once_with_its_mode_and_what_mends_it() {
    let host = Host::with(FULL, "beta: {}\n");
    let mut said = String::new();
    for mode in [0o644, 0o620, 0o601, 0o600, 0o400] {
        fs::set_permissions(host.global(), fs::Permissions::from_mode(mode)).unwrap();
        said += &format!("{mode:o}:\n{}\n", host.said());
    }
    insta::assert_snapshot!(said, @"
    644:
    warning[W-SEC-028]: ROOT/home/config.yaml:1:1: others may use this file of secrets (mode 0644) (https://docs.murmur.nexus/reference/diagnostics/#w-sec-028)
      hint: run: chmod 600 ROOT/home/config.yaml
    620:
    warning[W-SEC-028]: ROOT/home/config.yaml:1:1: others may use this file of secrets (mode 0620) (https://docs.murmur.nexus/reference/diagnostics/#w-sec-028)
      hint: run: chmod 600 ROOT/home/config.yaml
    601:
    warning[W-SEC-028]: ROOT/home/config.yaml:1:1: others may use this file of secrets (mode 0601) (https://docs.murmur.nexus/reference/diagnostics/#w-sec-028)
      hint: run: chmod 600 ROOT/home/config.yaml
    600:

    400:
    ");
}

#[test]
fn what_is_wrong_in_a_configuration_is_refused_with_its_place_and_without_a_secret() {
    let texts = [
        "hunter2\n",
        "[hunter2]\n",
        "a: [\n",
        "a: 1\na: 2\n",
        "registry: []\n",
        "registry: {sources: {}}\n",
        "registry: {sources: [{type: http}]}\n",
        "registry: {sources: [{name: a}]}\n",
        "registry: {sources: [{name: a, type: ftp}]}\n",
        "registry: {sources: [{name: a, type: directory}]}\n",
        "registry: {sources: [{name: a, type: directory, path: ~/mirror}]}\n",
        "registry: {sources: [{name: a, type: http}]}\n",
        "registry: {sources: [{name: a, type: http, url: 'ftp://a.example'}]}\n",
        "registry: {sources: [{name: a, type: http, url: 'https://u:hunter2@a.example'}]}\n",
        "registry: {sources: [{name: a, type: github, repo: name}]}\n",
        "registry: {sources: [{name: a, type: nexus, token: [hunter2]}]}\n",
        "registry: {sources: [{name: a, type: nexus}, {name: a, type: nexus}]}\n",
        "inference: {api_key: 12345}\n",
        "credentials: hunter2\n",
        "credentials: {A: 12345}\n",
        "credentials: {A: \"hunter\\n2\"}\n",
        "credentials: {A: ''}\n",
        "credentials: {hunter2: A}\n",
        "containment: strong\n",
        "spend: {machine_tokens_per_day: 0}\n",
        "beta: {enabled: all}\n",
        "regsitry: {}\nspend: {machine_tokens: 5}\nbeta: {enabled: {}}\n",
    ];
    let said: Vec<String> = texts.map(|text| Host::with(text, "").said()).to_vec();
    assert!(said.iter().all(|said| !said.contains("hunter") && !said.contains("12345")), "{said:#?}");
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn what_is_no_file_of_text_is_refused_without_waiting() {
    let host = Host::new();
    rustix::fs::mkfifoat(rustix::fs::CWD, host.global(), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let mut said = host.said() + "\n";
    let set =
        set(&Settable::parse("inference.model", Target::Global).unwrap(), &Secret::new("m".into()), &host.global());
    said += &(host.redacted(&set.unwrap_err().diagnostic().to_string()) + "\n");
    fs::remove_file(host.global()).unwrap();
    fs::create_dir(host.global()).unwrap();
    said += &(host.said() + "\n");
    fs::remove_dir(host.global()).unwrap();
    fs::write(host.global(), vec![b'#'; 1024 * 1024 + 1]).unwrap();
    fs::set_permissions(host.global(), fs::Permissions::from_mode(0o600)).unwrap();
    said += &(host.said() + "\n");
    fs::write(host.global(), b"a: \xff\n").unwrap();
    said += &host.said();
    insta::assert_snapshot!(said, @"
    error[E-IO-003]: ROOT/home/config.yaml is not a regular file
    error[E-IO-003]: ROOT/home/config.yaml is not a regular file
    error[E-IO-003]: ROOT/home/config.yaml is a directory
    error[E-IO-003]: ROOT/home/config.yaml is larger than 1048576 bytes
    error[E-CFG-003]: ROOT/home/config.yaml:1: the text is not UTF-8
      hint: save the file as UTF-8
    ");
}

#[test]
fn a_source_of_a_type_that_is_not_served_is_refused_when_it_is_used() {
    let host = Host::with(FULL, "");
    let config = host.config();
    let said: Vec<String> = config
        .registry
        .sources
        .iter()
        .map(|source| match source.served() {
            Ok(source) => format!("{} is served", source.name),
            Err(error) => host.redacted(&error.diagnostic().to_string()),
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"), @"
    mirror is served
    office is served
    error[E-CFG-003]: ROOT/home/config.yaml:7:7: the source `upstream` is of the type `github`, which this version of mur does not serve
      hint: use a source of the type `directory` or `http`
    error[E-CFG-003]: ROOT/home/config.yaml:8:7: the source `nexus` is of the type `nexus`, which this version of mur does not serve
      hint: use a source of the type `directory` or `http`
    ");
}

#[test]
fn a_credential_is_looked_up_anew_each_time_first_in_the_file_and_then_in_the_environment() {
    let host = Host::with("credentials: {A_KEY: first}\n", "");
    let context = host.context(&[("A_KEY", "of the environment"), ("B_KEY", "b"), ("EMPTY", "")]);
    let credentials = Credentials::new(&host.home(), &context);
    let look = |name: &str| {
        let found = credentials.lookup(&name.parse::<CredentialName>().unwrap()).unwrap();
        found.map(|found| (found.value.expose().to_owned(), found.origin))
    };
    assert_eq!(look("A_KEY"), Some(("first".to_owned(), CredentialOrigin::Config)));
    fs::write(host.global(), "credentials: {A_KEY: second}\n").unwrap();
    assert_eq!(look("A_KEY"), Some(("second".to_owned(), CredentialOrigin::Config)));
    fs::remove_file(host.global()).unwrap();
    assert_eq!(look("A_KEY"), Some(("of the environment".to_owned(), CredentialOrigin::Environment)));
    assert_eq!(look("B_KEY"), Some(("b".to_owned(), CredentialOrigin::Environment)));
    assert_eq!((look("EMPTY"), look("C_KEY")), (None, None));
    assert!(!format!("{credentials:?}").contains("of the environment"));

    let place = Place { path: "murmur.yaml".into(), line: 7, column: 5 };
    let name: CredentialName = "B_KEY".parse().unwrap();
    let found = credentials.lookup(&name).unwrap().unwrap();
    let warning = Credentials::warning(&name, &found, &place).unwrap().diagnostic();
    let missing = Credentials::missing(&name, &place).diagnostic();
    insta::assert_snapshot!(format!("{warning}\n{missing}"), @"
    warning[W-SEC-027]: murmur.yaml:7:5: the key `B_KEY` comes from the environment, and another one counts from the next launch (https://docs.murmur.nexus/reference/diagnostics/#w-sec-027)
      hint: store it with `mur config set -g credentials.B_KEY KEY`
    error[E-MAN-003]: murmur.yaml:7:5: the key `B_KEY` is neither in the global configuration nor in the environment
      hint: store it with `mur config set -g credentials.B_KEY KEY`
    ");
}

fn key(text: &str) -> Settable {
    Settable::parse(text, Target::Global).unwrap()
}

#[test]
fn a_value_that_is_set_is_there_for_its_owner_alone_and_nothing_else_is_left_behind() {
    let host = Host::with("# mine\ncontainment: scoped\n", "");
    fs::set_permissions(host.global(), fs::Permissions::from_mode(0o644)).unwrap();
    for value in ["hunter1", "hunter2"] {
        set(&key("credentials.A_KEY"), &Secret::new(value.to_owned()), &host.global()).unwrap();
    }
    assert_eq!(
        fs::read_to_string(host.global()).unwrap(),
        "# mine\ncontainment: scoped\ncredentials:\n  A_KEY: \"hunter2\"\n"
    );
    assert_eq!(fs::metadata(host.global()).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(host.home()).unwrap().count(), 1, "no temporary file is left");

    fs::remove_dir_all(host.home()).unwrap();
    set(&key("inference.model"), &Secret::new("m".to_owned()), &host.global()).unwrap();
    assert_eq!(fs::metadata(host.home()).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(host.config().inference.model.as_deref(), Some("m"));
}

#[test]
fn a_file_that_is_kept_behind_a_link_stays_there_and_a_link_to_nowhere_is_not_replaced() {
    let host = Host::new();
    let kept = host.root.path().join("kept.yaml");
    fs::write(&kept, "inference: {model: old}\n").unwrap();
    symlink(&kept, host.global()).unwrap();
    set(&key("inference.model"), &Secret::new("new".to_owned()), &host.global()).unwrap();
    assert_eq!(fs::read_to_string(&kept).unwrap(), "inference: {model: \"new\"}\n");
    assert!(fs::symlink_metadata(host.global()).unwrap().is_symlink());
    fs::remove_file(&kept).unwrap();
    set(&key("inference.model"), &Secret::new("new".to_owned()), &host.global()).unwrap_err();
    assert!(!kept.exists());
}

#[test]
fn what_cannot_be_set_is_refused_without_its_value_and_the_file_stays_as_it_is() {
    let host = Host::new();
    let mut said = String::new();
    let keys = [
        ("spend.machine_tokens_per_day", Target::Global),
        ("registry", Target::Global),
        ("credentials", Target::Global),
        ("credentials.", Target::Global),
        ("credentials.a", Target::Global),
        ("credentials.A_KEY", Target::Project),
        ("inference.api_key", Target::Project),
        ("registry.default.x", Target::Project),
    ];
    for (text, target) in keys {
        said += &format!("{}\n", Settable::parse(text, target).unwrap_err().diagnostic());
    }
    let cases = [
        ("", "credentials.A_KEY", "hunter 2"),
        ("", "credentials.A_KEY", ""),
        ("", "inference.model", " "),
        ("", "inference.model", "hunter\n2"),
        ("credentials: {B: c}\n", "credentials.A_KEY", "hunter2"),
        ("inference: [\n", "inference.model", "hunter2"),
        ("inference: {}\n---\n{}\n", "inference.model", "hunter2"),
    ];
    for (text, name, value) in cases {
        fs::write(host.global(), text).unwrap();
        let error = set(&key(name), &Secret::new(value.to_owned()), &host.global()).unwrap_err();
        said += &format!("{}\n", host.redacted(&error.diagnostic().to_string()));
        assert_eq!(fs::read_to_string(host.global()).unwrap(), text);
    }
    assert!(!said.contains("hunter"), "{said}");
    insta::assert_snapshot!(said);
}
