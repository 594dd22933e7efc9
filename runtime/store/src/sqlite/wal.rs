//! The log of SQLite, in which what was stored last may still be. SQLite reads it up to the first thing that is
//! not right and takes the rest for what a power cut left of a transaction that nobody was told of. Mostly it is.
//! But if whole transactions follow, they were told of, and going on without them would lose them silently.

use std::{
    fs::File,
    io::{self, BufReader, ErrorKind, Read},
    path::Path,
};

const HEAD: usize = 32;
const FRAME_HEAD: usize = 24;

/// What is wrong with a log, if anything is.
pub(super) fn check(path: &Path) -> io::Result<Option<&'static str>> {
    let first = scan(path)?;
    if first == Scan::Fine {
        return Ok(None);
    }
    // Another process may have been writing meanwhile. What is damaged stays damaged in the same place.
    if scan(path)? != first {
        return Ok(None);
    }
    Ok(match first {
        Scan::Fine => None,
        Scan::Head => Some("is damaged at its beginning"),
        Scan::Lost { .. } => Some("is damaged, and what was stored last is behind the damage"),
    })
}

/// What a log looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scan {
    Fine,
    Head,
    Lost { frame: u64, salts: [u8; 8] },
}

#[expect(clippy::disallowed_methods, reason = "the database's own file")]
fn scan(path: &Path) -> io::Result<Scan> {
    let mut file = match File::open(path) {
        Ok(file) => BufReader::with_capacity(256 * 1024, file),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Scan::Fine),
        Err(error) => return Err(error),
    };
    let mut head = [0; HEAD];
    if !fill(&mut file, &mut head)? || head == [0; HEAD] {
        // Nothing was stored in it yet.
        return Ok(Scan::Fine);
    }
    let (Some(mut sum), Some(page)) = (Sum::of_head(&head), page_size(&head)) else {
        // A head is waited for before anything is stored behind it: where nothing is, nothing was.
        let is_behind = fill(&mut file, &mut [0; FRAME_HEAD])?;
        return Ok(if is_behind { Scan::Head } else { Scan::Fine });
    };
    let (_, salts) = head.split_at(16);
    let salts: [u8; 8] = salts.first_chunk().copied().unwrap_or_default();
    let (mut frame_head, mut content) = ([0; FRAME_HEAD], vec![0; page]);
    // What the frame before says its sum is: behind damage, frames still follow from each other.
    let mut said = sum;
    let (mut frame, mut damaged, mut whole_behind) = (0_u64, None, 0_u32);
    while fill(&mut file, &mut frame_head)? && fill(&mut file, &mut content)? {
        let (place, rest) = frame_head.split_at(8);
        let (frame_salts, sums) = rest.split_at(8);
        for sum in [&mut sum, &mut said] {
            sum.add(place);
            sum.add(&content);
        }
        let follows = sum.bytes() == sums || said.bytes() == sums;
        let is_of_now = frame_salts == salts;
        if damaged.is_none() && !(is_of_now && sum.bytes() == sums) {
            damaged = Some(frame);
        } else if damaged.is_some() && is_of_now && follows && place.get(4..) != Some(&[0; 4]) {
            whole_behind += 1;
        }
        said = sum.saying(sums);
        // The first transaction that ends behind the damage may be the one that was being written.
        if let (Some(frame), 2..) = (damaged, whole_behind) {
            return Ok(Scan::Lost { frame, salts });
        }
        frame += 1;
    }
    Ok(Scan::Fine)
}

/// Fills a buffer; says whether there was enough.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn page_size(head: &[u8; HEAD]) -> Option<usize> {
    let (_, size) = head.split_at(8);
    let size = u32::from_be_bytes(*size.first_chunk()?);
    (size.is_power_of_two() && (512..=65536).contains(&size)).then(|| usize::try_from(size).ok())?
}

/// The running sum with which SQLite seals every frame together with all that came before it.
#[derive(Clone, Copy)]
struct Sum {
    one: u32,
    two: u32,
    read: fn([u8; 4]) -> u32,
}

impl Sum {
    /// The sum of the head, if the head is right.
    fn of_head(head: &[u8; HEAD]) -> Option<Self> {
        let (summed, seal) = head.split_at(24);
        let read = match summed.first_chunk()? {
            [0x37, 0x7f, 0x06, 0x82] => u32::from_le_bytes,
            [0x37, 0x7f, 0x06, 0x83] => u32::from_be_bytes,
            _ => return None,
        };
        let mut sum = Self { one: 0, two: 0, read };
        sum.add(summed);
        (sum.bytes() == seal).then_some(sum)
    }

    fn add(&mut self, bytes: &[u8]) {
        let (pairs, _) = bytes.as_chunks::<8>();
        for [a, b, c, d, e, f, g, h] in pairs {
            self.one = self.one.wrapping_add((self.read)([*a, *b, *c, *d])).wrapping_add(self.two);
            self.two = self.two.wrapping_add((self.read)([*e, *f, *g, *h])).wrapping_add(self.one);
        }
    }

    /// The sum that is written here.
    fn saying(&self, bytes: &[u8]) -> Self {
        let number = |half: Option<&[u8; 4]>| half.map_or(0, |half| u32::from_be_bytes(*half));
        Self { one: number(bytes.first_chunk()), two: number(bytes.last_chunk()), read: self.read }
    }

    fn bytes(&self) -> [u8; 8] {
        let ([a, b, c, d], [e, f, g, h]) = (self.one.to_be_bytes(), self.two.to_be_bytes());
        [a, b, c, d, e, f, g, h]
    }
}
