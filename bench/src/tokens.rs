//! `tokens`: the text that an assistant reads for ten hits, written to standard output as it comes over the wire.
//! `bench/tokens/run` counts its tokens; the tokenizer lives there, because a build should not carry four megabytes of
//! ranks.

use anyhow::{Context, Result, ensure};
use mnemon_testkit::wire::Wire;
use serde_json::{Value, json};

use crate::load::Started;

/// Records as assistants save them: one fact of 100 to 150 characters each, all of them about one thing.
const RECORDS: [&str; 10] = [
    "The warehouse in Rotterdam ships orders until 17:00; whatever comes in later leaves with the truck of the next morning.",
    "Returns go to the warehouse in Rotterdam as well, but through gate 4, and they need the number of the order on the box.",
    "The warehouse counts its stock every last Friday of the month, and nothing is shipped between noon and six on that day.",
    "Only Miriam and Jonas may change the layout of the warehouse shelves; the robots read the plan anew once every night.",
    "A pallet in the warehouse must not be higher than 1.80 metres, because the doors of the new cold room are lower than that.",
    "The warehouse network has its own address range, 10.40.0.0/16, and reaches the rest of the company through a firewall.",
    "Label printers in the warehouse are replaced every three years; the next round is planned for the spring, with 24 devices.",
    "For dangerous goods the warehouse has a separate room with its own ventilation, and the key to it lies with the shift lead.",
    "The contract for the warehouse building runs until the end of 2029 and can be extended twice by five years at the same rent.",
    "Night shifts in the warehouse begin at 22:00 and end at 6:00; whoever works more than four in a row gets the fifth day free.",
];
const QUERY: &str = "warehouse";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Give every record a source and a hash, as facts from files have them
    #[arg(long)]
    with_source: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let data = tempfile::tempdir()?;
    let server = Started::service(data.path())?;
    let text = tokio::runtime::Runtime::new()?.block_on(ten_hits(args.with_source, &server))?;
    println!("{text}");
    Ok(())
}

/// The first text item of a search that finds all ten. The server is one with a true clock and true ids, because both
/// take more tokens than those of tests.
async fn ten_hits(with_source: bool, server: &Started) -> Result<String> {
    let mut wire = Wire::connect(server.address, &server.key).await?;
    for (number, content) in RECORDS.iter().enumerate() {
        let mut call = json!({"content": content});
        if with_source {
            call["source_id"] = json!(format!("handbook/warehouse/page-{number}.md"));
            call["source_hash"] = json!(format!("sha256:{:064x}", number * 7919));
        }
        call_tool(&mut wire, "remember", call).await?;
    }
    let answer = call_tool(&mut wire, "search", json!({"query": QUERY, "limit": RECORDS.len()})).await?;
    let text = answer["result"]["content"][0]["text"].as_str().context("an answer has a text")?;
    let read: Value = serde_json::from_str(text).context("the text is JSON")?;
    let found = read["result"].as_array().map(Vec::len);
    ensure!(found == Some(RECORDS.len()), "{found:?} records were found instead of ten");
    Ok(text.to_owned())
}

async fn call_tool(wire: &mut Wire, tool: &str, arguments: Value) -> Result<Value> {
    let params = json!({"name": tool, "arguments": arguments});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let answer: Value = serde_json::from_slice(wire.post(&body).await?.body)?;
    ensure!(answer["result"]["isError"] == json!(false), "{tool} failed: {answer}");
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_records_whose_tokens_are_counted_have_100_to_150_characters_and_the_word_that_finds_them() {
        assert!(RECORDS.iter().all(|text| (100..=150).contains(&text.chars().count()) && text.contains(QUERY)));
    }
}
