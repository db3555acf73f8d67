// The decision bar: approving takes two steps, denying needs a reason.

import { signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { api, asProblem, reviewPath } from './api';
import { arm, armedAt, disarm, mayConfirm, ready, seenCount, seenWhy } from './gate';
import { t, word } from './i18n';
import { Icon } from './icons';
import { toolName } from './list';
import { Plain, Runs } from './runs';
import { item, me, mode, notice, showItem } from './store';
import type { Item } from './types';

const CODES = ['wrong_target', 'unexpected', 'injection_suspected', 'not_now', 'other'];
const TARGETS = ['recipient', 'url', 'path', 'account', 'shell_command', 'sql', 'identifier'];

const busy = signal(false);
export const typed = signal('');
const why = signal('');
/** Policy can oblige whoever approves to say why. */
export const wantsReason = (it: { obligations: string[] | null }) => !!it.obligations?.includes('reason');
const last4 = (digest: string) => digest.slice(-4);
const short = (digest: string) => digest.replace(/^sha256:(.{4}).*(.{4})$/, '$1…$2');

/** Sends a ruling on exactly the version and view that are on the page. */
export async function rule(it: Item, kind: string, more: string) {
  if (busy.value) return;
  busy.value = true;
  const head = JSON.stringify({ kind, version: it.version, action_digest: it.action_digest, view_digest: it.view_digest });
  try {
    const after = await api<Item>(reviewPath(it.id, 'rulings'), head.slice(0, -1) + more + '}');
    if (item.value?.id === it.id) {
      mode.value = 'view';
      notice.value = { key: 'done', state: after.state };
    }
    showItem(after);
  } catch (e) {
    const problem = asProblem(e);
    if (item.value?.id !== it.id) return;
    if (problem.item) showItem(problem.item);
    if (problem.kind === 'already_decided') mode.value = 'view';
    notice.value = { key: problem.kind === 'already_decided' ? 'won' : 'problem', problem };
  } finally {
    busy.value = false;
    disarm();
  }
}

export function armApproval() {
  if (mode.value !== 'view') return;
  typed.value = '';
  why.value = '';
  arm();
}

/** A reason as a member of a ruling. */
export const reasonMember = (words: string) => (words.trim() ? `,"reason":${JSON.stringify(words.trim())}` : '');

/** The second step. It does nothing when the gate has closed since the first, and shows what is still missing. */
export function confirmApproval() {
  const it = item.value;
  if (!it || !mayConfirm()) return;
  if (it.tier === 'high' && typed.value.toLowerCase() !== last4(it.action_digest)) document.getElementById('last4')?.focus();
  else if (wantsReason(it) && !why.value.trim()) document.getElementById('why')?.focus();
  else void rule(it, 'approve', wantsReason(it) ? reasonMember(why.value) : '');
}

/** The field for a reason that policy wants of whoever lets a call run. */
export function WhyField({ value, set }: { value: string; set: (words: string) => void }) {
  return (
    <label class="grow why"><span>{t('arm.reason')}</span>
      <input id="why" value={value} maxLength={1000} autocomplete="off" aria-required="true" onInput={(e) => set(e.currentTarget.value)} /></label>
  );
}

/** The call that may run (the edit, once there is one) and its target. Of several the one that nobody vouches for stands for all. */
function Target({ of }: { of: Item }) {
  const args = of.approved_view ?? of.arguments ?? [];
  const role = TARGETS.find((r) => args.some((a) => a.role === r));
  const targets = role ? args.filter((a) => a.role === role) : args.filter((a) => a.pointer).slice(0, 1);
  const target = targets.find((a) => a.origin === 'untrusted') ?? targets[0];
  return (
    <span class="target"><code><Plain text={toolName(of)} /></code>
      {target && <> → <code class="clip"><Runs runs={target.runs} /></code></>}{targets.length > 1 && <code class="others">{t('bar.others', { n: targets.length - 1 })}</code>}</span>
  );
}

function Subject({ of }: { of: Item }) {
  const digest = of.approved_digest ?? of.action_digest;
  return <div class="subject"><Target of={of} /><span class="digest">{t('bar.digest')} <code title={digest}>{short(digest)}</code></span></div>;
}

function Armed({ of }: { of: Item }) {
  // The cursor stands where the first word is wanted: a key pressed anywhere else takes the arming back.
  useEffect(() => (['last4', 'why', 'confirm'].map((id) => document.getElementById(id)).find(Boolean))?.focus({ preventScroll: true }), []);
  const high = of.tier === 'high';
  const fits = (!high || typed.value.toLowerCase() === last4(of.action_digest)) && (!wantsReason(of) || !!why.value.trim());
  return (
    <form class="bar armed" aria-label={t('arm.title')} onSubmit={(e) => { e.preventDefault(); confirmApproval(); }}>
      <div class="subject"><span><b>{t('arm.title')}</b> <span class="hint">{t('arm.hint')}</span></span><Target of={of} /></div>
      {high && (
        <label class="last4">{t('arm.type', { last: last4(of.action_digest) })}
          <input id="last4" value={typed.value} maxLength={4} autocomplete="off" autocapitalize="off" spellcheck={false} onInput={(e) => { typed.value = e.currentTarget.value; }} /></label>
      )}
      {wantsReason(of) && <WhyField value={why.value} set={(words) => { why.value = words; }} />}
      <div class="ends"><button type="button" onClick={disarm}>{t('do.cancel')}</button>
        <button type="submit" class="primary" id="confirm" aria-disabled={!fits || busy.value}><Icon name="check" />{t('do.confirm')}</button></div>
    </form>
  );
}

function Deny({ of }: { of: Item }) {
  const code = useSignal('');
  const words = useSignal('');
  const send = (e: Event) => {
    e.preventDefault();
    if (code.value) void rule(of, 'deny', `,"reason_code":${JSON.stringify(code.value)},"reason":${JSON.stringify(words.value)}`);
  };
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  return (
    <form class="bar sheet" onSubmit={send}>
      <fieldset><legend>{t('deny.title')}</legend>
        <div class="codes">{CODES.map((c, i) => <label key={c} class="code"><input ref={i ? null : first} type="radio" name="code" value={c} checked={code.value === c} onChange={() => { code.value = c; }} />{word('code', c)}</label>)}</div>
      </fieldset>
      <label class="grow"><span>{t('deny.note')}</span><input id="note" value={words.value} maxLength={1000} autocomplete="off" onInput={(e) => { words.value = e.currentTarget.value; }} /></label>
      <div class="ends"><button type="button" onClick={() => { mode.value = 'view'; }}>{t('do.cancel')}</button>
        <button class="danger" id="send-deny" disabled={!code.value || busy.value}><Icon name="cross" />{t('deny.send')}</button></div>
    </form>
  );
}

function Respond({ of }: { of: Item }) {
  const words = useSignal('');
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const send = (e: Event) => {
    e.preventDefault();
    if (words.value.trim()) void rule(of, 'respond', `,"text":${JSON.stringify(words.value)}`);
  };
  return (
    <form class="bar sheet" onSubmit={send}>
      <label class="grow"><span>{t('respond.title')}</span><textarea ref={field} id="answer" rows={3} maxLength={1000} aria-label={t('respond.label')} value={words.value} onInput={(e) => { words.value = e.currentTarget.value; }} /></label>
      <div class="ends"><button type="button" onClick={() => { mode.value = 'view'; }}>{t('do.cancel')}</button>
        <button class="primary" id="send-answer" disabled={!words.value.trim() || busy.value}><Icon name="reply" />{t('respond.send')}</button></div>
    </form>
  );
}

/** Says what still stands between the reviewer and an approval. */
function Progress({ of }: { of: Item }) {
  const all = of.arguments?.length ?? 0;
  let text = t('bar.ready');
  if (seenCount.value < all) text = t('bar.see', { n: seenCount.value, m: all });
  else if (!seenWhy.value) text = t('bar.seewhy');
  else if (!ready.value) text = t('bar.steady');
  return <span class={'progress' + (ready.value ? ' ready' : '')} id="progress"><Icon name={ready.value ? 'check' : 'eye'} />{text}</span>;
}

async function revoke(it: Item) {
  try {
    showItem(await api<Item>(reviewPath(it.id, 'revoke'), '{}'));
    notice.value = { key: 'done', state: 'revoked' };
  } catch (e) { notice.value = { key: 'problem', problem: asProblem(e) }; }
}

export function DecisionBar({ of }: { of: Item }) {
  if (!me.value?.can_rule) return <footer class="bar" aria-label={t('bar.label')}><Subject of={of} /><span class="hint">{t('bar.viewer')}</span></footer>;
  if (of.state === 'approved') return <footer class="bar"><Subject of={of} /><button id="revoke" onClick={() => void revoke(of)}>{t('do.revoke')}</button></footer>;
  if (of.state !== 'open' || mode.value === 'edit') return null;
  if (mode.value === 'deny') return <Deny of={of} />;
  if (mode.value === 'respond') return <Respond of={of} />;
  if (armedAt.value) return <Armed of={of} />;
  return (
    <footer class="bar" aria-label={t('bar.label')}>
      <Subject of={of} />
      {!of.uninspectable && <Progress of={of} />}
      <div class="ends">
        <button id="deny" onClick={() => { mode.value = 'deny'; }}><Icon name="cross" />{t('do.deny')}<kbd aria-hidden="true">d</kbd></button>
        <button id="respond" onClick={() => { mode.value = 'respond'; }}><Icon name="reply" />{t('do.respond')}<kbd aria-hidden="true">r</kbd></button>
        {of.kind === 'call' && <button id="edit" onClick={() => { mode.value = 'edit'; }} disabled={!ready.value}><Icon name="pen" />{t('do.edit')}<kbd aria-hidden="true">e</kbd></button>}
        <button id="approve" class="primary" disabled={!ready.value} aria-describedby="progress" onClick={armApproval}><Icon name="check" />{t('do.approve')}<kbd aria-hidden="true">a</kbd></button>
      </div>
    </footer>
  );
}
