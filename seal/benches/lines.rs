//! What checking and appending cost beside what they cannot do without.
//!
//! - `check`: a trace in memory, walked and verified, beside SHA-256 over the same lines.
//! - `append`: events appended to a chain, beside bare writes of the same bytes.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark that cannot do its work must stop")]

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mur_seal::{
    Appenders, ChainOptions, ChainState, Expectation, InlineChain, InlineWalker, line_hash, link, verify_inline,
};
use sha2::{Digest, Sha256};

const TRACE_BYTES: usize = 32 << 20;
const LINE_BYTES: [usize; 2] = [478, 2048];

/// An event that makes a line of `line` bytes, its newline included.
fn event(line: usize) -> String {
    let around = "{\"event_type\":\"tool_call\",\"output\":\"\"".len() + ",\"prev_hash\":\"\"}\n".len() + 71;
    format!("{{\"event_type\":\"tool_call\",\"output\":\"{}\"}}", "x".repeat(line - around))
}

fn trace(line: usize) -> Vec<u8> {
    let event = event(line);
    let mut state = ChainState::new();
    let mut bytes = Vec::with_capacity(TRACE_BYTES + line);
    while bytes.len() < TRACE_BYTES {
        let line = link(&event, &state.head(), None).unwrap();
        state.push_chained(line_hash(line.as_bytes()));
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

fn check(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("check");
    group.sample_size(10);
    for line in LINE_BYTES {
        let bytes = trace(line);
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_with_input(BenchmarkId::new("sha256 of the lines", line), &bytes, |bencher, bytes| {
            bencher.iter(|| {
                let mut start = 0;
                memchr::memchr_iter(b'\n', bytes).fold(0, |all, end| {
                    let line = &bytes[start..end];
                    start = end + 1;
                    all ^ Sha256::digest(line)[0]
                })
            });
        });
        group.bench_with_input(BenchmarkId::new("walk", line), &bytes, |bencher, bytes| {
            bencher.iter(|| {
                let mut walker = InlineWalker::new();
                walker.update(bytes);
                walker.finish().state.lines()
            });
        });
        group.bench_with_input(BenchmarkId::new("verify", line), &bytes, |bencher, bytes| {
            let expectation = Expectation { stream: "trace.jsonl", session: None, keys: &[] };
            bencher.iter(|| verify_inline(&expectation, bytes, None).lines);
        });
    }
    group.finish();
}

fn append(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("append");
    let line = LINE_BYTES[0];
    group.sample_size(10).throughput(Throughput::Bytes(line as u64));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.jsonl");

    let bytes = "x".repeat(line);
    group.bench_function("bare write", |bencher| {
        bencher.iter_custom(|writes| {
            let _ = std::fs::remove_file(&path);
            let mut file = File::options().append(true).create(true).open(&path).unwrap();
            let start = Instant::now();
            for _ in 0..writes {
                file.write_all(bytes.as_bytes()).unwrap();
            }
            start.elapsed()
        });
    });
    let event = event(line);
    for (appenders, name) in [(Appenders::Sole, "sole appender"), (Appenders::Shared, "shared file")] {
        for threads in [1, 8] {
            group.bench_function(BenchmarkId::new(name, threads), |bencher| {
                bencher.iter_custom(|appends| {
                    let _ = std::fs::remove_file(&path);
                    let chain = InlineChain::open(&path, ChainOptions::new(appenders)).unwrap();
                    let each = appends.div_ceil(threads);
                    let start = Instant::now();
                    std::thread::scope(|scope| {
                        for _ in 0..threads {
                            let (chain, event) = (Arc::clone(&chain), &event);
                            scope.spawn(move || {
                                for _ in 0..each {
                                    chain.append(event).unwrap();
                                }
                            });
                        }
                    });
                    // Eight threads may do up to seven appends more than were asked for.
                    start.elapsed().mul_f64(appends as f64 / (each * threads) as f64)
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, check, append);
criterion_main!(benches);
