// Edit: the arguments as JSON, what policy would say, and what changes. Approving an edit vouches for the difference on the page.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { api, asProblem, reviewPath } from './api';
import { WhyField, reasonMember, rule, wantsReason } from './decide';
import { Reasons, problemText } from './detail';
import { THINK_MS } from './gate';
import { t, word } from './i18n';
import { Icon } from './icons';
import { compare, pretty } from './json';
import { Plain, escaped } from './runs';
import { mode } from './store';
import type { Item, Problem, Verdict } from './types';

const decode = (raw: string) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(atob(raw), (c) => c.charCodeAt(0)));

function fault(text: string): string {
  try {
    const v: unknown = JSON.parse(text);
    return typeof v === 'object' && v !== null && !Array.isArray(v) ? '' : t('edit.object');
  } catch (e) { return t('edit.bad', { why: e instanceof Error ? e.message : '' }); }
}

function Diff({ before, after }: { before: string; after: string }) {
  const pairs = compare(before, after);
  if (!pairs) return <p class="note">{t('edit.long')}</p>;
  if (pairs.every((p) => p.same)) return <p class="note">{t('edit.same')}</p>;
  const side = (line: string | undefined, same: boolean, sign: string) => (
    <td class={line === undefined ? 'none' : same ? '' : sign === '−' ? 'gone' : 'come'}>{line !== undefined && <pre>{same ? '  ' : sign + ' '}<Plain text={line} /></pre>}</td>
  );
  return (
    <table class="diff" id="diff">
      <thead><tr><th scope="col">{t('edit.before')}</th><th scope="col">{t('edit.after')}</th></tr></thead>
      <tbody>{pairs.map((p, i) => <tr key={i}>{side(p.before, p.same, '−')}{side(p.after, p.same, '+')}</tr>)}</tbody>
    </table>
  );
}

function Answer({ of, problem }: { of: Verdict | null; problem: Problem | null }) {
  if (problem) return <div class="verdict deny" id="verdict"><Icon name="high" /><div><p>{problemText(problem)}</p></div></div>;
  if (!of) return <div class="verdict" id="verdict"><Icon name="clock" /><div><p>{t('edit.asking')}</p></div></div>;
  return (
    <div class={'verdict ' + of.behavior} id="verdict" data-behavior={of.behavior}>
      <Icon name={of.behavior === 'deny' ? 'cross' : 'check'} />
      <div><p><b>{word('verdict', of.behavior)}</b></p>{of.reasons.length > 0 ? <Reasons of={of.reasons} /> : of.reason && <p><Plain text={of.reason} /></p>}</div>
    </div>
  );
}

function Form({ of, raw }: { of: Item; raw: string }) {
  const original = pretty(escaped(decode(raw)));
  const text = useSignal(original);
  const said = useSignal<{ of: string; verdict: Verdict } | null>(null);
  const problem = useSignal<Problem | null>(null);
  const confirming = useSignal(0); // when the first click was
  const why = useSignal('');
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const bad = fault(text.value);
  useEffect(() => {
    problem.value = null; confirming.value = 0;
    if (bad) return undefined;
    const asking = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const asked = text.value;
        said.value = { of: asked, verdict: await api<Verdict>(reviewPath(of.id, 'try'), `{"edited_input":${asked}}`, asking.signal) };
      } catch (e) { if (!asking.signal.aborted) problem.value = asProblem(e); }
    }, 250);
    return () => { clearTimeout(timer); asking.abort(); };
  }, [text.value]);
  const verdict = said.value?.of === text.value ? said.value.verdict : null; // an answer to another text is none
  const changed = text.value !== original;
  const sendable = changed && !bad && verdict !== null && verdict.behavior !== 'deny';
  // The call that was asked can want a reason, and so can the one it has become; the last answer holds until the next, so that the field stays.
  const last = said.value?.verdict;
  const asksWhy = wantsReason(of) || (!!last && (wantsReason(last) || last.uninspectable));
  const lacksWhy = asksWhy && !why.value.trim();
  const send = (e: Event) => {
    e.preventDefault();
    if (!sendable) return;
    if (lacksWhy) document.getElementById('why')?.focus();
    else if (!confirming.value) confirming.value = performance.now();
    else if (performance.now() - confirming.value >= THINK_MS) void rule(of, 'edit', `,"edited_input":${text.value}${asksWhy ? reasonMember(why.value) : ''}`);
  };
  return (
    <form onSubmit={send}>
      <section class="card" aria-labelledby="edit-title">
        <div class="card-head"><h2 id="edit-title">{t('edit.title')}</h2></div>
        <div class="editing">
          <textarea ref={field} id="editor" class="value" aria-label={t('edit.label')} aria-invalid={!!bad} aria-describedby="verdict-box" spellcheck={false} autocomplete="off" rows={Math.min(22, Math.max(8, text.value.split('\n').length + 1))}
            value={text.value} onInput={(e) => { text.value = e.currentTarget.value; }} />
          <div id="verdict-box" aria-live="polite">{bad ? <div class="verdict deny" id="verdict"><Icon name="high" /><div><p>{bad}</p></div></div> : <Answer of={verdict} problem={problem.value} />}</div>
        </div>
      </section>
      <section class="card" aria-labelledby="diff-title"><div class="card-head"><h2 id="diff-title">{t('edit.diff')}</h2></div><Diff before={original} after={text.value} /></section>
      <div class="closing">
        {asksWhy && <WhyField value={why.value} set={(words) => { why.value = words; }} />}
        <div class="ends"><button type="button" onClick={() => { mode.value = 'view'; }}>{t('do.cancel')}</button>
        <button class="primary" id="send-edit" disabled={!sendable} aria-disabled={!sendable || lacksWhy}><Icon name="check" />{confirming.value ? t('edit.confirm') : t('edit.submit')}</button></div>
      </div>
    </form>
  );
}

export function Editor({ of }: { of: Item }) {
  if (of.raw !== undefined) return <Form of={of} raw={of.raw} />;
  return <div class="card"><p class="note">{t('edit.masked')}</p><div class="ends"><button onClick={() => { mode.value = 'view'; }}>{t('do.cancel')}</button></div></div>;
}
