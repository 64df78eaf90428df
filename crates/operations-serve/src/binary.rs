//! Binary data in an envelope: `{ "$bytes": "<base64>" }`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

/// Binary data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Binary {
    pub(crate) bytes: Vec<u8>,
    pub(crate) base64: String,
}

/// The binary data that a value, which is JSON, is as a whole; `None` where it is something else.
pub(crate) fn binary(data: &str) -> Option<Binary> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Marked {
        #[serde(rename = "$bytes")]
        bytes: String,
    }
    if !data.starts_with("{\"$bytes\"") {
        return None;
    }
    let Marked { bytes: base64 } = serde_json::from_str(data).ok()?;
    let bytes = STANDARD.decode(&base64).ok()?;
    Some(Binary { bytes, base64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_mark_alone_is_binary_data() {
        let found = binary(r#"{"$bytes":"AQI="}"#).map(|binary| (binary.bytes, binary.base64));
        assert_eq!(found, Some((vec![1, 2], "AQI=".to_owned())));
        for other in [
            r#"{"$bytes":"AQI=","more":1}"#,
            r#"{"$bytes":"not base64"}"#,
            r#"{"$bytes":7}"#,
            r#"{"bytes":"AQI="}"#,
            r#""$bytes""#,
        ] {
            assert_eq!(binary(other), None, "{other}");
        }
    }
}
