// One item: what will happen and to what, every argument, why it was asked.

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, asProblem, reviewPath } from './api';
import { DecisionBar } from './decide';
import { Editor } from './edit';
import { bottom, top, whyBottom, whyTop } from './gate';
import { t, when, word } from './i18n';
import { Icon } from './icons';
import { Badges, Countdown, StateMark, TierMark, toolName } from './list';
import { Plain, Runs } from './runs';
import { go, item, itemProblem, items, loadItem, me, mode, notice, selected, showItem, timeline } from './store';
import type { Argument, AuditEvent, Item, Problem, Reason, Risk } from './types';

const tab = signal<'tree' | 'raw' | 'hex'>('tree');

const masked = (a: Argument) => a.runs.some((r) => r.kind === 'secret');
const loud = (a: Argument) => [...a.runs, ...(a.name ?? [])].filter((r) => !['text', 'break', 'space', 'secret'].includes(r.kind)).length;
const unescape = (s: string) => s.replaceAll('~1', '/').replaceAll('~0', '~');

/** A pointer as a path: parents quiet, the last step strong. Odd characters are chips. */
function Path({ of }: { of: Argument }) {
  if (of.name) return <code class="path"><Runs runs={of.name} /></code>;
  const steps = of.pointer.split('/').slice(1).map(unescape);
  const last = steps.pop();
  if (last === undefined) return <code class="path">{'{ }'}</code>;
  return <code class="path">{steps.map((s, i) => <span key={i}>{s || '""'} › </span>)}<b>{last || '""'}</b></code>;
}

/** The two documents whose values can be revealed: what was asked, and what a reviewer made of it. */
type Source = '' | 'approved_input';

async function reveal(it: Item, pointer: string, source: Source) {
  try {
    const shown = await api<{ item: Item; hides_at: string }>(reviewPath(it.id, 'reveal'), JSON.stringify({ pointer, of: source }));
    if (item.value?.id !== it.id) return;
    showItem(shown.item);
    const left = Date.parse(shown.hides_at) - Date.parse(shown.item.now);
    setTimeout(() => { if (selected.value === it.id) void loadItem(it.id); }, left + 50);
  } catch (e) {
    notice.value = { key: 'problem', problem: asProblem(e) };
  }
}

function ArgumentView({ of, it, source }: { of: Argument; it: Item; source: Source }) {
  const watched = !source; // an approval vouches for what was asked; an edit is vouched for by its difference
  return (
    <div class={'arg' + (of.origin === 'untrusted' ? ' untrusted' : '')} data-pointer={of.pointer}>
      <span ref={watched ? top(of.pointer) : null} class="edge" />
      <div class="arg-head">
        <Path of={of} />
        {of.role && <span class="role">{word('role', of.role)}</span>}
        {of.origin && <span class={'origin ' + of.origin}>{word('origin', of.origin)}</span>}
        <span class="size" title={t('item.size', { runes: of.runes, bytes: of.bytes })}>
          {word('type', of.type)}{of.type === 'string' && ` · ${t('item.chars', { n: of.runes })}`}{of.bytes !== of.runes && ` · ${t('item.bytes', { bytes: of.bytes })}`}
        </span>
      </div>
      <pre class={'value ' + of.type}><Runs runs={of.runs} /></pre>
      {masked(of) && me.value?.can_rule && (
        <p class="reveal"><button class="small" onClick={() => void reveal(it, of.pointer, source)}><Icon name="eye" />{t('secret.reveal')}</button> {t('secret.note')}</p>
      )}
      <span ref={watched ? bottom(of.pointer) : null} class="edge" />
    </div>
  );
}

const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

/** Eight rows of sixteen would do for most; the rest stays one scroll away. */
function hexdump(bytes: Uint8Array): string {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const part = [...bytes.subarray(at, at + 16)];
    const hex = part.map((b) => b.toString(16).padStart(2, '0'));
    const ascii = part.map((b) => (b > 0x20 && b < 0x7f ? String.fromCharCode(b) : b === 0x20 ? ' ' : '·')).join('');
    lines.push(at.toString(16).padStart(6, '0') + '  ' + (hex.slice(0, 8).join(' ') + '  ' + hex.slice(8).join(' ')).padEnd(49) + ' ' + ascii);
  }
  return lines.join('\n');
}

function Raw({ of, hex }: { of: Item; hex: boolean }) {
  if (of.raw === undefined) return <p class="note">{t('item.rawhidden')}</p>;
  const bytes = bytesOf(of.raw);
  return <pre class={'value whole' + (hex ? ' hex' : '')} tabIndex={0} aria-label={t(hex ? 'item.hex' : 'item.raw')}>{hex ? hexdump(bytes) : <Plain text={new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)} />}</pre>;
}

function Arguments({ of }: { of: Item }) {
  const args = of.arguments ?? [];
  const hidden = args.reduce((n, a) => n + loud(a), 0);
  const names = ['tree', 'raw', 'hex'] as const;
  const move = (e: KeyboardEvent) => {
    const step = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
    if (!step) return;
    tab.value = names[(names.indexOf(tab.value) + step + names.length) % names.length]!;
    document.getElementById('tab-' + tab.value)?.focus();
  };
  return (
    <section class="card" aria-labelledby="args-title">
      <div class="card-head">
        <h2 id="args-title">{t(of.approved_view ? 'item.asked' : 'item.args')}</h2>
        <div class="tabs" role="tablist" aria-labelledby="args-title" onKeyDown={move}>
          {names.map((n) => <button key={n} id={'tab-' + n} role="tab" aria-selected={tab.value === n} aria-controls="args" tabIndex={tab.value === n ? 0 : -1} onClick={() => { tab.value = n; }}>{t(`item.${n}`)}</button>)}
        </div>
      </div>
      {hidden > 0 && <p class="alarm"><Icon name="high" />{t('item.hiddenchars', { n: hidden })}</p>}
      <div id="args" role="tabpanel" aria-labelledby={'tab-' + tab.value}>
        {tab.value === 'tree'
          ? args.map((a) => (a.pointer === '' && a.type === 'object'
            ? <div class="arg" key="none" data-pointer=""><span ref={top('')} class="edge" /><p class="note">{t('item.noargs')}</p><span ref={bottom('')} class="edge" /></div>
            : <ArgumentView of={a} it={of} key={a.pointer} source="" />))
          : <Raw of={of} hex={tab.value === 'hex'} />}
      </div>
    </section>
  );
}

export function Reasons({ of }: { of: Reason[] }) {
  return (
    <ul class="reasons">
      {of.map((r, i) => (
        <li key={i} class={'severity-' + (r.severity ?? 'none')}>
          <p><Plain text={r.reason} /></p>
          <p class="rule"><code><Plain text={r.id} /></code><span><Plain text={r.policy} /></span>{r.severity && <span>{t('tier.risk', { tier: word('severity', r.severity) })}</span>}{r.pointer && <code><Plain text={r.pointer} /></code>}</p>
        </li>
      ))}
    </ul>
  );
}

function Why({ of }: { of: Item }) {
  return (
    <section class="card" aria-labelledby="why-title">
      <span ref={whyTop} class="edge" />
      <div class="card-head"><h2 id="why-title">{t('item.why')}</h2></div>
      {of.reasons?.length ? <Reasons of={of.reasons} /> : <p class="note">{t('item.nowhy')}</p>}
      <span ref={whyBottom} class="edge" />
    </section>
  );
}

function RiskFacts({ of }: { of: Item }) {
  const facts: [keyof Risk, boolean][] = [['destructive', true], ['open_world', true], ['sensitive_sink', true], ['read_only', false], ['idempotent', false]];
  return (
    <section class="card" aria-labelledby="risk-title">
      <div class="card-head"><h2 id="risk-title">{t('item.risk')}</h2><span class="aside">{t('item.risksource', { source: word('source', of.risk_source) })}</span></div>
      <ul class="facts">
        {facts.map(([name, worse]) => {
          const bad = of.risk[name] === worse;
          return <li key={name} class={bad ? 'bad' : ''}><Icon name={bad ? 'medium' : 'check'} />{t(of.risk[name] ? `risk.${name}` : `risk.${name}.no`)}</li>;
        })}
      </ul>
    </section>
  );
}

function Event({ of, here }: { of: AuditEvent; here: boolean }) {
  const facts = [of.tool, of.behavior && word('behavior', of.behavior), of.ruling && word('kind', of.ruling), of.person, of.state && word('state', of.state), of.status && word('status', of.status), of.labels?.join(', ')];
  return (
    <li class={here ? 'here' : ''}>
      <time dateTime={of.time}>{when(of.time)}</time>
      <div><b>{word('event', of.event)}</b>{facts.filter(Boolean).map((f, i) => <span key={i}><Plain text={f!} /></span>)}{here && <span class="badge">{t('item.here')}</span>}
        {of.reason && <p><Plain text={of.reason} /></p>}</div>
    </li>
  );
}

function Timeline({ of }: { of: Item }) {
  return (
    <section class="card" aria-labelledby="line-title">
      <div class="card-head"><h2 id="line-title">{t('item.timeline')}</h2></div>
      {timeline.value?.length ? <ol class="timeline">{timeline.value.map((e) => <Event of={e} key={e.id} here={e.review_id === of.id} />)}</ol> : <p class="note">{t('item.notimeline')}</p>}
    </section>
  );
}

function Rulings({ of }: { of: Item }) {
  if (!of.rulings.length && !of.closed_by) return null;
  return (
    <section class="card" aria-labelledby="rulings-title">
      <div class="card-head"><h2 id="rulings-title">{t('item.rulings')}</h2></div>
      <ul class="rulings">
        {of.rulings.map((r, i) => (
          <li key={i}><b><Plain text={r.person} /></b> <span>{word('kind', r.kind)}</span>{r.reason_code && <span class="badge">{word('code', r.reason_code)}</span>}<time dateTime={r.at}>{when(r.at)}</time>
            {(r.reason || r.text) && <p><Plain text={r.reason || r.text || ''} /></p>}</li>
        ))}
        {of.closed_by && <li><Plain text={of.closed_by} /></li>}
      </ul>
    </section>
  );
}

/** What may run, or did, after a reviewer's edit. It stands before what was asked, which it replaces. */
function Approved({ of }: { of: Item }) {
  if (!of.approved_view) return null;
  return (
    <section class="card approved" id="approved" aria-labelledby="approved-title">
      <div class="card-head"><h2 id="approved-title">{t('item.approvedview')}</h2></div>
      {of.approved_view.map((a) => <ArgumentView of={a} it={of} key={a.pointer} source="approved_input" />)}
    </section>
  );
}

function Notice() {
  const n = notice.value;
  if (!n) return null;
  const close = <button class="bare" aria-label={t('keys.close2')} onClick={() => { notice.value = null; }}><Icon name="cross" /></button>;
  if (n.key === 'done') return <div class="notice good" role="status"><Icon name="check" /><p>{word('done', n.state ?? '')}</p>{close}</div>;
  if (n.key === 'changed') return <div class="notice" role="status"><Icon name="clock" /><p>{t('item.changed')}</p>{close}</div>;
  const w = n.problem?.winner;
  if (n.key === 'won') {
    return (
      <div class="notice" role="alert"><Icon name="reply" />
        <p><b>{t('won.title')}</b> {w ? <><Plain text={t('won.by', { person: w.person, kind: word('kind', w.kind) })} />, {when(w.at)}</> : n.problem?.item && word('state', n.problem.item.state)}</p>{close}</div>
    );
  }
  return <div class="notice bad" role="alert"><Icon name="high" /><p><b>{t('fail.title')}.</b> {problemText(n.problem)}</p>{close}</div>;
}

/** What went wrong and what to do: in our words when we have them, else in the server's. A fault of ours names its line in the log. */
export function problemText(of: Problem = { kind: 'internal_error', status: 0 }) {
  const said = word('problem', of.kind);
  const ours = said !== of.kind.replaceAll('_', ' ');
  const theirs = (of.detail ?? said) + (of.fix ? ` → ${of.fix}` : '');
  return <>{ours ? said : <Plain text={theirs} />}{of.status >= 500 && of.request_id && <> <code><Plain text={of.request_id} /></code></>}</>;
}

function Head({ of }: { of: Item }) {
  return (
    <header class="item-head">
      <div class="item-top">
        <button class="bare back" aria-label={t('item.back')} onClick={() => go('/')}><Icon name="back" /></button>
        <TierMark tier={of.tier} long /><code class="tool"><Plain text={toolName(of)} /></code><StateMark state={of.state} /><Badges of={of} />
        <span class="until"><Countdown of={of} />{(of.state === 'open' || of.state === 'approved') && <small>{t(of.state === 'open' ? 'time.left' : 'time.usable')}</small>}</span>
      </div>
      <h1><Plain text={of.summary} /></h1>
      {of.approved_digest && <p class="edited"><Icon name="pen" />{t('item.edited')}</p>}
      <p class="who">{t('item.agent')} <b><Plain text={of.agent} /></b>{of.owner && <> <Plain text={t('item.for', { owner: of.owner })} /></>} · {t('item.session')} <code><Plain text={of.session_id} /></code> · <time dateTime={of.opened_at}>{t('time.opened', { time: when(of.opened_at) })}</time></p>
    </header>
  );
}

function Loaded({ of }: { of: Item }) {
  // Another version is another page: its sections are built anew, so that none of them counts as seen before.
  const shown = `${of.id} ${of.version} ${of.view_digest}`;
  return (
    <>
      <div class="scroll" id="item" tabIndex={-1}>
        <Head of={of} />
        <Notice />
        {of.uninspectable && <p class="alarm boxed"><Icon name="high" />{t('item.uninspectable')}</p>}
        {mode.value === 'edit' ? <Editor of={of} key={of.id} /> : (
          <>
            <Rulings of={of} /><Approved of={of} /><Arguments of={of} key={shown} />
            <div class="two"><Why of={of} key={shown} />{of.kind !== 'conclusion' && <RiskFacts of={of} />}</div>
            <Timeline of={of} />
            {of.justification && <details class="card words"><summary>{t('item.words')} <span class="badge">{t('item.unchecked')}</span></summary><pre class="value"><Plain text={of.justification} /></pre></details>}
          </>
        )}
      </div>
      <DecisionBar of={of} />
    </>
  );
}

export function Detail() {
  const id = selected.value;
  useEffect(() => {
    mode.value = 'view'; notice.value = null; item.value = null; itemProblem.value = null; tab.value = 'tree';
    if (id) void loadItem(id);
  }, [id]);
  const it = item.value;
  let body;
  if (!id) body = items.value?.length === 0 ? null : <div class="empty"><Icon name="gate" /><h2>{t('pick.title')}</h2><p>{t('pick.body')}</p></div>;
  else if (itemProblem.value) body = <div class="empty" role="alert"><Icon name="plug" /><h2>{t('load.failed')}</h2><p>{problemText(itemProblem.value)}</p><button onClick={() => void loadItem(id)}>{t('load.again')}</button></div>;
  else if (!it || it.id !== id) body = <div class="skeletons wide" role="status" aria-label={t('load.loading')}><div class="skeleton" /><div class="skeleton tall" /></div>;
  else body = <Loaded of={it} />;
  return <div class="detail">{body}</div>;
}
