//! Where traces go.

use std::num::NonZeroU64;

use url::Url;

use super::TracesConfig;
use super::sections::Reader;

impl Reader<'_> {
    pub(super) fn traces(&mut self) -> Option<TracesConfig> {
        let every = NonZeroU64::new(self.count("traces.every"));
        if every.is_none() {
            self.mistake("traces.every must be at least 1; to turn traces off, leave traces.endpoint empty");
        }
        let endpoint = self.string("traces.endpoint");
        if endpoint.is_empty() {
            return None;
        }
        if !Url::parse(&endpoint).is_ok_and(|url| is_collector(&url)) {
            // Not shown: it may contain a password.
            self.mistake(
                "traces.endpoint must be empty, or the URL of a collector for OTLP over HTTP, without a user, a password or \
                 a query, such as http://127.0.0.1:4318",
            );
        }
        Some(TracesConfig { endpoint: endpoint.trim_end_matches('/').to_owned(), every: every? })
    }
}

fn is_collector(url: &Url) -> bool {
    let is_plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    matches!(url.scheme(), "http" | "https") && url.has_host() && is_plain && url.fragment().is_none()
}

#[cfg(test)]
mod tests {
    use crate::config::Layers;

    fn read(variables: &[(&str, &str)]) -> Result<Option<(String, u64)>, String> {
        let mut layers = Layers::default();
        layers.environment(variables.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
        let config = layers.finish().map_err(|error| error.to_string())?;
        Ok(config.traces.map(|traces| (traces.endpoint, traces.every.get())))
    }

    #[test]
    fn traces_are_off_unless_a_collector_is_named() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[("MNEMON_TRACES_EVERY", "10")]), Ok(None));
        let endpoint = ("MNEMON_TRACES_ENDPOINT", "https://collector.example:4318/otlp/");
        let named = "https://collector.example:4318/otlp".to_owned();
        assert_eq!(read(&[endpoint]), Ok(Some((named.clone(), 1))));
        assert_eq!(read(&[endpoint, ("MNEMON_TRACES_EVERY", "10")]), Ok(Some((named, 10))));
        assert!(read(&[endpoint, ("MNEMON_TRACES_EVERY", "0")]).is_err_and(|error| error.contains("at least 1")));
        for wrong in ["localhost:4318", "grpc://a:4317", "http://", concat!("http://a:", "b@c:1"), "http://a/?key=b"] {
            let error = read(&[("MNEMON_TRACES_ENDPOINT", wrong)]).unwrap_err();
            assert!(error.contains("traces.endpoint must be empty, or the URL of a collector"), "{error}");
            assert!(!error.contains("a:b@"), "{error}");
        }
    }
}
