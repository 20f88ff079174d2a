//! The parts of a safetensors file: a length, a JSON header, the tensors.

use std::ops::Range;

use super::ModelError;

pub(super) struct Container<'a> {
    header: serde_json::Value,
    data_start: usize,
    bytes: &'a [u8],
}

impl<'a> Container<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, ModelError> {
        let (length, rest) = bytes.split_first_chunk().ok_or(ModelError::Container("it is too short"))?;
        let length = usize::try_from(u64::from_le_bytes(*length))
            .map_err(|_| ModelError::Container("its header is too long"))?;
        let header = rest.get(..length).ok_or(ModelError::Container("its header is cut off"))?;
        let header = serde_json::from_slice(header).map_err(|_| ModelError::Container("its header is no JSON"))?;
        Ok(Self { header, data_start: 8 + length, bytes })
    }

    /// How many rows a tensor says it has.
    pub(super) fn rows(&self, name: &'static str) -> Result<usize, ModelError> {
        let rows = self.header[name]["shape"][0].as_u64().and_then(|rows| usize::try_from(rows).ok());
        rows.ok_or(ModelError::Tensor { name })
    }

    /// Where in the file a tensor of the given type and shape lies.
    pub(super) fn tensor(&self, name: &'static str, dtype: &str, shape: &[usize]) -> Result<Range<usize>, ModelError> {
        let wrong = ModelError::Tensor { name };
        let entry = &self.header[name];
        let dims: Option<Vec<usize>> = serde_json::from_value(entry["shape"].clone()).ok();
        let offsets: Option<[usize; 2]> = serde_json::from_value(entry["data_offsets"].clone()).ok();
        let (Some(dims), Some([start, end])) = (dims, offsets) else { return Err(wrong) };
        let item = if dtype == "F32" { 4 } else { 1 };
        let size = shape.iter().try_fold(item, |size: usize, &count| size.checked_mul(count));
        let range = self.data_start.saturating_add(start)..self.data_start.saturating_add(end);
        let fits =
            entry["dtype"] == dtype && dims == shape && Some(range.len()) == size && range.end <= self.bytes.len();
        if fits { Ok(range) } else { Err(wrong) }
    }
}
