// JSON as text: numbers keep every digit, because nothing here turns them into a double.

/** Indents a valid JSON text without changing any token. */
export function pretty(json: string): string {
  let out = '';
  let depth = 0;
  const line = () => { out += '\n' + '  '.repeat(depth); };
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs)) {
    if (token === '{' || token === '[') { out += token; depth++; line(); }
    else if (token === '}' || token === ']') {
      depth--;
      if (/[{[]\s*$/.test(out)) out = out.trimEnd(); else line();
      out += token;
    } else if (token === ',') { out += token; line(); }
    else out += token === ':' ? ': ' : token;
  }
  return out;
}

/** One row of a side-by-side comparison: a line that stands on both sides, or on one. */
export type Pair = { before?: string; after?: string; same: boolean };

/** Compares two texts line by line (longest common subsequence); null when that would take too long. */
export function compare(before: string, after: string): Pair[] | null {
  const a = before.split('\n');
  const b = after.split('\n');
  if (a.length * b.length > 1_000_000) return null;
  const width = b.length + 1;
  const best = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      best[i * width + j] = a[i] === b[j] ? best[(i + 1) * width + j + 1]! + 1 : Math.max(best[(i + 1) * width + j]!, best[i * width + j + 1]!);
    }
  }
  const out: Pair[] = [];
  let gone: string[] = [];
  let come: string[] = [];
  const flush = () => {
    for (let k = 0; k < Math.max(gone.length, come.length); k++) {
      out.push({ same: false, ...(k < gone.length && { before: gone[k]! }), ...(k < come.length && { after: come[k]! }) });
    }
    gone = []; come = [];
  };
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { flush(); out.push({ before: a[i++]!, after: b[j++]!, same: true }); }
    else if (j >= b.length || (i < a.length && best[(i + 1) * width + j]! >= best[i * width + j + 1]!)) gone.push(a[i++]!);
    else come.push(b[j++]!);
  }
  flush();
  return out;
}
