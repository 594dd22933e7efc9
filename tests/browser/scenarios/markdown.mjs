// Markdown as elements: what is shown for what is written, also while it comes in, and for texts that are made to take
// for ever.

import { visit } from "../hands.mjs";

// What is written, and what is made of it; of the attributes only where a link leads.
const CASES = [
  ["plain\nwords", "<p>plain\nwords</p>"],
  ["a  \nb\\\nc", "<p>a<br>b<br>c</p>"],
  ["# One\n## Two ##\n### Three\n#no heading", "<h3>One</h3><h3>Two</h3><h4>Three</h4><p>#no heading</p>"],
  ["**b** *i* ***bi*** ~~s~~ `c` __b__ _i_ a_b_c 2 * 3 * 4", "<p><strong>b</strong> <em>i</em> <em><strong>bi</strong></em> <s>s</s> <code>c</code> <strong>b</strong> <em>i</em> a_b_c 2 * 3 * 4</p>"],
  ["``a ` b`` `unclosed", "<p><code>a ` b</code> `unclosed</p>"],
  ["\\*no\\* \\`no\\`", "<p>*no* `no`</p>"],
  ["*open **both", "<p>*open **both</p>"],
  ["- a\n- b\n  - c\n    more\n- d", "<ul><li>a</li><li><p>b</p><ul><li>c\nmore</li></ul></li><li>d</li></ul>"],
  ["3. x\n4. y\n\nafter", "<ol start=\"3\"><li>x</li><li>y</li></ol><p>after</p>"],
  ["1. one\n\n   inside\n\n2. two", "<ol><li><p>one</p><p>inside</p></li><li>two</li></ol>"],
  ["- [x] done\n- [ ] open", "<ul><li><span>☑ </span>done</li><li><span>☐ </span>open</li></ul>"],
  ["> q\n> > deeper\n\n---", "<blockquote><p>q</p><blockquote><p>deeper</p></blockquote></blockquote><hr>"],
  ["| a | b |\n|:--|--:|\n| 1 | `x\\|y` |\n| 2 |", "<div><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><code>x|y</code></td></tr><tr><td>2</td><td></td></tr></tbody></table></div>"],
  ["```rust\nfn a() {}\n```\nx", "<figure><figcaption><span>rust</span><button>Copy</button></figcaption><pre><code>fn a() {}</code></pre></figure><p>x</p>"],
  ["~~~\n```\n~~~", "<figure><figcaption><span>text</span><button>Copy</button></figcaption><pre><code>```</code></pre></figure>"],
  ["[t](https://a.test/x_(y)) https://b.test/c. (https://d.test/)", "<p><a href=\"https://a.test/x_(y)\">t<span> (a.test)</span></a> <a href=\"https://b.test/c\">https://b.test/c</a>. (<a href=\"https://d.test/\">https://d.test/</a>)</p>"],
  ["![p](https://a.test/p.png)", "<p><a href=\"https://a.test/p.png\">🖼 p<span> (a.test)</span></a></p>"],
  ["[x](javascript:alert(1)) [y](relative) [z](mailto:a@b.test)", "<p>[x](javascript:alert(1)) [y](relative) [z](mailto:a@b.test)</p>"],
  ["[[n]](https://a.test/)", "<p><a href=\"https://a.test/\">[n]<span> (a.test)</span></a></p>"],
  ["<b>no</b> &lt;b&gt; &amp;copy;", "<p>&lt;b&gt;no&lt;/b&gt; &lt;b&gt; &amp;copy;</p>"],
  ["", ""],
];

const many = (text, times = 60_000) => text.repeat(times);
const HARD = [
  `# a${many(" ", 250_000)}b`, many("*", 250_000), many("*a_"), many("[", 250_000), many("[a]("), `[${many("]", 250_000)}`, `[${many("](a ")}`,
  Array.from({ length: 700 }, (_, at) => "`".repeat(at + 1)).join(" "), many(">", 250_000), many("- "), many("| a"), `${many("|a")}\n${many("|-")}\n${many("|x\n", 20_000)}`,
  Array.from({ length: 700 }, (_, at) => `${" ".repeat(at * 2)}- x`).join("\n"), many("http://", 30_000), many(`x${" ".repeat(1000)}\n`, 250), many("&", 250_000), many("<http://"), many("_a "),
  many("\n", 250_000), many("a\n\n"), many("***a***"),
];

export default async function markdown(world) {
  const { assert } = world;
  const page = await visit(world, await world.fresh());
  const render = (texts) => page.evaluate(async (texts) => {
    const { Growing, markdown } = await import("/page/markdown.js");
    const bare = (node) => {
      for (const each of node.querySelectorAll("*")) for (const name of each.getAttributeNames()) if (name !== "href" && name !== "start") each.removeAttribute(name);
      return node.innerHTML;
    };
    return texts.map((text) => {
      // Letter by letter it becomes the same as at once.
      const into = document.createElement("div");
      const growing = new Growing(into);
      for (const letter of text) { growing.add(letter); growing.settle(); }
      return { whole: bare(markdown(text)), grown: bare(into) };
    });
  }, texts);
  const made = await render(CASES.map(([text]) => text));
  for (const [at, [text, wanted]] of CASES.entries()) assert.deepEqual(made[at], { whole: wanted, grown: wanted }, text);

  // Texts that are as long as an entry may be, each made to be slow somewhere: all are done, and nothing is too deep.
  const depths = await page.evaluate(async (texts) => {
    const { markdown } = await import("/page/markdown.js");
    const depth = (node) => { let most = 0; for (const each of node.querySelectorAll("*")) { let at = 0; for (let up = each; up !== node; up = up.parentNode) at++; most = Math.max(most, at); } return most; };
    return texts.map((text) => depth(markdown(text)));
  }, HARD);
  for (const [at, depth] of depths.entries()) assert.ok(depth < 60, `${HARD[at].slice(0, 20)}: ${depth}`);
}
