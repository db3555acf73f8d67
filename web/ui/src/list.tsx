// The queue: one row per item. Rows change in place; nothing moves under the cursor.

import { signal } from '@preact/signals';
import { clock, t, word } from './i18n';
import { Icon } from './icons';
import { Plain } from './runs';
import { arrived, cursor, filters, go, items, listProblem, loadList, now, selected, total } from './store';
import type { Item, Tier } from './types';

const STATES = ['open', 'approved', 'denied', 'responded', 'expired', 'consumed', 'revoked'];
const TIERS: Tier[] = ['high', 'medium', 'low'];

export const toolName = (it: Item) => (it.tool.namespace ? it.tool.namespace + '.' : '') + it.tool.name;
export const itemPath = (id: string) => '/reviews/' + encodeURIComponent(id);

export function TierMark({ tier, long = false }: { tier: Tier; long?: boolean }) {
  const name = word('tier', tier);
  return <span class={'tier ' + tier}><Icon name={tier} />{long ? t('tier.risk', { tier: name }) : name}</span>;
}

export function Countdown({ of }: { of: Item }) {
  if (of.state !== 'open' && of.state !== 'approved') return <StateMark state={of.state} />;
  const left = Date.parse(of.expires_at) - now.value;
  if (left <= 0) return <span class="left urgent">{t('time.over')}</span>;
  return <span class={'left' + (left < 120_000 && of.state === 'open' ? ' urgent' : '')}><Icon name="clock" />{clock(left)}</span>;
}

export function StateMark({ state }: { state: string }) {
  const icon = state === 'approved' || state === 'consumed' ? 'check' : state === 'open' ? 'clock' : state === 'responded' ? 'reply' : 'cross';
  return <span class={'state ' + state}><Icon name={icon} />{word('state', state)}</span>;
}

export function Badges({ of }: { of: Item }) {
  return <>{(of.badges ?? []).map((b) => <span class="badge" key={b}>{word('badge', b)}</span>)}</>;
}

function Row({ of }: { of: Item }) {
  const current = selected.value === of.id;
  const open = (e: MouseEvent) => {
    if (e.metaKey || e.ctrlKey || e.shiftKey || e.button) return; // a new tab stays a new tab
    e.preventDefault();
    go(itemPath(of.id));
  };
  return (
    <li>
      <a class={'row' + (of.state === 'open' ? '' : ' over')} href={itemPath(of.id)} onClick={open} aria-current={current ? 'true' : undefined} data-id={of.id}>
        <span class="row-top"><TierMark tier={of.tier} /><code><Plain text={toolName(of)} /></code><Countdown of={of} /></span>
        <span class="row-what"><Plain text={of.summary} /></span>
        <span class="row-who"><span><Plain text={of.agent} /></span><Badges of={of} /></span>
      </a>
    </li>
  );
}

let typing: ReturnType<typeof setTimeout> | undefined;

function set(change: Partial<typeof filters.value>, wait = 0) {
  filters.value = { ...filters.value, ...change };
  clearTimeout(typing);
  typing = setTimeout(() => void loadList(), wait);
}

function Filters() {
  const f = filters.value;
  return (
    <form class="filters" role="search" onSubmit={(e) => e.preventDefault()}>
      <label class="search"><span class="sr">{t('list.search')}</span><Icon name="search" />
        <input id="search" type="search" value={f.q} placeholder={t('list.searchhint')} autocomplete="off" spellcheck={false}
          onInput={(e) => set({ q: e.currentTarget.value }, 200)} />
        <kbd aria-hidden="true">/</kbd>
      </label>
      <label><span class="sr">{t('list.state')}</span>
        <select value={f.state} onChange={(e) => set({ state: e.currentTarget.value })}>
          {STATES.map((s) => <option value={s} key={s}>{word('state', s)}</option>)}<option value="">{t('list.state')}: {t('list.all')}</option>
        </select>
      </label>
      <label><span class="sr">{t('list.risk')}</span>
        <select value={f.risk} onChange={(e) => set({ risk: e.currentTarget.value })}>
          <option value="">{t('list.risk')}: {t('list.all')}</option>{TIERS.map((s) => <option value={s} key={s}>{word('tier', s)}</option>)}
        </select>
      </label>
    </form>
  );
}

function Empty() {
  const f = filters.value;
  if (f.q || f.risk || f.state !== 'open') {
    return (
      <div class="empty"><Icon name="search" /><h2>{t('list.none')}</h2><p>{t('list.nonebody')}</p>
        <button onClick={() => set({ q: '', state: 'open', risk: '' })}>{t('list.clear')}</button></div>
    );
  }
  return <div class="empty" id="empty"><Icon name="gate" /><h2>{t('list.empty')}</h2><p>{t('list.emptybody')}</p></div>;
}

const loadingMore = signal(false);

function Rows() {
  if (listProblem.value && !items.value) {
    return <div class="empty"><Icon name="plug" /><h2>{t('load.failed')}</h2><button onClick={() => void loadList()}>{t('load.again')}</button></div>;
  }
  if (!items.value) return <div class="skeletons" role="status" aria-label={t('load.loading')}>{[1, 2, 3, 4].map((n) => <div class="skeleton" key={n} />)}</div>;
  if (items.value.length === 0) return <Empty />;
  const more = async () => { loadingMore.value = true; await loadList(true); loadingMore.value = false; };
  return (
    <>
      <ul class="rows" aria-label={t('list.label')}>{items.value.map((it) => <Row of={it} key={it.id} />)}</ul>
      {cursor.value && <button class="more" disabled={loadingMore.value} onClick={() => void more()}>{t('list.more')}</button>}
    </>
  );
}

export function List() {
  return (
    <section class="list" aria-labelledby="list-title">
      <div class="list-head">
        <h1 id="list-title">{t('app.queue')}</h1>
        <span class="count" aria-live="polite">{items.value && t(filters.value.state === 'open' ? 'list.count' : 'list.countany', { n: total.value })}</span>
      </div>
      <Filters />
      {arrived.value.size > 0 && <button class="pill" id="new" onClick={() => void loadList()}><Icon name="up" />{t('list.new', { n: arrived.value.size })}</button>}
      <div class="scroll" tabIndex={-1}><Rows /></div>
    </section>
  );
}
