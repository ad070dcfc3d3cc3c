//! What is recorded: the events of one short script session, the messages of its conversation, its score, its outcome.

use crate::fixed::{CLOCK_MS, CONVERSATION_CONTEXT, SESSION, id};

/// One event of [`SESSION`]: the envelope in its order, then `members`, each `"name":value`.
///
/// `number` tells the event's id and its time, a second each; `parent` is the number of the event it belongs to.
pub fn event(event_type: &str, number: u64, parent: Option<u64>, members: &[&str]) -> String {
    let parent = parent.map_or("null".into(), |parent| format!("\"{}\"", id("evt", parent)));
    let mut event = format!(
        "{{\"event_type\":\"{event_type}\",\"event_id\":\"{}\",\"parent_id\":{parent},\"session_id\":\"{SESSION}\",\"timestamp\":{}",
        id("evt", number),
        CLOCK_MS + number * 1000,
    );
    for member in members {
        event.push(',');
        event.push_str(member);
    }
    event.push('}');
    event
}

/// The five events of a script session that calls one tool.
pub fn script_events() -> Vec<String> {
    let task = format!("\"task_id\":\"{}\"", id("tsk", 1));
    let context = format!("\"context_id\":\"{CONVERSATION_CONTEXT}\"");
    vec![
        event(
            "session_start",
            1,
            None,
            &[
                "\"capsule_name\":\"reviewer\"",
                "\"capsule_version\":\"0.3.0\"",
                "\"capabilities\":[\"filesystem\"]",
                "\"tools_declared\":[\"word-count\"]",
                "\"containment_declared\":\"scoped\"",
                "\"containment_achieved\":\"scoped\"",
                "\"resumed_from\":null",
                "\"effective_grants\":{\"runtime_writes\":[{\"path\":\"trace.jsonl\",\"kind\":\"file\",\"scope\":\"session\",\"condition\":\"always\"}]}",
            ],
        ),
        event(
            "task_start",
            2,
            Some(1),
            &[&task, &context, "\"source\":\"task_md\"", "\"origin\":\"user\"", "\"message_parts_bytes\":28"],
        ),
        event(
            "tool_call",
            3,
            Some(2),
            &[
                "\"turn\":0",
                &task,
                "\"tool_name\":\"word-count\"",
                "\"tool_call_id\":null",
                "\"input\":{\"path\":\"input.txt\",\"title\":\"Grüße, 日本\"}",
                "\"input_bytes\":51",
                "\"output_bytes\":13",
                "\"duration_ms\":4",
                "\"status\":\"ok\"",
            ],
        ),
        event(
            "task_end",
            4,
            Some(2),
            &[
                &task,
                "\"exit_status\":\"ok\"",
                "\"duration_ms\":1950",
                "\"turns\":0",
                "\"tool_calls\":1",
                "\"shell_calls\":0",
            ],
        ),
        event(
            "session_end",
            5,
            Some(1),
            &["\"total_turns\":0", "\"total_tool_calls\":1", "\"duration_ms\":4000", "\"exit_status\":\"ok\""],
        ),
    ]
}

/// The scoring hook's three lines.
pub fn eval_lines() -> String {
    let score = |event_type: &str, scorer: &str| {
        format!(
            "{{\"record_type\":\"event_score\",\"ts\":{},\"turn\":0,\"event_type\":\"{event_type}\",\"scorer\":\"{scorer}\",\"result\":\"pass\",\"score\":1.0,\"reason\":\"\"}}\n",
            CLOCK_MS + 6000
        )
    };
    score("session_end", "exit_ok")
        + &score("tool_call", "tool_sequence")
        + &format!(
            "{{\"record_type\":\"dataset_run\",\"ts\":{},\"dataset_id\":null,\"case_id\":null,\"overall\":\"pass\",\"scores\":{{\"exit_ok\":1.0,\"tool_sequence\":1.0}}}}\n",
            CLOCK_MS + 6001
        )
}

/// How the session ended, for the one that delegated it.
pub fn completion() -> String {
    format!(
        "{{\"delegation_id\":\"{}\",\"session_id\":\"{SESSION}\",\"outcome\":\"ok\",\"reason\":null}}\n",
        id("dlg", 1)
    )
}

/// Four messages of a conversation, one a line.
pub fn conversation_lines() -> String {
    ["How many words are in input.txt?", "I count them.", "Two more, please.", "Thirteen words."]
        .iter()
        .zip(1..)
        .map(|(text, number)| message(if number % 2 == 1 { "user" } else { "assistant" }, text, number))
        .collect()
}

/// One message of a conversation record, with its newline.
pub fn message(role: &str, text: &str, number: u64) -> String {
    format!(
        "{{\"role\":\"{role}\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}],\"id\":\"{}\"}}\n",
        id("msg", number)
    )
}

/// The header line of a conversation record, with its newline. `dropped`: how many messages truncation took away, if it
/// was truncated.
pub fn conversation_header(dropped: Option<u64>) -> String {
    let truncated = dropped.map_or(String::new(), |dropped| {
        format!(
            ",\"truncated\":{{\"dropped\":{dropped},\"oldest_surviving_id\":\"{}\",\"last_dropped_id\":\"{}\",\"at_ms\":{}}}",
            id("msg", dropped + 1),
            id("msg", dropped),
            CLOCK_MS + 90_000
        )
    });
    format!("{{\"type\":\"murmur.record\",\"capsule\":\"reviewer\",\"created_ms\":{CLOCK_MS}{truncated}}}\n")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_one_json_object() {
        let texts = [eval_lines(), completion(), conversation_lines(), conversation_header(Some(2))];
        let lines = texts.iter().flat_map(|text| text.lines().map(String::from)).chain(script_events());
        for line in lines {
            assert!(serde_json::from_str::<serde_json::Value>(&line).unwrap().is_object(), "{line}");
        }
    }

    #[test]
    fn an_event_begins_with_the_envelope_in_its_order() {
        assert!(event("task_end", 4, Some(2), &["\"turns\":0"]).starts_with(
            "{\"event_type\":\"task_end\",\"event_id\":\"evt_019ad735840070008000000000000004\",\"parent_id\":\"evt_019ad735840070008000000000000002\",\"session_id\":\"ses_019ad735840070008000000000000001\",\"timestamp\":1764547204000,"
        ));
    }
}
