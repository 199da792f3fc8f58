//! A row of an inventory.

use std::borrow::Cow;

use export::Object;

/// A row of an inventory. A field is `None` if the inventory does not have it.
#[derive(Debug, Default)]
pub(super) struct Row<'a> {
    pub(super) bucket: Cow<'a, str>,
    pub(super) key: Vec<u8>,
    pub(super) size: Option<u64>,
    pub(super) mtime_ns: Option<i64>,
    pub(super) etag: Option<Cow<'a, str>>,
    pub(super) is_latest: Option<bool>,
    pub(super) is_delete_marker: Option<bool>,
    pub(super) is_multipart: Option<bool>,
    pub(super) encryption: Option<Cow<'a, str>>,
}

impl Row<'_> {
    /// Returns the object, or `None` if the row is an older version or a delete marker.
    ///
    /// # Errors
    ///
    /// Fails if the row has no size.
    pub(super) fn object(self) -> Result<Option<Object>, String> {
        if self.is_delete_marker == Some(true) || self.is_latest == Some(false) {
            return Ok(None);
        }
        let md5 = self.md5();
        let Row { key, size, mtime_ns, .. } = self;
        let Some(size) = size else {
            let key = String::from_utf8_lossy(&key).into_owned();
            return Err(format!("has no size of {key}; add the field Size to the inventory"));
        };
        Ok(Some(Object { key, size, mtime_ns: mtime_ns.unwrap_or(0), md5 }))
    }

    /// Returns the MD5 digest of the content. An `ETag` is an MD5 digest only if the object was uploaded in one part
    /// and is either not encrypted or encrypted with a key of the store:
    /// <https://docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html>.
    fn md5(&self) -> Option<[u8; 16]> {
        let is_plain = matches!(self.encryption.as_deref(), Some("NOT-SSE" | "SSE-S3"));
        if !is_plain || self.is_multipart == Some(true) {
            return None;
        }
        // The ETag of an object that was uploaded in parts ends with a dash and the number of parts.
        md5_of(self.etag.as_deref()?.trim_matches('"'))
    }
}

/// Returns the MD5 digest with these 32 hexadecimal digits.
pub(crate) fn md5_of(digits: &str) -> Option<[u8; 16]> {
    let digits = digits.as_bytes();
    let mut md5 = [0; 16];
    if digits.len() != 2 * md5.len() {
        return None;
    }
    for (byte, pair) in md5.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |digit: u8| char::from(digit).to_digit(16);
        *byte = u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok()?;
    }
    Some(md5)
}

#[cfg(test)]
mod tests {
    use super::Row;

    const ETAG: &str = "900150983cd24fb0d6963f7d28e17f72";

    fn row(etag: &str, encryption: Option<&'static str>) -> Row<'static> {
        Row {
            key: b"a".to_vec(),
            size: Some(3),
            etag: Some(etag.to_owned().into()),
            encryption: encryption.map(Into::into),
            ..Row::default()
        }
    }

    #[test]
    fn only_etags_that_are_digests_of_the_content_are_digests() {
        let md5 = |row: Row<'_>| row.object().expect("a size").expect("an object").md5;
        let known = md5(row(ETAG, Some("SSE-S3"))).expect("a digest");
        assert_eq!((known[0], known[15]), (0x90, 0x72));
        assert_eq!(md5(row(&format!("\"{ETAG}\""), Some("NOT-SSE"))), Some(known));
        for (etag, encryption) in [
            (ETAG, Some("SSE-KMS")),
            (ETAG, Some("SSE-C")),
            (ETAG, None),
            ("900150983cd24fb0d6963f7d28e17f72-2", Some("SSE-S3")),
            ("900150983cd24fb0d6963f7d28e17f7x", Some("SSE-S3")),
            ("", Some("SSE-S3")),
        ] {
            assert_eq!(md5(row(etag, encryption)), None, "{etag} {encryption:?}");
        }
        assert_eq!(md5(Row { is_multipart: Some(true), ..row(ETAG, Some("SSE-S3")) }), None);
    }

    #[test]
    fn older_versions_and_delete_markers_are_no_objects() {
        let deleted = Row { is_delete_marker: Some(true), size: None, ..row(ETAG, None) };
        assert_eq!(deleted.object(), Ok(None));
        assert_eq!(Row { is_latest: Some(false), ..row(ETAG, None) }.object(), Ok(None));
        assert!(
            Row { is_latest: Some(true), ..row(ETAG, None) }.object().is_ok_and(|o| o.is_some())
        );
        assert!(Row { size: None, ..row(ETAG, None) }.object().is_err());
    }
}
