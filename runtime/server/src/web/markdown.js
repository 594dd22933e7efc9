// Markdown as elements. What a model wrote is text: nothing of it becomes markup of this page.

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

const INLINE = /(`+)(.+?)\1|\*\*(.+?)\*\*|__(.+?)__|\*([^*\s][^*]*)\*|\b_([^_\s][^_]*)_\b|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)|(https?:\/\/[^\s<>)]+)/;

function inline(text) {
  const parts = [];
  for (let rest = text; rest; ) {
    const found = INLINE.exec(rest);
    if (!found) { parts.push(rest); break; }
    if (found.index) parts.push(rest.slice(0, found.index));
    const [whole, , code, strong, strong2, soft, soft2, label, target, bare] = found;
    const link = (href, shown) => element("a", { href, rel: "noopener noreferrer", target: "_blank" }, shown);
    if (code !== undefined) parts.push(element("code", {}, code));
    else if (strong ?? strong2) parts.push(element("strong", {}, ...inline(strong ?? strong2)));
    else if (soft ?? soft2) parts.push(element("em", {}, ...inline(soft ?? soft2)));
    else if (label) parts.push(link(target, label));
    else parts.push(link(bare, bare));
    rest = rest.slice(found.index + whole.length);
  }
  return parts;
}

const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());

export function markdown(text) {
  const blocks = document.createDocumentFragment();
  const lines = text.split("\n");
  let at = 0;
  const take = (fits) => {
    const taken = [];
    while (at < lines.length && fits(lines[at])) taken.push(lines[at++]);
    return taken;
  };
  while (at < lines.length) {
    const line = lines[at];
    const fence = /^\s*(```+|~~~+)\s*(\S*)/.exec(line);
    const heading = /^(#{1,6})\s+(.*)/.exec(line);
    if (!line.trim()) at++;
    else if (fence) {
      at++;
      const code = take((next) => !next.trim().startsWith(fence[1]));
      at++;
      blocks.append(element("pre", {}, element("code", {}, code.join("\n"))));
    } else if (heading) {
      at++;
      blocks.append(element(`h${Math.min(heading[1].length + 2, 6)}`, {}, ...inline(heading[2])));
    } else if (/^\s*([-*+]|\d+[.)])\s+/.test(line)) {
      const ordered = /^\s*\d/.test(line);
      const items = take((next) => /^\s*([-*+]|\d+[.)])\s+/.test(next) || /^\s{2,}\S/.test(next));
      const list = element(ordered ? "ol" : "ul");
      for (const item of items) {
        const begins = /^\s*(?:[-*+]|\d+[.)])\s+(.*)/.exec(item);
        if (begins) list.append(element("li", {}, ...inline(begins[1])));
        else list.lastChild?.append(" ", ...inline(item.trim()));
      }
      blocks.append(list);
    } else if (line.startsWith(">")) {
      const quoted = take((next) => next.startsWith(">")).map((next) => next.replace(/^>\s?/, ""));
      blocks.append(element("blockquote", {}, markdown(quoted.join("\n"))));
    } else if (line.includes("|") && /^[\s|:-]+$/.test(lines[at + 1] ?? "") && lines[at + 1].includes("-")) {
      const rows = take((next) => next.includes("|"));
      const row = (kind, text) => element("tr", {}, ...cells(text).map((cell) => element(kind, {}, ...inline(cell))));
      blocks.append(element("table", {}, row("th", rows[0]), ...rows.slice(2).map((text) => row("td", text))));
    } else {
      const words = take((next) => next.trim() && !/^(#{1,6}\s|\s*```|\s*~~~|>|\s*[-*+]\s)/.test(next));
      if (!words.length) words.push(lines[at++]);
      blocks.append(element("p", {}, ...words.flatMap((word, index) => index ? [" ", ...inline(word)] : inline(word))));
    }
  }
  return blocks;
}
