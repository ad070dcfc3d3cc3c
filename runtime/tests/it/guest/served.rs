//! The packages that guests are served besides their tools.

use super::scene::{Log, Scene, courier, tool};
use mur_runtime::guest::{
    ArtifactInfo, ArtifactManager, ArtifactRuntime, ArtifactSummary, Grants, GuestError, RuntimeState, Tool, ToolInput,
    Witness,
};
use std::sync::Arc;

struct Shelf;

fn hammer() -> ArtifactSummary {
    ArtifactSummary { name: "hammer".to_owned(), version: "1.0.0".to_owned(), runtime: ArtifactRuntime::Native }
}

impl ArtifactManager for Shelf {
    fn list(&self) -> Result<Vec<ArtifactSummary>, String> {
        let saw = ArtifactSummary { name: "saw".to_owned(), runtime: ArtifactRuntime::Wasm, ..hammer() };
        Ok(vec![hammer(), saw])
    }

    fn describe(&self, name: &str) -> Result<ArtifactInfo, String> {
        if name != "hammer" {
            return Err(format!("{name} is not installed"));
        }
        let ArtifactSummary { name, version, runtime } = hammer();
        let description = "Drives nails.".to_owned();
        let (tags, input_schema) = (vec!["tool".to_owned(), "steel".to_owned()], Some("{}".to_owned()));
        Ok(ArtifactInfo { name, version, runtime, description, tags, input_schema, output_schema: None })
    }

    fn pull(&self, name: &str, version: &str) -> Result<ArtifactSummary, String> {
        Ok(ArtifactSummary { name: name.to_owned(), version: version.to_owned(), runtime: ArtifactRuntime::Wasm })
    }

    fn diagnostics(&self) -> Result<RuntimeState, String> {
        let capabilities = vec!["filesystem".to_owned(), "network".to_owned()];
        Ok(RuntimeState { capsule_id: "test@0.1.0".to_owned(), installed: vec![hammer()], capabilities })
    }
}

const FUNCTIONS: [&str; 7] =
    ["list", "describe hammer", "describe nail", "search nail", "pull nail 2.0.0", "remove hammer", "diagnostics"];

#[tokio::test]
async fn a_capsule_manages_artifacts_through_whoever_its_caller_names() {
    let mut told = String::new();
    for function in FUNCTIONS {
        let mut scene = Scene::new(&format!("manage {function}"));
        scene.toolbox.manage(Arc::new(Shelf));
        told += &format!("{function}: {}\n", scene.report().await);
    }
    insta::assert_snapshot!(told, @r#"
    list: ok: hammer@1.0.0 native, saw@1.0.0 wasm
    describe hammer: ok: hammer@1.0.0 native "Drives nails." tool+steel Some("{}") None
    describe nail: error: nail is not installed
    search nail: error: a capsule cannot search for artifacts: `nail` was not looked for
    pull nail 2.0.0: ok: nail@2.0.0 wasm
    remove hammer: error: a capsule cannot remove artifacts: `hammer` stays
    diagnostics: ok: test@0.1.0 [hammer@1.0.0 native] filesystem+network
    "#);
}

#[tokio::test]
async fn without_a_manager_every_question_is_answered_with_an_error() {
    for function in FUNCTIONS {
        let report = Scene::new(&format!("manage {function}")).report().await;
        assert_eq!(report, "error: this session has no artifacts to manage", "{function}");
    }
}

#[tokio::test]
async fn a_capsule_is_told_that_it_has_no_shell_and_no_peers() {
    insta::assert_snapshot!(Scene::new("shell bash").report().await, @"error: shell is not granted: `bash` was not run");
    insta::assert_snapshot!(
        Scene::new("message http://peer").report().await,
        @"error: no peer can be reached from a script session: the message to `http://peer` was not sent"
    );
}

/// Calls a tool that has nothing, and returns what the witness heard.
async fn heard(tool: Tool, data: &str) -> Vec<String> {
    let log = Arc::<Log>::default();
    let witness: Arc<dyn Witness> = log.clone();
    let input = ToolInput { data: Some(data.to_owned()), log_path: None };
    tool.run("tool", &Grants::default(), &input, &witness).await.unwrap();
    log.emissions.lock().unwrap().clone()
}

#[tokio::test]
async fn what_a_guest_tells_of_its_work_is_heard_from_either_interface() {
    let mut told = String::new();
    for (tool, data) in [
        (courier(), "say text"),
        (courier(), "think text"),
        (tool(), "say text"),
        (tool(), "think text"),
        (tool(), "started call-1 hammer"),
        (tool(), "input call-1 18446744073709551615"),
    ] {
        told += &format!("{data}: {}\n", heard(tool, data).await.join(", "));
    }
    insta::assert_snapshot!(told, @r#"
    say text: tool Text("text")
    think text: tool Thinking("text")
    say text: tool Text("text")
    think text: tool Thinking("text")
    started call-1 hammer: tool ToolCallStarted { id: "call-1", name: "hammer" }
    input call-1 18446744073709551615: tool ToolCallInput { id: "call-1", bytes: 18446744073709551615 }
    "#);
    assert!(heard(tool(), "say ").await.is_empty(), "nothing was told");
}

#[tokio::test]
async fn a_long_text_is_heard_whole_and_in_small_pieces() {
    let pieces = heard(tool(), "chatter 100000").await;
    let texts: Vec<_> = pieces.iter().map(|piece| piece.strip_prefix("tool Text(\"").unwrap()).collect();
    let texts: Vec<_> = texts.iter().map(|piece| piece.strip_suffix("\")").unwrap()).collect();
    assert_eq!(texts.concat(), "ä".repeat(50_000));
    assert!(texts.iter().all(|text| text.len() <= 8192), "{:?}", texts.iter().map(|text| text.len()).max());
}

#[tokio::test]
async fn a_tool_that_asks_for_input_ends_since_nobody_can_answer() {
    let witness: Arc<dyn Witness> = Arc::<Log>::default();
    let input = ToolInput { data: Some("ask who?".to_owned()), log_path: None };
    match tool().run("tool", &Grants::default(), &input, &witness).await {
        Err(error @ GuestError::Trapped { .. }) => insta::assert_snapshot!(
            error,
            @"the guest trapped: it asked for input, and nobody can answer in a script session"
        ),
        other => panic!("{other:?}"),
    }
    let mut scene = Scene::new("call tool ask who?").with_tool_here("tool");
    insta::assert_snapshot!(
        scene.report().await,
        @"no result: tool `tool`: the guest trapped: it asked for input, and nobody can answer in a script session"
    );
}
