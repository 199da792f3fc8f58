//! The functions `hex` and `unhex`, which Spark and `DuckDB` have and `DataFusion` lacks.
//!
//! With these functions, a query about digests has the same meaning in all three engines.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BinaryViewBuilder, StringViewBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::cast::{as_binary_view_array, as_string_view_array};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Returns the functions.
pub(super) fn all() -> [ScalarUDF; 2] {
    let [to_digits, to_bytes] = [
        (DataType::BinaryView, DataType::Utf8View, "hex"),
        (DataType::Utf8View, DataType::BinaryView, "unhex"),
    ]
    .map(|(from, to, name)| Function {
        name,
        to,
        signature: Signature::exact(vec![from], Volatility::Immutable),
    });
    [to_digits, to_bytes].map(ScalarUDF::from)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Function {
    name: &'static str,
    to: DataType,
    signature: Signature,
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_scalar = matches!(args.args[0], ColumnarValue::Scalar(_));
        let given = args.args[0].to_array(if is_scalar { 1 } else { args.number_rows })?;
        let made = if self.to == DataType::Utf8View { digits(&given) } else { bytes(&given) }?;
        if is_scalar {
            return Ok(ColumnarValue::Scalar(datafusion::scalar::ScalarValue::try_from_array(
                &made, 0,
            )?));
        }
        Ok(ColumnarValue::Array(made))
    }
}

/// Returns bytes as upper-case hexadecimal digits.
fn digits(given: &ArrayRef) -> Result<ArrayRef> {
    let mut made = StringViewBuilder::new();
    for bytes in as_binary_view_array(given)? {
        made.append_option(bytes.map(|bytes| {
            bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(digit).collect::<String>()
        }));
    }
    Ok(Arc::new(made.finish()))
}

fn digit(of: u8) -> char {
    char::from_digit(of.into(), 16).unwrap_or('0').to_ascii_uppercase()
}

/// Returns the bytes for hexadecimal digits; NULL for any other text.
fn bytes(given: &ArrayRef) -> Result<ArrayRef> {
    let mut made = BinaryViewBuilder::new();
    for text in as_string_view_array(given)? {
        made.append_option(text.and_then(bytes_of));
    }
    Ok(Arc::new(made.finish()))
}

/// Returns the bytes for hexadecimal digits of either case; `None` for any other text.
pub(super) fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|letter| letter.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::bytes_of;

    #[test]
    fn digits_that_are_no_bytes_are_null() {
        assert_eq!(bytes_of("00fFa1"), Some(vec![0, 255, 0xa1]));
        assert_eq!(bytes_of(""), Some(vec![]));
        assert_eq!((bytes_of("abc"), bytes_of("zz"), bytes_of("+1")), (None, None, None));
    }
}
