//! An index as bytes and back. A snapshot is a convenience, never the truth: it says which format and which model it
//! was written by, carries a checksum, and whoever doubts it reads the change log instead.

use crate::bytes::{Reader, Writer};
use crate::index::WorkspaceIndex;
use crate::lexicon::Lexicon;
use crate::meaning::Vectors;
use crate::model::Model;
use crate::records::Records;
use crate::search::bm25::Totals;
use crate::truth::Truth;

const MAGIC: [u8; 4] = *b"mnRX";
/// Raise it whenever the layout changes, or what the words of a text are.
const FORMAT: u32 = 5;
const HEADER_BYTES: usize = 16;

/// Why a snapshot is not used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SnapshotError {
    /// Not a snapshot at all, or cut short.
    #[error("these bytes are no index snapshot")]
    NotASnapshot,
    /// Written by another version of this crate.
    #[error("the snapshot has format {found}, this version reads {FORMAT}")]
    OtherFormat {
        /// The format it has.
        found: u32,
    },
    /// Its vectors belong to another model.
    #[error("the snapshot was made with another embedding model")]
    OtherModel,
    /// The bytes have changed since they were written.
    #[error("the snapshot's checksum does not fit")]
    Damaged,
}

impl WorkspaceIndex {
    /// The index as bytes.
    pub fn to_snapshot(&self) -> Vec<u8> {
        let mut out = Writer { bytes: Vec::with_capacity(self.size_bytes() + HEADER_BYTES) };
        out.bytes.extend(MAGIC);
        out.number(FORMAT);
        out.number(self.model.fingerprint());
        out.number(0); // The checksum's place.
        out.number(self.totals.records);
        out.large_number(self.totals.length);
        self.lexicon.save(&mut out);
        self.records.save(&mut out);
        self.vectors.save(&mut out);
        self.truth.save(&mut out);
        let mut bytes = out.bytes;
        let checksum = crc32fast::hash(&bytes[HEADER_BYTES..]);
        bytes[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The index from bytes; anything odd is an error, and the caller builds it from the records.
    pub fn from_snapshot(model: &'static Model, bytes: &[u8]) -> Result<Self, SnapshotError> {
        let (header, body) = bytes.split_at_checked(HEADER_BYTES).ok_or(SnapshotError::NotASnapshot)?;
        let mut header = Reader { bytes: header };
        if header.take(4) != Some(&MAGIC) {
            return Err(SnapshotError::NotASnapshot);
        }
        match header.number() {
            Some(FORMAT) => {}
            found => return Err(SnapshotError::OtherFormat { found: found.unwrap_or(0) }),
        }
        if header.number() != Some(model.fingerprint()) {
            return Err(SnapshotError::OtherModel);
        }
        if header.number() != Some(crc32fast::hash(body)) {
            return Err(SnapshotError::Damaged);
        }
        Self::read_body(model, &mut Reader { bytes: body }).ok_or(SnapshotError::NotASnapshot)
    }

    fn read_body(model: &'static Model, input: &mut Reader<'_>) -> Option<Self> {
        let totals = Totals { records: input.number()?, length: input.large_number()? };
        let lexicon = Lexicon::load(input)?;
        let records = Records::load(input)?;
        let vectors = Vectors::load(input)?;
        let truth = Truth::load(input)?;
        let fits = input.bytes.is_empty() && [vectors.slots(), truth.slots()] == [records.slots(); 2];
        fits.then(|| Self::of(model, (lexicon, records, vectors, truth), totals))
    }
}
