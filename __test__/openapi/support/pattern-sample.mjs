// A text that a regular expression matches, for the expressions that real documents have. What it cannot do, it
// says by undefined: the result is tried.

const CLASSES = { d: "0123456789", w: "abcXYZ019_", s: " " };

export function sampleOf(pattern, random) {
  for (let attempt = 0; attempt < 5; attempt++) {
    let text;
    try {
      text = new Sampler(pattern, random).run();
    } catch {
      return undefined;
    }
    if (matches(pattern, text)) return text;
  }
  return undefined;
}

function matches(pattern, text) {
  for (const flags of ["u", ""]) {
    try {
      return new RegExp(pattern, flags).test(text);
    } catch {
      // Perhaps without the flag.
    }
  }
  return false;
}

class Sampler {
  #pattern;
  #random;
  #at = 0;

  constructor(pattern, random) {
    this.#pattern = pattern;
    this.#random = random;
  }

  run() {
    const text = this.#alternatives();
    if (this.#at < this.#pattern.length) throw new Error("unread");
    return text;
  }

  #peek() {
    return this.#pattern[this.#at];
  }

  #next() {
    return this.#pattern[this.#at++];
  }

  #pick(list) {
    return list[Math.floor(this.#random() * list.length)];
  }

  #alternatives() {
    const found = [this.#sequence()];
    while (this.#peek() === "|") {
      this.#at++;
      found.push(this.#sequence());
    }
    return this.#pick(found);
  }

  #sequence() {
    let text = "";
    while (this.#at < this.#pattern.length && !"|)".includes(this.#peek())) {
      const start = this.#at;
      let piece = this.#atom();
      const end = this.#at;
      const times = this.#quantity();
      if (times !== undefined) {
        const after = this.#at;
        piece = "";
        for (let count = 0; count < times; count++) {
          this.#at = start;
          piece += this.#atom();
        }
        this.#at = times === 0 ? after : Math.max(end, after);
      }
      text += piece;
    }
    return text;
  }

  #quantity() {
    const sign = this.#peek();
    let range;
    if (sign === "*") range = [0, 2];
    else if (sign === "+") range = [1, 3];
    else if (sign === "?") range = [0, 1];
    else if (sign === "{") {
      const match = /^\{(\d+)(,(\d*))?\}/.exec(this.#pattern.slice(this.#at));
      if (match === null) return undefined;
      const least = Number(match[1]);
      const most = match[2] === undefined ? least : match[3] === "" ? least + 2 : Number(match[3]);
      if (least > 500) throw new Error("long");
      range = [least, Math.min(most, least + 2)];
      this.#at += match[0].length - 1;
    } else return undefined;
    this.#at++;
    if ("?+".includes(this.#peek() ?? " ")) this.#at++;
    return range[0] + Math.floor(this.#random() * (range[1] - range[0] + 1));
  }

  #atom() {
    const sign = this.#next();
    if (sign === "^" || sign === "$") return "";
    if (sign === ".") return "a";
    if (sign === "(") return this.#group();
    if (sign === "[") return this.#pick(this.#class());
    if (sign === "\\") return this.#pick(this.#escape());
    return sign;
  }

  #group() {
    const rest = this.#pattern.slice(this.#at);
    const prefix = /^\?(?::|<[a-z_]\w*>)/i.exec(rest);
    const looks = /^\?(?:=|!|<=|<!)/.exec(rest);
    if (prefix) this.#at += prefix[0].length;
    else if (looks) this.#at += looks[0].length;
    else if (rest.startsWith("?")) throw new Error("group");
    const text = this.#alternatives();
    if (this.#next() !== ")") throw new Error("open");
    return looks ? "" : text;
  }

  /** The characters that an escape stands for. */
  #escape() {
    const letter = this.#next();
    if (CLASSES[letter]) return [...CLASSES[letter]];
    if (letter === "D" || letter === "S" || letter === "W") return letter === "W" ? ["-"] : ["a"];
    if (letter === "p" || letter === "P") {
      const match = /^\{[^}]*\}/.exec(this.#pattern.slice(this.#at));
      if (match === null) throw new Error("property");
      this.#at += match[0].length;
      return /^\{(N|Nd)/.test(match[0]) ? ["1"] : ["a"];
    }
    if (letter === "u" || letter === "x") {
      const length = letter === "u" ? 4 : 2;
      const code = Number.parseInt(this.#pattern.slice(this.#at, this.#at + length), 16);
      if (Number.isNaN(code)) throw new Error("code");
      this.#at += length;
      return [String.fromCharCode(code)];
    }
    if (letter === "b" || letter === "A" || letter === "z" || letter === "Z") return [""];
    return [{ n: "\n", t: "\t", r: "\r" }[letter] ?? letter];
  }

  #class() {
    const negated = this.#peek() === "^";
    if (negated) this.#at++;
    const members = [];
    for (let first = true; first || this.#peek() !== "]"; first = false) {
      const sign = this.#next();
      if (sign === undefined) throw new Error("open class");
      const from = sign === "\\" ? this.#escape() : [sign];
      const next = this.#pattern[this.#at + 1];
      if (from.length === 1 && this.#peek() === "-" && next !== "]" && next !== undefined) {
        this.#at++;
        const end = this.#next();
        const to = end === "\\" ? this.#escape() : [end];
        members.push(...range(from[0], to[0]));
      } else members.push(...from);
    }
    this.#at++;
    if (!negated) return members;
    const allowed = [..."aZ0-_ x"].filter((letter) => !members.includes(letter));
    if (allowed.length === 0) throw new Error("class");
    return allowed;
  }
}

/** A range, the printable part of it if it has one. */
function range(from, to) {
  const codes = [];
  const end = Math.min(to.charCodeAt(0), from.charCodeAt(0) + 200);
  for (let code = from.charCodeAt(0); code <= end; code++) codes.push(String.fromCharCode(code));
  const printable = codes.filter((letter) => letter > " " && letter <= "~");
  return printable.length > 0 ? printable : codes;
}
