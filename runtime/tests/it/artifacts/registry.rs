//! `mur install` and `mur search` from a registry: a real server on loopback.

use std::collections::HashMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use axum::Router;
use axum::http::{StatusCode, Uri, header};
use axum::response::IntoResponse as _;
use sha2::Digest as _;

use crate::support::{Project, tree};

/// What a path answers.
#[derive(Clone)]
enum Answer {
    Body(Vec<u8>),
    Status(u16),
    Redirect(String),
}

/// A server that answers from a table, and 404 to everything else.
struct Registry {
    address: SocketAddr,
    answers: Arc<Mutex<HashMap<String, Answer>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Registry {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let answers: Arc<Mutex<HashMap<String, Answer>>> = Arc::default();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (table, log) = (answers.clone(), asked.clone());
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                listener.set_nonblocking(true).unwrap();
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let answer = move |uri: Uri| {
                    log.lock().unwrap().push(uri.path().to_owned());
                    let answer = table.lock().unwrap().get(uri.path()).cloned();
                    async move {
                        match answer {
                            None => StatusCode::NOT_FOUND.into_response(),
                            Some(Answer::Status(status)) => StatusCode::from_u16(status).unwrap().into_response(),
                            Some(Answer::Body(bytes)) => bytes.into_response(),
                            Some(Answer::Redirect(to)) => (StatusCode::FOUND, [(header::LOCATION, to)]).into_response(),
                        }
                    }
                };
                axum::serve(listener, Router::new().fallback(answer)).await.unwrap();
            });
        });
        Self { address, answers, asked }
    }

    fn url(&self) -> String {
        format!("http://{}/base", self.address)
    }

    fn put(&self, path: &str, answer: Answer) {
        self.answers.lock().unwrap().insert(format!("/base/{path}"), answer);
    }

    fn index(&self, artifacts: &str) {
        let text = format!("{{\"schema_version\": \"1\", \"updated_at\": \"x\", \"artifacts\": [{artifacts}]}}");
        self.put("artifacts-index.json", Answer::Body(text.into_bytes()));
    }

    /// Serves this archive, listed with a hash.
    fn serve(&self, name: &str, archive: &Path) {
        let bytes = fs::read(archive).unwrap();
        let hash: String = sha2::Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        self.index(&entry(name, &hash));
        self.put(&format!("files/{name}.mur.zip"), Answer::Body(bytes));
    }
}

fn entry(name: &str, hash: &str) -> String {
    format!(
        "{{\"name\": \"{name}\", \"version\": \"1.0.0\", \"runtime\": \"tool\", \"description\": \"Counts.\", \
         \"tags\": [\"text\"], \"platforms\": [], \"assets\": [{{\"file\": \"files/{name}.mur.zip\", \"sha256\": \"{hash}\"}}]}}"
    )
}

/// What installing from this place says on stderr; nothing of it stays.
fn refused(project: &Project, registry: &Registry) -> String {
    let before = tree(&project.path(""));
    let said = project.run(["install", "counter@1.0.0", "--registry", &registry.url()]).expect(1);
    assert_eq!(tree(&project.path("")), before);
    project.plain(&said.stderr).replace(&registry.address.to_string(), "HOST")
}

#[test]
fn an_artifact_is_fetched_verified_and_pinned() {
    let project = Project::new();
    let registry = Registry::start();
    let archive = project.built_tool("counter", "1.0.0", "payload");
    registry.serve("counter", &archive);
    let said = project.run(["install", "counter@1.0.0", "--registry", &registry.url()]).expect(0);
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("Installed counter@1.0.0\n", ""));
    let copy = project.path(".murmur/artifacts/counter/1.0.0/counter-1.0.0.mur.zip");
    assert_eq!(fs::read(copy).unwrap(), fs::read(archive).unwrap());
    assert!(project.lock().contains("counter"));
    assert_eq!(*registry.asked.lock().unwrap(), ["/base/artifacts-index.json", "/base/files/counter.mur.zip"]);
}

#[test]
fn without_assets_the_files_have_their_usual_names() {
    let project = Project::new();
    let registry = Registry::start();
    let archive = project.built_tool("counter", "1.0.0-rc+1", "payload");
    registry.index(r#"{"name": "counter", "version": "1.0.0-rc+1", "runtime": "tool", "platforms": []}"#);
    registry.put("counter-1.0.0-rc%2B1.mur.zip", Answer::Body(fs::read(archive).unwrap()));
    project.run(["install", "counter@1.0.0-rc+1", "--registry", &registry.url()]).expect(0);
    assert_eq!(project.installed(), ["counter/1.0.0-rc+1/counter-1.0.0-rc+1.mur.zip"]);
}

#[test]
fn a_search_asks_the_index() {
    let project = Project::new();
    let registry = Registry::start();
    registry.index(&entry("counter", &"0".repeat(64)));
    let found = |query: &str| project.run(["search", query, "--registry", &registry.url()]).expect(0).stdout;
    insta::assert_snapshot!(found("counts"), @r"
    NAME     VERSION  RUNTIME  DESCRIPTION
    counter  1.0.0    tool     Counts.
    ");
    assert_eq!(found("text"), found("counts"));
    assert_eq!(found("nothing"), "No results found.\n");
    registry.put("artifacts-index.json", Answer::Status(500));
    let failed = project.run(["search", "counts", "--registry", &registry.url()]).expect(1);
    insta::assert_snapshot!(failed.stderr.replace(&registry.address.to_string(), "HOST"), @r"
    error[E-REG-006]: http://HOST/base did not answer: http://HOST/base/artifacts-index.json: it answered 500 Internal Server Error
      hint: try again later, or name another with --registry
    ");
}

#[test]
fn a_registry_that_does_not_answer_is_told_from_one_that_has_nothing() {
    let project = Project::new();
    let registry = Registry::start();
    let mut said = vec![refused(&project, &registry)];
    for status in [403, 429, 500] {
        registry.put("artifacts-index.json", Answer::Status(status));
        said.push(refused(&project, &registry));
    }
    registry.put("artifacts-index.json", Answer::Body(b"{\n oops".to_vec()));
    said.push(refused(&project, &registry));
    registry.index("");
    said.push(refused(&project, &registry));
    // Listed, and the file is not there.
    registry.index(&entry("counter", &"0".repeat(64)));
    said.push(refused(&project, &registry));
    registry.put("files/counter.mur.zip", Answer::Status(503));
    said.push(refused(&project, &registry));
    insta::assert_snapshot!(said.concat(), @r"
    error[E-REG-006]: http://HOST/base did not answer: it has no artifacts-index.json, so it is no registry
      hint: try again later, or name another with --registry
    error[E-REG-006]: http://HOST/base did not answer: http://HOST/base/artifacts-index.json: it answered 403 Forbidden
      hint: try again later, or name another with --registry
    error[E-REG-006]: http://HOST/base did not answer: http://HOST/base/artifacts-index.json: it answered 429: too many requests
      hint: try again later, or name another with --registry
    error[E-REG-006]: http://HOST/base did not answer: http://HOST/base/artifacts-index.json: it answered 500 Internal Server Error
      hint: try again later, or name another with --registry
    error[E-REG-006]: http://HOST/base did not answer: artifacts-index.json:2:2: key must be a string
      hint: try again later, or name another with --registry
    error[E-REG-001]: counter@1.0.0 was not found in http://HOST/base
      hint: see what there is with `mur search`, or name another source with --registry
    error[E-REG-001]: counter@1.0.0 was not found in http://HOST/base
      hint: see what there is with `mur search`, or name another source with --registry
    error[E-REG-006]: http://HOST/base did not answer: http://HOST/base/files/counter.mur.zip: it answered 503 Service Unavailable
      hint: try again later, or name another with --registry
    ");
}

#[test]
fn nobody_listening_is_no_answer() {
    let project = Project::new();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let said = project.run(["install", "counter@1.0.0", "--registry", &format!("http://{address}")]).expect(1);
    assert!(said.stderr.starts_with(&format!("error[E-REG-006]: http://{address} did not answer: ")), "{said:?}");
    assert_eq!(said.stdout, "Failed counter@1.0.0 E-REG-006\n1 of 1 failed\n");
}

#[test]
fn bytes_that_are_not_what_was_promised_are_refused() {
    let project = Project::new();
    let registry = Registry::start();
    let archive = project.built_tool("counter", "1.0.0", "payload");
    let other = project.built_tool("other", "1.0.0", "payload");
    registry.serve("counter", &archive);
    registry.put("files/counter.mur.zip", Answer::Body(fs::read(&other).unwrap()));
    let hash = refused(&project, &registry);
    // With the right hash, and still another artifact.
    let bytes = fs::read(&other).unwrap();
    let of_other: String = sha2::Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    registry.index(&entry("counter", &of_other));
    let misfiled = refused(&project, &registry);
    insta::assert_snapshot!(hash + &misfiled, @r"
    error[E-REG-002]: http://HOST/base/files/counter.mur.zip is damaged: its SHA-256 is HASH, and should be HASH
      hint: install it again from a good source
    error[E-REG-002]: http://HOST/base/files/counter.mur.zip is filed as counter@1.0.0, and is other@1.0.0
      hint: install it again from a good source
    ");
}

#[test]
fn a_redirect_is_followed_to_the_same_host_and_to_no_other() {
    let project = Project::new();
    let registry = Registry::start();
    let archive = project.built_tool("counter", "1.0.0", "payload");
    registry.serve("counter", &archive);
    let moved = registry.answers.lock().unwrap().remove("/base/files/counter.mur.zip").unwrap();
    registry.put("files/counter.mur.zip", Answer::Redirect("http://registry.example/counter.mur.zip".to_owned()));
    let elsewhere = refused(&project, &registry);
    registry.put("files/counter.mur.zip", Answer::Redirect("/base/files/counter.mur.zip".to_owned()));
    let round = refused(&project, &registry);
    insta::assert_snapshot!(elsewhere + &round, @r"
    error[E-REG-006]: http://HOST/base did not answer: http://HOST/base/files/counter.mur.zip: it redirects to another place, http://registry.example/counter.mur.zip
      hint: try again later, or name another with --registry
    error[E-REG-006]: http://HOST/base did not answer: http://HOST/base/files/counter.mur.zip: it redirects more than 5 times
      hint: try again later, or name another with --registry
    ");
    registry.put("files/counter.mur.zip", Answer::Redirect("/base/moved".to_owned()));
    registry.put("moved", moved);
    project.run(["install", "counter@1.0.0", "--registry", &registry.url()]).expect(0);
}

#[test]
fn an_answer_that_is_too_large_or_breaks_off_is_refused() {
    let project = Project::new();
    let registry = Registry::start();
    registry.index(&entry("counter", &"0".repeat(64)));
    registry.put("files/counter.mur.zip", Answer::Body(vec![0; 2_000]));
    let url = registry.url();
    let mut command = project.mur(["install", "counter@1.0.0", "--registry", &url]);
    command.env("MURMUR_MAX_ARTIFACT_DECOMPRESSED_BYTES", "1000");
    let large = project.start(command).wait().expect(1).stderr.replace(&registry.address.to_string(), "HOST");
    insta::assert_snapshot!(large, @r"
    error[E-REG-006]: http://HOST/base did not answer: http://HOST/base/files/counter.mur.zip: the answer is larger than 1000 bytes
      hint: try again later, or name another with --registry
    ");

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"schema");
        }
    });
    let said = project.run(["install", "counter@1.0.0", "--registry", &format!("http://{address}")]).expect(1);
    assert!(said.stderr.starts_with("error[E-REG-006]"), "{said:?}");
    assert!(said.stderr.contains("the answer broke off"), "{said:?}");
}

#[test]
fn a_projects_manifest_says_where_its_artifacts_come_from() {
    let project = Project::new().declaring(&["counter@1.0.0"]);
    let (named, configured) = (Registry::start(), Registry::start());
    let archive = project.built_tool("counter", "1.0.0", "payload");
    named.serve("counter", &archive);
    let declared = fs::read_to_string(project.path("murmur.yaml")).unwrap();
    let config = format!("registry:\n  sources:\n    - {{name: a, type: http, url: \"{}\"}}\n", configured.url());
    let project = project.with_file(".murmur/config.yaml", &config);
    let saying = |registry: &str| {
        fs::write(project.path("murmur.yaml"), format!("{declared}registry: {registry}\n")).unwrap();
    };

    // Neither the configured registry nor any other is asked.
    saying("{default: local}");
    for args in [&["install"][..], &["install", "counter@1.0.0"]] {
        let said = project.run(args).expect(1);
        assert!(said.stderr.starts_with("error[E-REG-001]: counter@1.0.0 was not found in "), "{}", said.stderr);
    }
    assert!(configured.asked.lock().unwrap().is_empty() && named.asked.lock().unwrap().is_empty());

    saying("{default: remote}");
    let said = project.run(["install"]).expect(1);
    assert!(said.stderr.contains(&format!("{} did not answer", configured.url())), "{}", said.stderr);

    configured.asked.lock().unwrap().clear();
    saying(&format!("{{remote_url: \"{}\"}}", named.url()));
    project.run(["install"]).expect(0);
    assert!(configured.asked.lock().unwrap().is_empty());
    assert_eq!(project.installed(), ["counter/1.0.0/counter-1.0.0.mur.zip"]);
}
