//! What kind of content a file has, judged by its first bytes.

use palisade_tool::{files::Chunk, text};

/// How a file is shown.
pub(crate) enum Content {
    /// Line by line.
    Text,
    /// Line by line, once decoded.
    Utf16(Endianness),
    /// Not at all, only described.
    Binary,
}

/// Which byte of a UTF-16 unit comes first.
#[derive(Clone, Copy)]
pub(crate) enum Endianness {
    Little,
    Big,
}

/// How much of a file is looked at.
const LOOK: usize = 8 << 10;

impl Content {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let look = &bytes[..bytes.len().min(LOOK)];
        if look.starts_with(&[0xff, 0xfe]) && !look.starts_with(&[0xff, 0xfe, 0, 0]) {
            Self::Utf16(Endianness::Little)
        } else if look.starts_with(&[0xfe, 0xff]) {
            Self::Utf16(Endianness::Big)
        } else if memchr::memchr(0, look).is_some() || look.starts_with(b"%PDF-") || is_mostly_invalid(look) {
            Self::Binary
        } else {
            Self::Text
        }
    }
}

/// Whether a third of the bytes or more are not UTF-8; text in an old encoding has fewer.
fn is_mostly_invalid(bytes: &[u8]) -> bool {
    let invalid: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    invalid * 3 > bytes.len()
}

impl Endianness {
    /// Decodes UTF-16 with a mark in front, which is left out.
    pub(crate) fn decode(self, bytes: &[u8]) -> String {
        let (units, _) = bytes.as_chunks::<2>();
        let units = units.iter().skip(1).map(|&unit| match self {
            Self::Little => u16::from_le_bytes(unit),
            Self::Big => u16::from_be_bytes(unit),
        });
        char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    }
}

/// Says what a binary file is.
pub(crate) fn describe(path: &str, chunk: &Chunk) -> String {
    let size = text::size(chunk.size);
    match image(&chunk.bytes) {
        Some((format, Some((width, height)))) => format!("{path} is an image: {format}, {width}×{height}, {size}"),
        Some((format, None)) => format!("{path} is an image: {format}, {size}"),
        None => format!("{path} is a binary file: {}, {size}", kind(&chunk.bytes)),
    }
}

const KINDS: &[(&[u8], &str)] = &[
    (b"\x7fELF", "ELF program or library"),
    (b"\0asm", "WebAssembly"),
    (b"MZ", "Windows program or library"),
    (b"\xcf\xfa\xed\xfe", "Mach-O program or library"),
    (b"\xca\xfe\xba\xbe", "Java class or Mach-O program"),
    (b"!<arch>\n", "static library"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "zip archive or a document made of one"),
    (b"PK\x05\x06", "empty zip archive"),
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"7z\xbc\xaf\x27\x1c", "7-zip archive"),
    (b"Rar!\x1a\x07", "RAR archive"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"OggS", "Ogg audio or video"),
    (b"ID3", "MP3 audio"),
    (b"fLaC", "FLAC audio"),
    (b"\x1a\x45\xdf\xa3", "Matroska or WebM video"),
    (b"wOFF", "WOFF font"),
    (b"wOF2", "WOFF2 font"),
    (b"\0\x01\0\0", "TrueType font"),
    (b"OTTO", "OpenType font"),
    (b"II*\0", "TIFF image"),
    (b"MM\0*", "TIFF image"),
    (b"\0\0\x01\0", "Windows icon"),
];

fn kind(bytes: &[u8]) -> &'static str {
    if bytes.get(4..8) == Some(b"ftyp") {
        return "MP4, HEIF or a related video or image";
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return "tar archive";
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WAVE") {
        return "WAV audio";
    }
    KINDS.iter().find(|(magic, _)| bytes.starts_with(magic)).map_or("unknown kind", |(_, kind)| kind)
}

type Dimensions = (u32, u32);

/// The format of an image, and its width and height where they are found.
fn image(bytes: &[u8]) -> Option<(&'static str, Option<Dimensions>)> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some(("PNG", number_be(bytes, 16, 4).zip(number_be(bytes, 20, 4))))
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        Some(("JPEG", jpeg(bytes)))
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        Some(("GIF", number_le(bytes, 6, 2).zip(number_le(bytes, 8, 2))))
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Some(("WebP", webp(bytes)))
    } else if bytes.starts_with(b"BM") && bytes.get(6..10) == Some(&[0; 4]) {
        // A negative height says that the rows go from top to bottom.
        let height = number_le(bytes, 22, 4).map(|height| height.cast_signed().unsigned_abs());
        Some(("BMP", number_le(bytes, 18, 4).zip(height)))
    } else {
        None
    }
}

/// Goes from segment to segment up to the one that describes the frame.
fn jpeg(bytes: &[u8]) -> Option<Dimensions> {
    let mut position = 2;
    loop {
        let marker = number_be(bytes, position, 2)?;
        match marker {
            // Padding, and markers without a segment.
            0xffff => position += 1,
            0xff01 | 0xffd0..=0xffd8 => position += 2,
            0xffc4 | 0xffc8 | 0xffcc => position += 2 + number_be(bytes, position + 2, 2)? as usize,
            0xffc0..=0xffcf => return number_be(bytes, position + 7, 2).zip(number_be(bytes, position + 5, 2)),
            0xff02.. => position += 2 + number_be(bytes, position + 2, 2)? as usize,
            _ => return None,
        }
    }
}

fn webp(bytes: &[u8]) -> Option<Dimensions> {
    match bytes.get(12..16)? {
        b"VP8X" => Some((number_le(bytes, 24, 3)? + 1, number_le(bytes, 27, 3)? + 1)),
        b"VP8L" => {
            let packed = number_le(bytes, 21, 4)?;
            Some(((packed & 0x3fff) + 1, (packed >> 14 & 0x3fff) + 1))
        }
        b"VP8 " => Some((number_le(bytes, 26, 2)? & 0x3fff, number_le(bytes, 28, 2)? & 0x3fff)),
        _ => None,
    }
}

fn number_be(bytes: &[u8], position: usize, length: usize) -> Option<u32> {
    let bytes = bytes.get(position..position + length)?;
    Some(bytes.iter().fold(0, |number, &byte| number << 8 | u32::from(byte)))
}

fn number_le(bytes: &[u8], position: usize, length: usize) -> Option<u32> {
    let bytes = bytes.get(position..position + length)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: (&'static str, Option<Dimensions>)) {
        assert_eq!(image(bytes), Some(expected));
        for end in 0..bytes.len() {
            // What is cut short is not understood, and does no harm.
            let _: Option<_> = image(&bytes[..end]);
        }
    }

    #[test]
    fn images_tell_their_dimensions() {
        check(b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x01\x02\0\0\0\x03", ("PNG", Some((258, 3))));
        check(b"GIF89a\x02\x01\x03\0", ("GIF", Some((258, 3))));
        check(b"\xff\xd8\xff\xe0\0\x04ab\xff\xc4\0\x03x\xff\xc2\0\x11\x08\0\x03\x01\x02", ("JPEG", Some((258, 3))));
        check(b"\xff\xd8\xff\xff\xff\xff", ("JPEG", None));
        check(b"BM\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\x01\0\0\xfd\xff\xff\xff", ("BMP", Some((258, 3))));
        check(b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x01\x01\0\x02\0\0", ("WebP", Some((258, 3))));
        check(b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\0\0\0\x02\x01\x03\0", ("WebP", Some((258, 3))));
        check(b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x01\xc1\0\0", ("WebP", Some((258, 4))));
    }
}
