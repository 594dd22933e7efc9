# Makes the tree that every case begins with. Run by the real bash, once for each side.
printf 'one\ntwo\nthree\nfour\nfive\n' > a.txt
printf 'two\nthree\nsix\n' > b.txt
printf '10\n9\n2\n33\n1\n2\n' > numbers.txt
printf 'name,age,city\nAda,36,London\nBob,7,Berlin\nCleo,12,Athens\nDan,36,Berlin\n' > people.csv
printf '2024-01-02 INFO start\n2024-01-02 ERROR disk full\n2024-01-03 WARN slow\n2024-01-04 ERROR gone\n' > log.txt
printf '{"name":"x","items":[{"id":1,"tags":["a","b"]},{"id":2,"tags":["c"]}]}\n' > data.json
printf 'a\tb\tc\n1\t2\t3\n' > tabs.tsv
printf 'first\n\n\n\nsecond\n\nthird\n' > gaps.txt
printf 'win\r\ndows\r\n' > crlf.txt
printf 'no\nend' > noeol.txt
printf 'grün\n日本\n' > unicode.txt
printf 'a\na\nb\nb\nb\nc\na\n' > dup.txt
printf 'Apple\napple\nBanana\nbanana\nCherry\n' > mixed.txt
printf 'x b\ny a\nx a\nz c\n' > words.txt
printf 'a.b\naxb\nabd\nacd\nabcbcd\n' > regex.txt
printf '10K\n2M\n512\n1G\n' > sizes.txt
printf 'v1.10\nv1.9\nv1.2\n' > versions.txt
printf 'usr/local/bin\na:b:c\n' > paths.txt
printf 'a\nb\nc\n' > sorted-a.txt
printf 'b\nc\nd\n' > sorted-b.txt
printf 'old\n' > old.txt
printf 'hidden\n' > .hidden
printf 'spaced out\n' > 'with space.txt'
: > empty.txt
mkdir -p src/util docs void
printf 'fn main() {\n    println!("hi");\n}\n' > src/main.rs
printf 'pub mod util;\n\npub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n' > src/lib.rs
printf 'pub fn id(x: u8) -> u8 {\n    x\n}\n' > src/util/mod.rs
printf '# Title\n\nSome words.\n' > docs/readme.md
ln -s a.txt link
ln -s src dirlink
ln -s nowhere dangling
minute=0
for file in $(find . -type f -not -name '* *' | sort); do
    touch -d "2024-03-01 12:$(printf '%02d' $minute):00 UTC" "$file"
    minute=$((minute + 1))
done
touch -d '2024-03-01 11:00:00 UTC' old.txt
touch -d '2024-03-01 13:00:00 UTC' 'with space.txt'
touch -d '2024-03-01 14:00:00 UTC' src/util src docs void
