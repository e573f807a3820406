//! Small documents of every make, and documents made to hurt.

use super::*;
use miniz_oxide::deflate::compress_to_vec_zlib;
use proptest::prelude::*;

/// A document of these objects, numbered from one, the first being the catalogue.
fn document(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut out = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n".to_vec();
    for (index, object) in objects.iter().enumerate() {
        out.extend_from_slice(format!("{} 0 obj\n", index + 1).as_bytes());
        out.extend_from_slice(object);
        out.extend_from_slice(b"\nendobj\n");
    }
    out.extend_from_slice(b"trailer\n<</Root 1 0 R /Info 9 0 R>>\nstartxref\n0\n%%EOF");
    out
}

fn stream(dict: &str, bytes: &[u8]) -> Vec<u8> {
    let head = format!("<<{dict} /Length {}>>\nstream\r\n", bytes.len());
    [head.as_bytes(), bytes, b"\nendstream"].concat()
}

fn packed(dict: &str, bytes: &[u8]) -> Vec<u8> {
    stream(&format!("{dict} /Filter /FlateDecode"), &compress_to_vec_zlib(bytes, 6))
}

/// One page with this content and this font.
fn one_page(content: Vec<u8>, font: &str, more: Vec<Vec<u8>>) -> Vec<u8> {
    let mut objects = vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R]/Count 1/Resources<</Font<</F1 5 0 R>>/XObject<</X 6 0 R>>>>>>"
            .to_vec(),
        b"<</Type/Page/Parent 2 0 R/Contents 4 0 R>>".to_vec(),
        content,
        font.as_bytes().to_vec(),
    ];
    objects.extend(more);
    document(&objects)
}

const HELVETICA: &str = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>";

fn text(bytes: &[u8]) -> String {
    crate::web::text::tidy(&read(bytes).unwrap().text)
}

#[test]
fn lines_words_and_escapes_are_read() {
    let content = br"BT /F1 12 Tf 72 720 Td (Hello \(caf\351\)) Tj 0 -14 Td
        [(W) 80 (orld) -400 (again)] TJ T* 0 -40 TD (Far\
 below) Tj <48 49 2> Tj ET";
    for content in [stream("", content), packed("", content)] {
        let read = text(&one_page(content, HELVETICA, vec![]));
        assert_eq!(read, "Hello (café)\nWorld again\n\nFar belowHI");
    }
}

#[test]
fn codes_are_read_through_the_map_of_the_font() {
    let font =
        "<</Type/Font/Subtype/Type0/Encoding/Identity-H/DescendantFonts[6 0 R]/ToUnicode 7 0 R>>";
    let map = b"/CIDInit /ProcSet findresource begin 1 begincodespacerange <0000> <FFFF> endcodespacerange
        2 beginbfchar <0001> <0048> <0002> <D83DDE00> endbfchar
        2 beginbfrange <0010> <0012> <0061> <0020> <0021> [<00660069> <0078>] endbfrange end";
    let content =
        packed("", b"BT /F1 10 Tf 1 0 0 1 50 700 Tm <00010010001100120020> Tj <0021 0002> Tj ET");
    let more = vec![
        b"<</Type/Font/Subtype/CIDFontType2/DW 600/W[1[500 700] 16 18 400]>>".to_vec(),
        packed("", map),
    ];
    assert_eq!(text(&one_page(content, font, more)), "Habcfix😀");
}

#[test]
fn differences_name_glyphs() {
    let font = "<</Subtype/Type1/Encoding<</BaseEncoding/MacRomanEncoding/Differences[65/eacute/fi 70/g1]>>>>";
    let content = stream("", b"BT /F1 10 Tf (ABCF\x8e) Tj ET");
    assert_eq!(text(&one_page(content, font, vec![])), "éfiCé");
}

#[test]
fn objects_in_streams_forms_and_other_filters_are_read() {
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]>>",
        "<</Type/Page/Contents[4 0 R 4 0 R]/Resources<</Font<</F1<</Subtype/Type1>>>>/XObject<</X 8 0 R>>>>>>",
    ];
    let mut body = String::new();
    let mut at = 0;
    for (index, object) in objects.iter().enumerate() {
        body.push_str(&format!("{} {at} ", index + 1));
        at += object.len() + 1;
    }
    let first = body.len();
    body.push_str(&objects.join(" "));
    let mut file = b"%PDF-1.5\n".to_vec();
    let mut add = |number: u32, object: Vec<u8>| {
        file.extend_from_slice(format!("{number} 0 obj").as_bytes());
        file.extend_from_slice(&object);
        file.extend_from_slice(b"endobj\n");
    };
    add(
        4,
        stream(
            "/Filter[/ASCIIHexDecode/FlateDecode]",
            &hexed(&compress_to_vec_zlib(b"BT /F1 9 Tf (In) Tj ET /X Do", 6)),
        ),
    );
    add(8, stream("/Subtype/Form/Filter/A85", &ascii85(b"BT /F1 9 Tf 40 0 Td (form) Tj ET")));
    add(9, packed(&format!("/Type/ObjStm/N 3/First {first}"), body.as_bytes()));
    add(10, packed("/Type/XRef/Root 1 0 R/W[1 2 1]", b"\x01\x00\x00\x00"));
    assert_eq!(text(&file), "In form In form");
}

fn ascii85(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for group in bytes.chunks(4) {
        let mut four = [0; 4];
        four[..group.len()].copy_from_slice(group);
        let mut value = u32::from_be_bytes(four);
        let mut digits = [0; 5];
        for digit in digits.iter_mut().rev() {
            *digit = b'!' + u8::try_from(value % 85).unwrap();
            value /= 85;
        }
        out.extend_from_slice(&digits[..=group.len()]);
    }
    out.extend_from_slice(b"~>");
    out
}

fn hexed(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|byte| format!("{byte:02x} ").into_bytes()).chain(*b">").collect()
}

#[test]
fn the_last_version_of_an_object_counts_and_a_broken_length_does_not_matter() {
    let mut file = one_page(stream("", b"BT /F1 9 Tf (old) Tj ET"), HELVETICA, vec![]);
    file.extend_from_slice(
        b"\n4 0 obj <</Length 9999>> stream\nBT /F1 9 Tf (new 7 0 obj) Tj ET\nendstream endobj",
    );
    assert_eq!(text(&file), "new 7 0 obj");
}

#[test]
fn a_title_is_read_and_an_encrypted_document_is_not() {
    let mut file = one_page(
        stream("", b"BT (x) Tj ET"),
        HELVETICA,
        vec![vec![], vec![], vec![], b"<</Title <FEFF00480069>>>".to_vec()],
    );
    assert_eq!(read(&file).unwrap().title.as_deref(), Some("Hi"));
    file.extend_from_slice(b"\ntrailer <</Encrypt 7 0 R>>");
    assert_eq!(read(&file), Err(Unread::Encrypted));
    assert_eq!(read(b"<html>"), Err(Unread::NotPdf));
    assert_eq!(read(b"%PDF-1.4 and nothing else"), Err(Unread::NoPages));
}

#[test]
fn a_document_made_to_hurt_ends_soon_and_stays_small() {
    // A stream that swells a thousandfold, twice over.
    let bomb = compress_to_vec_zlib(&vec![b' '; 40 << 20], 9);
    let twice = compress_to_vec_zlib(&bomb, 9);
    let pages = one_page(stream("/Filter[/FlateDecode/FlateDecode]", &twice), HELVETICA, vec![]);
    assert_eq!(text(&pages), "");
    // Pages that are their own children, and a form that draws itself.
    let circle = document(&[
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[2 0 R 2 0 R 3 0 R]>>".to_vec(),
        b"<</Type/Page/Contents 4 0 R/Resources<</XObject<</X 4 0 R>>>>>>".to_vec(),
        stream("/Subtype/Form", b"BT (a) Tj ET /X Do /X Do"),
    ]);
    assert!(text(&circle).len() < 1_000);
    // An object that is itself, and a stream of objects that says of itself where it is.
    let selves = document(&[
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"2 0 R".to_vec(),
        stream("/Type/ObjStm/N 1/First 4/Filter 5 0 R", b"5 0 /FlateDecode"),
    ]);
    assert_eq!(read(&selves), Err(Unread::NoPages));
    // Nesting, and arrays without end.
    for content in [
        vec![b'['; 1_000_000],
        b"<<".repeat(500_000),
        b"[0 ".repeat(400_000),
        b"(".repeat(1_000_000),
    ] {
        text(&one_page(stream("", &content), HELVETICA, vec![]));
    }
    // Text without end.
    let line = b"(0123456789012345678901234567890123456789) Tj ".repeat(100_000);
    let long = one_page(packed("", &[&b"BT /F1 9 Tf "[..], &line].concat()), HELVETICA, vec![]);
    let read = read(&long).unwrap();
    assert!(read.is_cut && read.text.len() <= TEXT_BYTES_MAX + 64);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = read(&[b"%PDF-1.7\n1 0 obj", &bytes[..]].concat());
    }

    #[test]
    fn a_document_with_any_byte_changed_is_read_or_refused(at in 0_usize..2_000, to: u8, cut in 0_usize..2_000) {
        let font = "<</Subtype/Type0/DescendantFonts[6 0 R]/ToUnicode 7 0 R>>";
        let map = b"1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfrange <01> <FF> <0041> endbfrange";
        let content = stream("", b"q 1 0 0 1 0 0 cm BT /F1 9 Tf [(\x01\x02) -9 (x)] TJ ET Q /X Do BI /W 1 ID xx EI");
        let mut file = one_page(content, font, vec![b"<</W[1 2 3]>>".to_vec(), stream("", map)]);
        if let Some(byte) = file.get_mut(at) {
            *byte = to;
        }
        let _ = read(&file);
        file.truncate(cut);
        let _ = read(&file);
    }

    #[test]
    fn any_words_on_a_page_are_read(content in "([()<>\\[\\]/]|BT|ET|Tj|TJ|Tf|Td|Tm|T\\*|cm|q|Q|BI|EI|ID|[-0-9. ]{1,6}|/F1 |\\(a\\) ){0,60}") {
        let _ = read(&one_page(stream("", content.as_bytes()), HELVETICA, vec![]));
    }
}
