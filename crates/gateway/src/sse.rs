//! Server-sent events, as far as answers use them: bytes in, the data of complete events out.

/// A stream being read. It buffers only the incomplete event.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// The incomplete line.
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    was_carriage_return: bool,
}

impl Events {
    /// Takes bytes and returns the data of every event they complete.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut whole = Vec::new();
        for &byte in bytes {
            // Lines end with LF, CR or CRLF; CRLF is one line end.
            let is_second_half = self.was_carriage_return && byte == b'\n';
            self.was_carriage_return = byte == b'\r';
            match byte {
                b'\n' if is_second_half => {}
                b'\n' | b'\r' => whole.extend(self.end_of_line()),
                _ => self.line.push(byte),
            }
        }
        whole
    }

    fn end_of_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let is_event = std::mem::take(&mut self.has_data);
            let data = std::mem::take(&mut self.data);
            return is_event.then_some(data);
        }
        let rest = line.strip_prefix(b"data").filter(|rest| rest.is_empty() || rest[0] == b':')?;
        let value = rest.strip_prefix(b":").unwrap_or(rest);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        if self.has_data {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        self.has_data = true;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(bytes: &[u8]) -> Vec<String> {
        let mut stream = Events::default();
        stream.take(bytes).into_iter().map(|data| String::from_utf8(data).unwrap()).collect()
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        assert_eq!(events(b"data: a\n\n"), ["a"]);
        assert_eq!(events(b"event: message\r\nid: 1\r\ndata:a\r\n\r\ndata: b\r\rdata: c\n\n"), ["a", "b", "c"]);
        assert_eq!(events(b"data: a\ndata:  b\ndata\n\n"), ["a\n b\n"]);
        assert_eq!(events(b": keep-alive\n\nretry: 5\n\ndatabase: x\n\n"), Vec::<String>::new());
        assert_eq!(events(b"data: unfinished\n"), Vec::<String>::new());
        assert_eq!(events(b"data:\n\n"), [""]);
    }

    #[test]
    fn the_cuts_between_packets_do_not_matter() {
        let bytes = b"id: 1\r\ndata: {\"a\":\r\ndata: \"\xc3\xa9\"}\r\n\r\ndata: x\n\n";
        for cut in 0..bytes.len() {
            let mut stream = Events::default();
            let mut seen = stream.take(&bytes[..cut]);
            seen.extend(stream.take(&bytes[cut..]));
            assert_eq!(seen, [b"{\"a\":\n\"\xc3\xa9\"}".to_vec(), b"x".to_vec()], "{cut}");
        }
    }
}
