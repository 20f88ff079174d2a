//! The table of tools: what every caller sees of a shared record, a department's record and a draft.

use mnemon_testkit::Caller;
use serde_json::{Value, json};

use super::NOBODYS;
use super::world::World;

/// The tools that have rows below.
pub(crate) const NAMES: [&str; 5] = ["remember", "search", "forget", "validate_memory", "gateway_call"];

const SCOPES: [&str; 3] = ["shared", "department", "draft"];

/// Who sees a record of a member of the department, by scope.
const SEES: [(&str, [bool; 3]); 8] = [
    ("stranger", [false, false, false]),
    ("elsewhere", [false, false, false]),
    ("rival", [true, false, false]),
    ("member", [true, true, false]),
    ("head", [true, true, false]),
    ("reader", [true, false, false]),
    ("admin", [true, false, false]),
    ("author", [true, true, true]),
];

/// A record with a source, a key and a word of its own.
struct Target {
    id: String,
    word: String,
}

async fn target(world: &World, scope: &str) -> Target {
    let word = format!("zebra{}", world.serial());
    let arguments =
        json!({"content": format!("the {word} crosses"), "scope": scope, "source_id": word, "fact_key": word});
    Target { id: world.save(arguments).await, word }
}

/// What a tool says about the record: whether it was found, or the reason for not answering.
async fn ask(caller: &Caller, tool: &str, target: &Target) -> Result<bool, String> {
    let Target { id, word } = target;
    let arguments = match tool {
        "remember" => json!({"content": format!("the {word} waits"), "fact_key": word}),
        "search" => json!({"query": word}),
        "forget" => json!({"memory_id": id}),
        "validate_memory" => json!({"source_id": word}),
        _ => json!({"server": "s", "tool": "t"}),
    };
    let answer = caller.call(tool, arguments).await;
    if answer.is_error() {
        return Err(answer.text().replace(id, "ID"));
    }
    let result = answer.structured();
    Ok(match tool {
        "remember" => result["conflicts_with"] == json!([id]),
        "search" => result["result"].as_array().is_some_and(|found| found.iter().any(|record| record["id"] == **id)),
        "forget" => result["memory_ids"] == json!([id]),
        "validate_memory" => result["checked"] == 1,
        _ => panic!("{tool} has no row"),
    })
}

fn expected(who: &str, tool: &str, sees: bool) -> Result<bool, String> {
    let failed = |reason: &str| Err(format!("Error executing tool {tool}: {reason}"));
    match tool {
        "gateway_call" => failed("integration 's' is not enabled for this project"),
        "remember" | "forget" if who == "reader" => failed("this key is read-only"),
        "forget" if !sees => failed("memory 'ID' not found"),
        _ => Ok(sees),
    }
}

#[tokio::test]
async fn everybody_calls_every_tool_about_records_of_every_scope() {
    let world = World::make().await;
    // Both have a workspace of that name in their own projects, so that searching there answers with a list.
    for who in ["stranger", "elsewhere"] {
        world.caller(who).remember("something of another project").await;
    }
    for tool in NAMES {
        for (who, sees) in SEES {
            for (scope, sees) in SCOPES.into_iter().zip(sees) {
                let caller = if who == "author" { &world.author } else { world.caller(who) };
                let target = target(&world, scope).await;
                let told = ask(caller, tool, &target).await;
                assert_eq!(told, expected(who, tool, sees), "{who} calls {tool} about a record that is {scope}");
                if !sees {
                    let absent = Target { id: "01980000-0000-7000-8000-00000000dead".to_owned(), ..target };
                    let absent = ask(caller, "forget", &absent).await;
                    let foreign = expected(who, "forget", false);
                    assert_eq!(absent, foreign, "{who}: one that is not there");
                }
            }
        }
    }
}

#[tokio::test]
async fn nobody_and_the_operator_call_no_tool() {
    let world = World::make().await;
    let id = target(&world, "shared").await.id;
    for tool in NAMES {
        let mut bodies = Vec::new();
        for who in NOBODYS.into_iter().chain(["operator"]) {
            let params = json!({"name": tool, "arguments": {"memory_id": id, "content": "c", "query": "q"}});
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
            let caller = world.caller(who);
            let bearer = format!("Bearer {}", caller.key);
            let mut headers = vec![("content-type", "application/json"), ("accept", "application/json")];
            if who != "nobody" {
                headers.push(("authorization", &bearer));
            }
            let answer = caller.send("POST", "/mcp", &headers, body).await;
            assert_eq!(answer.status, 401, "{who} calls {tool}");
            bodies.push(answer.text);
        }
        bodies.dedup();
        assert_eq!(bodies.len(), 1, "{tool}: the same for every cause");
    }
    assert_eq!(world.author.search("zebra1").await[0]["id"], Value::from(id), "nothing was done");
}

#[tokio::test]
async fn reading_answers_to_the_byte_as_if_the_unseen_were_not_there() {
    let world = World::make().await;
    for (who, sees) in SEES {
        for (scope, sees) in SCOPES.into_iter().zip(sees) {
            if sees || who == "author" {
                continue;
            }
            let caller = world.caller(who);
            let word = format!("zebra{}", world.serial() + 1);
            let read = async || {
                let search = caller.call("search", json!({"query": format!("the {word} crosses"), "limit": 50})).await;
                let validate = caller.call("validate_memory", json!({"source_id": word})).await;
                let forget = match who {
                    "reader" => Value::Null,
                    _ => caller.call("forget", json!({"source_id": word})).await.result,
                };
                (search.result.to_string(), validate.result.to_string(), forget.to_string())
            };
            let before = read().await;
            assert_eq!(target(&world, scope).await.word, word);
            assert_eq!(read().await, before, "{who} about a record that is {scope}");
        }
    }
}
