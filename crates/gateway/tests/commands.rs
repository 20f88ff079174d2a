//! What a local command may print, and how long it runs: real programs that play a script.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use mnemon_gateway::{Gateway, Limits, Outgoing, Target, Upstream, UpstreamError};
use mnemon_testkit::eventually;
use tempfile::TempDir;

const NOISE_BYTES_MAX: usize = 4 << 20;
/// The largest answer, and what may come around it.
const LINE_BYTES_MAX: usize = (1 << 20) + (64 << 10);
const TOO_LARGE: UpstreamError = UpstreamError::TooLarge { bytes_max: 1 << 20 };
const TOO_LOUD: UpstreamError = UpstreamError::Garbled("it keeps sending messages without answering");

const GREETING: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#;

/// Answers the handshake, then answers one question with whatever is in the files next to it, then waits until its
/// input ends.
const SCRIPT: &str = r#"
    echo $$ > "$0/pid"
    read -r _; cat "$0/greeting"
    read -r _; read -r _; cat "$0/aside" >&2; cat "$0/list"
    while read -r _; do :; done
"#;

/// A command and the gateway that starts it.
struct Play {
    folder: TempDir,
    gateway: Gateway,
}

impl Play {
    fn write(greeting: &str, list: &str, aside: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in [("greeting", greeting), ("list", list), ("aside", aside)] {
            std::fs::write(folder.path().join(name), text).expect("a file");
        }
        Self { folder, gateway: Gateway::new(Outgoing::default(), Limits::default()) }
    }

    fn within(self, limits: Limits) -> Self {
        Self { gateway: Gateway::new(Outgoing::default(), limits), ..self }
    }

    async fn perform(&self) -> Result<usize, UpstreamError> {
        let folder = self.folder.path().display().to_string();
        let words = ["sh", "-c", SCRIPT, &folder].map(str::to_owned).to_vec();
        let target = Target::Command { words, secrets: Vec::new() };
        let way = Upstream { owner: [1; 16], name: "local".to_owned(), revision: 1, target };
        self.gateway.list_tools(&way).await.map(|listing| listing.tools.len())
    }

    /// Whether the program still runs.
    fn is_running(&self) -> bool {
        let pid = std::fs::read_to_string(self.folder.path().join("pid")).expect("it was started");
        let state = std::fs::read_to_string(PathBuf::from("/proc").join(pid.trim()).join("stat")).unwrap_or_default();
        // A process that has ended and was not collected yet is a zombie.
        !state.is_empty() && !state.contains(") Z ")
    }
}

/// Lines of this many bytes in total, none of them an answer to us.
fn noise(line: &str, bytes: usize) -> String {
    let line = format!("{line}\n");
    let mut text = line.repeat(bytes / line.len() - 1);
    text.push_str(&"#".repeat(bytes - text.len() - 1));
    text.push('\n');
    assert_eq!(text.len(), bytes);
    text
}

const KINDS: [&str; 4] = [
    "a word for people",
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#,
    r#"{"jsonrpc":"2.0","id":471,"result":{}}"#,
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"what?"}}"#,
];

#[tokio::test]
async fn noise_before_the_first_answer_is_tolerated_up_to_its_limit() {
    for kind in KINDS {
        let greeting = |bytes: usize| format!("{}{GREETING}\n", noise(kind, bytes));
        let list = format!("{LIST}\n");
        assert_eq!(Play::write(&greeting(NOISE_BYTES_MAX), &list, "").perform().await, Ok(0), "{kind}");
        assert_eq!(Play::write(&greeting(NOISE_BYTES_MAX + 1), &list, "").perform().await, Err(TOO_LOUD), "{kind}");
    }
}

#[tokio::test]
async fn an_answer_resets_the_count_of_noise() {
    let greeting = format!("{}{GREETING}\n", noise(KINDS[0], NOISE_BYTES_MAX));
    let list = |bytes: usize| format!("{}{LIST}\n", noise(KINDS[0], bytes));
    assert_eq!(Play::write(&greeting, &list(NOISE_BYTES_MAX), "").perform().await, Ok(0));
    assert_eq!(Play::write(&greeting, &list(NOISE_BYTES_MAX + 1), "").perform().await, Err(TOO_LOUD));
}

/// It is not read, so it is not counted; and a program that prints much there must not block on a reader.
#[tokio::test]
async fn standard_error_does_not_count_as_noise() {
    let aside = noise(KINDS[0], 4 * NOISE_BYTES_MAX);
    let play = Play::write(&format!("{GREETING}\n"), &format!("{LIST}\n"), &aside);
    assert_eq!(play.perform().await, Ok(0));
}

#[tokio::test]
async fn a_line_is_read_up_to_its_limit() {
    let list = |bytes: usize| format!("{LIST}{}\n", " ".repeat(bytes - LIST.len() - 1));
    let greeting = format!("{GREETING}\n");
    assert_eq!(Play::write(&greeting, &list(LINE_BYTES_MAX), "").perform().await, Ok(0));
    assert_eq!(Play::write(&greeting, &list(LINE_BYTES_MAX + 1), "").perform().await, Err(TOO_LARGE));
}

#[tokio::test]
async fn a_commands_answer_is_passed_on_up_to_its_limit() {
    let list = |bytes: usize| {
        let result = |text: &str| format!(r#"{{"tools":[],"_meta":"{text}"}}"#);
        let result = result(&"x".repeat(bytes - result("").len()));
        assert_eq!(result.len(), bytes);
        format!("{{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{result}}}\n")
    };
    let greeting = format!("{GREETING}\n");
    assert_eq!(Play::write(&greeting, &list(1 << 20), "").perform().await, Ok(0));
    assert_eq!(Play::write(&greeting, &list((1 << 20) + 1), "").perform().await, Err(TOO_LARGE));
}

#[tokio::test]
async fn an_unused_command_is_stopped() {
    let limits = Limits { idle_max: Duration::from_secs(2), ..Limits::default() };
    let play = Play::write(&format!("{GREETING}\n"), &format!("{LIST}\n"), "").within(limits);
    let begun = Instant::now();
    assert_eq!(play.perform().await, Ok(0));
    eventually("an unused command ends", async || !play.is_running()).await;
    assert!(begun.elapsed() >= limits.idle_max, "it may be needed again: {:?}", begun.elapsed());
}
