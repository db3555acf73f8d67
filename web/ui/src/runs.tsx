// Text of others. It only ever becomes text nodes; what a reader could not see becomes a chip.

import { t, word } from './i18n';
import type { Run } from './types';

const quiet = new Set(['break', 'space']);

export function Runs({ runs }: { runs: Run[] }) {
  return <>{runs.map((r, i) => (r.kind === 'text' ? r.text : <Chip key={i} run={r} />))}</>;
}

function Chip({ run }: { run: Run }) {
  if (run.kind === 'secret') {
    return <span class="chip secret">{t('secret.hidden', { n: run.len ?? 0 })}</span>;
  }
  if (run.kind === 'break') {
    const [name, many = ''] = (run.code ?? '').split(' ');
    return <><span class="chip quiet" title={run.code}>↵{name === 'LF' ? '' : ' ' + name}{many && ' ' + many}</span>{many ? '\n\n' : '\n'}</>;
  }
  if (run.kind === 'space') {
    const count = run.code?.match(/×\d+/)?.[0] ?? '';
    const mark = run.text.startsWith('\t') ? '⇥' : run.text.startsWith(' ') ? '␣' : '␣ ' + (run.code?.split(' ')[0] ?? '');
    return <span class="chip quiet" title={word('run', 'space') + ' ' + run.code}>{mark}{count}</span>;
  }
  return (
    <span class={'chip ' + (quiet.has(run.kind) ? 'quiet' : 'loud')} data-kind={run.kind} title={word('run', run.kind)}>
      {run.kind === 'confusable' && <b>{run.text}</b>}
      <i>{word('run', run.kind)}</i> {run.code}
      {run.says && <em>{t('run.says', { text: run.says })}</em>}
    </span>
  );
}

const odd = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\u00a0\u034f\u115f\u1160\u17b4\u17b5\u2000-\u200a\u202f\u205f\u2800\u3000\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/gu;

/** A short text of ours that may repeat words of others: names, summaries, reasons. */
export function Plain({ text }: { text: string }) {
  const out = [];
  let at = 0;
  for (const m of text.matchAll(odd)) {
    if (m.index > at) out.push(text.slice(at, m.index));
    if (m[0] === '\n') out.push('\n');
    else out.push(<span class="chip loud">U+{m[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}</span>);
    at = m.index + m[0].length;
  }
  if (at < text.length) out.push(text.slice(at));
  return <>{out}</>;
}

/** The exact bytes as text for an editor: invisible characters become JSON escapes, which mean the same. */
export function escaped(json: string): string {
  return json.replace(odd, (c) => (/[\n\r\t]/.test(c) ? c : [...Array(c.length).keys()].map((i) => '\\u' + c.charCodeAt(i).toString(16).padStart(4, '0')).join('')));
}
