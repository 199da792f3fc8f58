//! Byte strings that JSON can represent: names, paths, and values of extended attributes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes that serialize as a string if they are valid UTF-8, and as `{"base64":"…"}` otherwise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JsonBytes(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Bytes { base64: String },
}

impl Serialize for JsonBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => Written::Bytes { base64: STANDARD.encode(&self.0) }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for JsonBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Text(text) => Ok(JsonBytes(text.into_bytes())),
            Written::Bytes { base64 } => {
                STANDARD.decode(base64).map(JsonBytes).map_err(D::Error::custom)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::JsonBytes;

    #[test]
    fn any_bytes_survive_a_round_trip() {
        for bytes in [&b""[..], b"plain", b"\n\"\\\x1b", "Grüße".as_bytes(), b"\xff\xfe\0", b"{}"]
        {
            let name = JsonBytes(bytes.to_vec());
            let text = serde_json::to_string(&name).expect("is written");
            assert!(!text.contains('\n'), "a name stays on its line");
            assert_eq!(serde_json::from_str::<JsonBytes>(&text).expect("is read"), name);
        }
    }
}
