//! What there is to say of every verdict, finding, statement, open question and exit code.
//!
//! Verdicts and findings are matched without a wildcard: one without an explanation does not compile.

use mur_seal::{Code, Verdict};

use super::Explanation;

const fn says(meaning: &'static str, causes: &'static str, advice: &'static str) -> Explanation {
    Explanation { meaning, causes, advice }
}

/// What a verdict means.
pub(crate) fn of_verdict(verdict: Verdict) -> Explanation {
    match verdict {
        Verdict::Absent => says(
            "There is neither a stream nor its seal. Of a whole record: the directory holds none of its streams.",
            "Most sessions have no scores and no completion. A whole record is absent where a wrong directory was named.",
            "For a stream, nothing, unless you know that the session had one. For a record, name the directory that holds \
             trace.jsonl, or search for it with --recursive.",
        ),
        Verdict::Verified => says(
            "A key that you gave made the seal, and every line that the seal or the chain binds is the line that was sealed: \
             none of them was added, removed, edited or reordered since. Lines that a note names as lines-unbound are bound \
             by nothing, and of them it proves nothing.",
            "The record is as its host left it, but for lines that such a note names.",
            "Read what the report says was not checked and cannot be known: a good seal does not make what the host wrote \
             true, and an older record with its older seal is verified too.",
        ),
        Verdict::Unverifiable => says(
            "Nothing contradicts the record, but no key that you gave vouches for it.",
            "It was sealed by another host, or before a key was replaced; or it was written before records were sealed.",
            "Get record-seal.pub from the host that wrote it, by a way that you trust, and give it with --key. The report \
             names the id of the key that is wanted.",
        ),
        Verdict::Unsealed => says(
            "The chain holds, but no seal covers exactly the lines that are there. What no seal covers could be anybody's.",
            "The session is still running, or was killed before it could seal its record; or a copy was made while it ran.",
            "If it may still be running, wait, or watch it with --follow. Otherwise trust the lines up to the last sealed one \
             alone; the host can seal no more of it.",
        ),
        Verdict::Changed => says(
            "Something contradicts the chain or the seal: the record is not what was sealed. It does not say who changed it, \
             or why.",
            "A line was edited, inserted, removed or reordered; or a tool rewrote line ends on the way; or a seal belongs to \
             another stream or session.",
            "Look at the findings: they name the lines. Compare with a copy that took another way, and keep both. Notes tell \
             where a known tool does such a thing.",
        ),
    }
}

/// What a finding means.
pub(crate) fn of_code(code: Code) -> Explanation {
    match code {
        Code::LineChanged => says(
            "A line is not the line that the link after it, or the seal, names.",
            "The line was edited, or another one was put in its place, or lines before it were removed or inserted.",
            "Look at that line and its neighbours. Compare them with another copy of the record.",
        ),
        Code::BeginningMissing => says(
            "The first line names a line before it, so the stream does not begin where it began.",
            "The front was cut off, by hand or by a program that rotates logs.",
            "Look for the rest, or for another copy. A record that is too long is removed whole, and never cut.",
        ),
        Code::GapChanged => says(
            "One of the lines between two chained ones, which the later one binds by its gap_hash, is not what it was.",
            "A torn line, or the chained line before it, was edited after the chain went on.",
            "Compare these lines with another copy of the record.",
        ),
        Code::GapMisplaced => says(
            "A line says that it closes a gap, and there is none before it.",
            "Lines without a link were removed, or the line was written by something that is no host.",
            "Compare with another copy of the record.",
        ),
        Code::LinesMissing => says(
            "The seal covers more lines than are there.",
            "The end was cut off, an older copy of the stream was put back, or a copy was not made to its end.",
            "Copy the record again from its host. If it is short there too, lines were removed.",
        ),
        Code::LineInserted => says(
            "A line stands where the seal lists none.",
            "Somebody or something wrote into the stream after it was sealed.",
            "Look at that line; the sealed lines around it are listed in the seal.",
        ),
        Code::LineRemoved => says(
            "A line that the seal lists is not there.",
            "It was removed after the stream was sealed.",
            "Look for another copy of the record: the seal tells when the right line is found again.",
        ),
        Code::RewriteReported => says(
            "The host itself recorded, in the trace, that it found the file rewritten while the session ran.",
            "Something other than the host wrote to the trace, or put another file in its place.",
            "Do not rely on any line before that report. Find out what could write there; no capsule should.",
        ),
        Code::PointedLinesChanged => says(
            "The trace's seal says how a conversation began, and it does not begin so any more.",
            "Messages were edited or removed after the session.",
            "Compare with another copy of the conversation. Truncation by policy is noted apart and does not read so.",
        ),
        Code::StreamMissing => says(
            "There is a seal, and the stream that it seals is gone.",
            "The stream was removed or renamed, or was left out of a copy.",
            "Copy the record again, all of it. The seal says how many lines are missing.",
        ),
        Code::StreamNotAFile => says(
            "Where the stream should be stands a link, a directory, a FIFO or something else that is no regular file. It was \
             not read.",
            "Something was put there in its place, or a copy was made that keeps links.",
            "Put the file itself there. A link is refused even where it leads to the right file.",
        ),
        Code::SealNotAFile => says(
            "Where the seal should be stands something that is no regular file, or is larger than a seal of this stream can be.",
            "Something was put there in its place.",
            "Look for another copy of the seal.",
        ),
        Code::SealMalformed => says(
            "The seal's bytes are not a seal: not JSON, members missing or doubled, or a hash in another spelling.",
            "It was edited or reformatted, or cut off on the way.",
            "Copy the seal again, byte for byte.",
        ),
        Code::SealOfOtherStream => says(
            "The seal was made for a stream of another name.",
            "Seals were exchanged, or a file was renamed.",
            "Put each seal beside the stream that it names.",
        ),
        Code::SealOfOtherChain => says(
            "The seal was made for a chain of another kind than this stream has.",
            "It is the seal of another stream, or was edited.",
            "Put each seal beside the stream that it names.",
        ),
        Code::SealOfOtherSession => says(
            "The seal was made for another session than the one that this is to be the record of.",
            "Files of two records were mixed, or another session's record stands here; or --session names the wrong one.",
            "Check the session's id first. Then look for the files of the right session.",
        ),
        Code::SignatureBad => says(
            "The seal names a key that you gave, and its signature is not good under that key.",
            "The seal was edited, or made by somebody without the key.",
            "Do not rely on the stream. Look for another copy of the seal.",
        ),
        Code::HeadNotAsTold => says(
            "The trace's sealed head is not the one that was noted when the session ended.",
            "An older trace was put back together with its older seal, or --head is that of another session.",
            "Check the noted value first. If it is right, this is not the record that the session ended with.",
        ),
        Code::MembersChanged => says(
            "The seal's time, chain kind or conversation is not what was signed.",
            "One of these members was edited, or taken from another seal.",
            "Rely on none of the three. Look for another copy of the seal.",
        ),

        Code::NoSeal => says(
            "There is no seal beside the stream.",
            "The session still runs, was killed, or could not seal; or the seal was removed, or left out of a copy.",
            "Copy the record again, the .seal files too. Without a seal the lines may be anybody's.",
        ),
        Code::LinesNotSealed => says(
            "Lines come after those that the seal covers.",
            "The session was killed after its last seal, or goes on; or lines were added.",
            "Rely on the sealed lines alone, unless a later seal is to be had.",
        ),
        Code::TailNotSealed => says(
            "Bytes follow the last newline, and no seal covers them.",
            "The host was stopped while it wrote a line, or something was added.",
            "Rely on the whole, sealed lines alone.",
        ),

        Code::NoKey => says(
            "No public key was given, so no signature was checked.",
            "The check was asked for without a key.",
            "Give the host's record-seal.pub with --key.",
        ),
        Code::KeyUnknown => says(
            "The seal names a key that was not given. Nothing contradicts it, and nothing vouches for it.",
            "The record is another host's, or from before the host's key was replaced.",
            "Get the key of that id, by a way that you trust, and give it too: --key may be repeated, and --keys takes a \
             directory.",
        ),
        Code::FormatUnknown => says(
            "The seal's format is one that this program does not know.",
            "It was made by a later version.",
            "Use a newer mur-verify.",
        ),
        Code::AlgorithmUnknown => says(
            "The seal's algorithm is one that this program does not know.",
            "It was made by a later version, or by another program.",
            "Use a newer mur-verify.",
        ),
        Code::OlderRecord => says(
            "The stream was written before records were chained and sealed. There is nothing to check it by.",
            "It is an old record; or every link was stripped from it and its seal removed.",
            "If its host sealed records at that time, look for another copy.",
        ),

        Code::NoStream => says(
            "There is neither a stream nor a seal.",
            "The session had no such stream; most have no scores and no completion.",
            "Nothing, unless you know that the session had one: both files may have been removed.",
        ),

        Code::LinesUnlinked => says(
            "Lines carry no link to the line before.",
            "A crash tore a line, or another writer added it.",
            "Nothing, where a later line binds them. Where that is not so, another note says it.",
        ),
        Code::LinesUnbound => says(
            "Lines stand before a gap that was closed without a gap_hash, so that nothing binds them.",
            "Another writer ended a torn line and went on. This project's own never leaves such lines.",
            "Do not rely on the lines named: they can be altered unseen.",
        ),
        Code::GenesisForeign => says(
            "Line 1 names its predecessor in another writer's way.",
            "The trace was begun by another program.",
            "Nothing: no line stands before line 1 either way.",
        ),
        Code::TailTorn => says(
            "Bytes follow the last newline: a line that was not written to its end.",
            "The host was stopped in the middle of a write, or is writing it at this moment.",
            "Check again if the session still runs. Otherwise that line is incomplete evidence.",
        ),
        Code::MembersUnsigned => says(
            "The seal's time, chain and conversation are not authenticated: it has no members_signature.",
            "Somebody stripped the member, which anybody can do without a key; or another writer of the same format made the \
             seal. This project's host never leaves it out.",
            "Neither the time nor a pointer to a conversation is authenticated: either can be forged, and a pointer can have \
             been removed. Look for another copy of the seal. The lines are covered all the same.",
        ),
        Code::SessionNotEnded => says(
            "The trace begins as that of a session and does not say that the session ended.",
            "The session goes on, or was killed; or an older trace was put back together with its older seal.",
            "Wait, if it goes on. If you know that it ended, this is not all of its record: note heads elsewhere, and give them \
             with --head.",
        ),
        Code::SessionNamedOtherwise => says(
            "The trace's first line names another session than the one that it was checked for.",
            "--session names another session, or the record was begun under another id.",
            "Check which session you mean.",
        ),
        Code::SessionNotNamed => says(
            "No trace says which session the stream should be of.",
            "The trace is missing, or its first line names no session.",
            "Give the session's id with --session.",
        ),
        Code::LineEndsRewritten => says(
            "Lines end in CR LF. No host writes that, and it changes every hash.",
            "The file went through a tool that rewrites line ends: a version control system, a mail program, an editor.",
            "Copy it again in binary mode. To try: with the carriage returns removed, a copy should verify.",
        ),
        Code::ByteOrderMark => says(
            "The file begins with a byte order mark, which became part of line 1.",
            "An editor or a conversion added it.",
            "Copy the file again. To try: without its first three bytes, a copy should verify.",
        ),
        Code::FinalNewlineMissing => says(
            "All that the last line lacks is its newline.",
            "An editor or a script that trims the ends of files.",
            "Copy the file again. To try: with a newline added, a copy should verify.",
        ),
        Code::FinalNewlineDoubled => says(
            "All that is too much is empty lines at the end.",
            "An editor or a script that adds a newline to whatever it writes.",
            "Copy the file again. To try: without the empty lines, a copy should verify.",
        ),
        Code::LineSplit => says(
            "A line was split where something took a character inside it for a line's end.",
            "A tool that ends lines at U+2028, U+0085 or a vertical tab, as some languages' splitting of lines does.",
            "Copy the file again, byte for byte. Lines of a record end at the newline byte alone.",
        ),
        Code::LinesJoined => says(
            "Lines were joined where something put another character in the place of a newline.",
            "A tool that rewrites line ends.",
            "Copy the file again, byte for byte.",
        ),
        Code::LineRepeated => says(
            "A line repeats one before it.",
            "A copy was resumed in the wrong place, a log collector delivered twice, or a line was doubled by hand.",
            "Copy the file again. To try: without the repeated line, a copy should verify.",
        ),
        Code::ChainForked => says(
            "Two lines follow the same line.",
            "Two programs wrote to the file without waiting for each other, or lines were put in between.",
            "Look at both lines. A host writes one after the other under a lock.",
        ),
        Code::BeingWritten => says(
            "The file grew, or its seal was replaced, while it was read.",
            "The session still runs.",
            "Check again when it has ended, or watch it with --follow.",
        ),
        Code::TruncatedByPolicy => says(
            "The conversation was truncated by policy after the session, so what the trace's seal points at is gone.",
            "A retention rule, or `mur conversation truncate`.",
            "Nothing, if that policy is yours. What was dropped cannot be checked any more.",
        ),
        Code::SealersDiffer => says(
            "The seal was made with another key than the seals before it in the record.",
            "The host's key was replaced while the session ran, or files of two hosts were mixed.",
            "Ask the host whether its key was replaced then. If not, look for another copy of the stream and its seal.",
        ),
        Code::RecordInside => says(
            "The record lies inside another one, in a place where that one's capsule may write.",
            "A capsule copied a record there, or made one; or somebody put one record into another by hand.",
            "Do not take it for a session of its own: a genuine record can be copied anywhere. Name the directory of the \
             records with --recursive, and not the working directory around it.",
        ),
        Code::ConversationNotFound => says(
            "The trace's seal names a conversation that was not to be had.",
            "No --conversations was given, or that directory does not hold it.",
            "Give the directory in which the host keeps conversations, or a copy of it.",
        ),
    }
}

/// What checks establish, by the codes of `checked`.
pub(crate) const STATEMENTS: [(&str, Explanation); 5] = [
    (
        "lines-linked",
        says(
            "The lines named follow one another: each carries the hash of the one before. It does not say who wrote them.",
            "It holds for every trace that was written by a host and not edited since, sealed or not.",
            "For who wrote them, look for lines-sealed. A chain without a seal can be made anew by anybody.",
        ),
    ),
    (
        "seal-signed",
        says(
            "The stream's seal was signed with the key named, which you gave.",
            "The host that has the private half of that key made the seal.",
            "For what it says of the lines, look for lines-sealed: a good seal may lie beside lines that were changed.",
        ),
    ),
    (
        "lines-sealed",
        says(
            "The lines named are those that the seal covers, in their order.",
            "The stream is as it was when it was sealed. Lines that are not named may have come later, or be bound by nothing.",
            "Rely on these lines as far as you trust the host. Whether it is the last state is the question older-pair.",
        ),
    ),
    (
        "session-fits",
        says(
            "The stream was sealed for the session that it was checked for.",
            "The seal names the session given with --session, or by `mur trace verify`.",
            "Nothing. Without --session, the record itself says which session it is of.",
        ),
    ),
    (
        "head-as-noted",
        says(
            "The trace's sealed head is the one that was noted elsewhere, and that --head gave.",
            "The record is the one that the session had when the head was noted.",
            "Nothing. It is what tells the last trace from an older one with its older seal.",
        ),
    ),
];

/// What checks leave open, by the codes of `not_checked` and `cannot_be_known`.
pub(crate) const QUESTIONS: [(&str, Explanation); 9] = [
    (
        "session-meant",
        says(
            "Whether this is the record of the session that you mean: which one it is was read from the record.",
            "The check was not told a session.",
            "Give the session's id with --session.",
        ),
    ),
    (
        "conversation",
        says(
            "Whether the conversation that the trace's seal names is what the session wrote.",
            "It was not looked at: no --conversations was given, or that directory does not hold it.",
            "Give the directory in which the host keeps conversations, or a copy of it.",
        ),
    ),
    (
        "signature",
        says(
            "Who made the seal: its signature was not checked.",
            "The key that it names was not given.",
            "Get that host's record-seal.pub by a way that you trust, and give it with --key.",
        ),
    ),
    (
        "lines-unsealed",
        says(
            "Whether the lines that no seal covers are what the host wrote, and all that it wrote.",
            "The session runs, or was killed before it could seal them.",
            "Only the host can seal them. Rely on the sealed lines alone.",
        ),
    ),
    (
        "older-pair",
        says(
            "Whether this is the last state of the stream. An older one, put back with its older seal, was genuine once.",
            "It is so for every record that is checked by itself.",
            "Note the head elsewhere when a session ends, for example from its span capsule.session, and give it with --head.",
        ),
    ),
    (
        "stream-removed",
        says(
            "Whether there ever was such a stream. One that was removed together with its seal leaves nothing behind.",
            "It is so for every stream that is absent.",
            "Note elsewhere which streams a session had.",
        ),
    ),
    (
        "record-missing",
        says(
            "Whether a whole record is missing. One that was removed leaves nothing behind.",
            "It is so for every set of records.",
            "Keep a list of sessions elsewhere, and compare.",
        ),
    ),
    (
        "truth",
        says(
            "Whether what the host wrote is what happened. A seal says who wrote it, and not that it is true.",
            "It is so for every record.",
            "Trust in the host, and in how it keeps its private key, has to come from elsewhere.",
        ),
    ),
    (
        "time",
        says(
            "Whether the times in the seals are right. They are those of the host's clock.",
            "It is so for every seal.",
            "Compare with a time that was noted elsewhere, for example when the record's head was.",
        ),
    ),
];

/// What the program ends with.
pub(crate) const EXIT_CODES: [(&str, Explanation); 7] = [
    (
        "0",
        says(
            "Every record is verified.",
            "All records are as their hosts left them.",
            "Nothing. `mur-verify explain verified` says what it proves.",
        ),
    ),
    (
        "1",
        says(
            "At least one record was changed.",
            "The report names the streams, the lines and the findings.",
            "See `mur-verify explain changed`, and each finding's own explanation.",
        ),
    ),
    (
        "2",
        says(
            "Something could not be checked. It is above every verdict: what was not checked is no success.",
            "Wrong usage, a key that is none, or something that cannot be read. Each is told on stderr.",
            "Mend what stderr names, and check again. The results that were printed hold all the same.",
        ),
    ),
    (
        "3",
        says(
            "At least one record is unsealed, and none is changed.",
            "A session runs, or was killed.",
            "See `mur-verify explain unsealed`.",
        ),
    ),
    (
        "4",
        says(
            "At least one record could not be verified with the keys given, and none is worse.",
            "A key is missing from those given.",
            "See `mur-verify explain unverifiable`.",
        ),
    ),
    (
        "5",
        says(
            "There was nothing to verify in at least one place, and nothing worse.",
            "A wrong directory, or an empty one.",
            "Name the directory that holds trace.jsonl, or search for it with --recursive.",
        ),
    ),
    (
        "6",
        says(
            "Every record is verified, and at least one has notes. Only --strict makes them count.",
            "The notes are in the report.",
            "Look up each note's code.",
        ),
    ),
];
