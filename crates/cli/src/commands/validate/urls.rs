//! Sources that are web pages. They are fetched only when asked for, and never from private addresses: a source is a
//! text that anybody may have saved.

use std::time::Duration;

use anyhow::{Context, bail};
use mnemon_gateway::{Outgoing, OutgoingConfig, outgoing};
use reqwest::{Method, StatusCode, Url, header};

use super::kinds::{self, Kind, Look};

const DEADLINE: Duration = Duration::from_secs(10);
const BYTES_MAX: usize = 10 << 20;

/// Fetches pages.
pub struct Web {
    outgoing: Outgoing,
    runtime: tokio::runtime::Runtime,
}

/// What became of a page.
pub enum Page {
    Seen(Look),
    Gone(String),
}

/// Whether a source is a page.
pub fn is_page(source_id: &str) -> bool {
    source_id.starts_with("https://") || source_id.starts_with("http://")
}

impl Web {
    /// Hosts in `allowed_hosts` may be private.
    pub fn new(allowed_hosts: &[String]) -> anyhow::Result<Self> {
        let config = OutgoingConfig { allowed_hosts: allowed_hosts.to_vec(), ..OutgoingConfig::default() };
        let outgoing = Outgoing::new(&config).context("can't set up the HTTP client")?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { outgoing, runtime })
    }

    /// Fetches a page and compares it with the hashes that its facts were saved with: hashes of the body, or its entity
    /// tag.
    pub fn look(&self, address: &str, saved: &[String]) -> anyhow::Result<Page> {
        let url: Url = address.parse().context("not a valid address")?;
        let request = self.outgoing.request(Method::GET, &url)?;
        self.runtime.block_on(async {
            let response = self.outgoing.send(request, DEADLINE).await?;
            match response.status() {
                StatusCode::OK => {}
                StatusCode::NOT_FOUND | StatusCode::GONE => {
                    return Ok(Page::Gone(format!("the server answers {}", response.status().as_u16())));
                }
                other => bail!("the server answers {}", other.as_u16()),
            }
            let tag = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
            // Where all facts have a tag, the page itself need not be read.
            let body = match saved.iter().all(|hash| is_tag(hash)) && tag.is_some() {
                true => None,
                false => Some(outgoing::read(response, BYTES_MAX, DEADLINE).await?),
            };
            Ok(Page::Seen(seen(tag, body.as_deref(), saved)?))
        })
    }
}

fn seen(tag: Option<String>, body: Option<&[u8]>, saved: &[String]) -> anyhow::Result<Look> {
    let digest = |kind: Kind| body.map(|body| vec![kinds::hash_bytes(body, kind)]).context("the page was not sent");
    let (of_body, of_tag): (Vec<String>, Vec<String>) = saved.iter().cloned().partition(|hash| !is_tag(hash));
    let look = kinds::compare(&of_body, false, digest)?;
    let (mut hashes, mut unknown) = match look {
        Look::Seen { hashes, unknown } => (hashes, unknown),
        Look::UnknownKind => (Vec::new(), of_body),
    };
    match tag {
        // A weak tag and a strong one with the same text mean the same page here.
        Some(tag) if !of_tag.is_empty() => match of_tag.iter().find(|saved| opaque(saved) == opaque(&tag)) {
            Some(same) => hashes.push(same.clone()),
            None => hashes.push(tag),
        },
        _ => unknown.extend(of_tag),
    }
    Ok(if hashes.is_empty() { Look::UnknownKind } else { Look::Seen { hashes, unknown } })
}

/// Whether a hash is an entity tag: `"33a64df5"` or `W/"33a64df5"`.
fn is_tag(hash: &str) -> bool {
    opaque(hash).len() >= 2 && opaque(hash).starts_with('"') && opaque(hash).ends_with('"')
}

fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}
