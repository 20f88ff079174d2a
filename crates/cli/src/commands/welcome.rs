//! What the service prints when it starts.

use std::net::SocketAddr;
use std::path::Path;

use crate::printer::Printer;

/// Where the service is. Behind a proxy, its own address is not the one that callers use.
pub fn listening(base_url: &str, address: SocketAddr) -> String {
    let version = env!("CARGO_PKG_VERSION");
    if base_url == format!("http://{address}") {
        return format!("Mnemon {version} is listening on {base_url}");
    }
    format!("Mnemon {version} is listening on {address}; callers reach it at {base_url}")
}

/// The first start: the key, shown once, and commands to paste.
pub fn first_start(
    printer: Printer,
    listening: &str,
    base_url: &str,
    place: &str,
    key: &str,
    operator_token: Option<&str>,
) -> String {
    let mcp = format!("{base_url}/mcp");
    let title = printer.bold(listening);
    let key_line = printer.bold(key);
    let operator = operator_token.map(operator_lines).unwrap_or_default();
    format!(
        r#"{title}

First start on {place}: created an account, a project, an admin and an API key.
Here is the key. It will not be shown again:

    {key_line}

Save a record, then find it:

    curl -s {mcp} -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -d '{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"remember","arguments":{{"content":"We deploy on Tuesdays at ten."}}}}}}'

    curl -s {mcp} -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -d '{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"search","arguments":{{"query":"when do we deploy"}}}}}}'

Connect an assistant:

    Claude Code   claude mcp add --transport http -s user mnemon {mcp} --header "Authorization: Bearer {key}"

    Codex         export MNEMON_API_KEY={key}
                  codex mcp add mnemon --url {mcp} --bearer-token-env-var MNEMON_API_KEY

    Cursor        put into ~/.cursor/mcp.json:
                  {{"mcpServers":{{"mnemon":{{"url":"{mcp}","headers":{{"Authorization":"Bearer {key}"}}}}}}}}
{operator}
Press Ctrl-C to stop. All data is kept in {place}.
"#
    )
}

/// The operator token, shown once.
fn operator_lines(token: &str) -> String {
    format!(
        "\nManage accounts, members and keys (`mnemon account --help`) with the operator token. It will not be shown again:\n\n    \
         {token}\n"
    )
}

/// A start whose output many can read: where the key and the token are.
pub fn in_file(listening: &str, file: &Path) -> String {
    let file = file.display();
    format!(
        "{listening}.\nThe key and the operator token that this start created are in {file}, which only its owner can read. \
         Note them, then delete the file.\n"
    )
}

/// Any later start: the key can't be shown again.
pub fn later_start(listening: &str, place: &str, operator_token: Option<&str>) -> String {
    let operator = operator_token.map(operator_lines).unwrap_or_default();
    format!("{listening}, using the data in {place}.\n{operator}")
}
