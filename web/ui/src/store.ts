// The console's state. Items are the server's; nothing here decides anything.

import { computed, signal } from '@preact/signals';
import { api, asProblem, onSignedOut, reviewPath } from './api';
import type { AuditEvent, Health, Item, Me, Page, Problem } from './types';

export const me = signal<Me | null | undefined>(undefined); // undefined: not asked yet; null: nobody
export const path = signal(location.pathname);
export const selected = computed(() => (path.value.startsWith('/reviews/') ? decodeURIComponent(path.value.slice(9)) : ''));

export const filters = signal({ q: '', state: 'open', risk: '' });
export const items = signal<Item[] | null>(null);
export const total = signal(0);
export const cursor = signal('');
export const listProblem = signal<Problem | null>(null);
export const arrived = signal<ReadonlySet<string>>(new Set()); // open items that are not in the list yet

export const item = signal<Item | null>(null);
export const itemProblem = signal<Problem | null>(null);
export const timeline = signal<AuditEvent[] | null>(null);
export const notice = signal<{ key: 'done' | 'changed' | 'won' | 'problem'; state?: string; problem?: Problem } | null>(null);
export const mode = signal<'view' | 'deny' | 'respond' | 'edit'>('view');

export const health = signal<Health | null>(null);
export const link = signal<'connecting' | 'live' | 'offline'>('connecting');
export const panel = signal<'' | 'health' | 'keys'>('');
export const shortcuts = signal(localStorage.getItem('shortcuts') !== 'off');

// The server's clock, so that a countdown is right on a machine whose clock is not.
const skew = signal(0);
const tick = signal(Date.now());
setInterval(() => { tick.value = Date.now(); }, 1000);
export const now = computed(() => tick.value + skew.value);

onSignedOut(() => { me.value = null; });

export function go(to: string) {
  if (to === path.value) return;
  history.pushState(null, '', to);
  path.value = to;
}

addEventListener('popstate', () => { path.value = location.pathname; });

let listing: AbortController | undefined;

export async function loadList(more = false) {
  listing?.abort();
  const current = (listing = new AbortController());
  const query = new URLSearchParams();
  for (const [k, v] of Object.entries(filters.value)) if (v) query.set(k, v);
  if (more) query.set('cursor', cursor.value);
  try {
    const page = await api<Page>('/api/reviews?' + query, undefined, current.signal);
    items.value = more ? [...(items.value ?? []), ...page.items] : page.items;
    total.value = page.total;
    cursor.value = page.next_cursor;
    listProblem.value = null;
    if (!more) arrived.value = new Set();
    if (page.items[0]) skew.value = Date.parse(page.items[0].now) - Date.now();
  } catch (e) {
    if (!current.signal.aborted) listProblem.value = asProblem(e);
  }
}

let reading: AbortController | undefined;

/** Loads the selected item; a new version replaces the old one and every gate starts again. */
export async function loadItem(id: string) {
  reading?.abort();
  const current = (reading = new AbortController());
  try {
    const [it, line] = await Promise.all([
      api<Item>(reviewPath(id), undefined, current.signal),
      api<{ items: AuditEvent[] }>(reviewPath(id, 'timeline'), undefined, current.signal).catch(() => ({ items: [] })),
    ]);
    if (current.signal.aborted) return;
    skew.value = Date.parse(it.now) - Date.now();
    timeline.value = line.items;
    itemProblem.value = null;
    showItem(it);
  } catch (e) {
    if (!current.signal.aborted) itemProblem.value = asProblem(e);
  }
}

/** Puts an item on the page and into its row. */
export function showItem(it: Item) {
  const before = item.value;
  if (before?.id === it.id && before.version !== it.version && notice.value?.key !== 'done') notice.value = { key: 'changed' };
  item.value = it;
  items.value = items.value?.map((row) => (row.id === it.id ? it : row)) ?? null;
}

export async function loadHealth() {
  try { health.value = await api<Health>('/api/health'); } catch { health.value = null; }
}

async function changed(id: string, state: string) {
  if (items.value?.some((row) => row.id === id)) {
    if (id === selected.value) {
      if (mode.value !== 'edit') await loadItem(id);
    } else {
      items.value = items.value.map((row) => (row.id === id ? { ...row, state } : row)); // in place: nothing moves
    }
  } else if (state === 'open' && items.value?.length === 0) {
    await loadList(); // nothing is there that could move
  } else if (state === 'open') {
    arrived.value = new Set(arrived.value).add(id);
  }
}

export function listen() {
  const stream = new EventSource('/api/events');
  stream.onopen = () => {
    if (link.value === 'offline') { void loadHealth(); void loadList(); }
    link.value = 'live';
  };
  stream.onerror = () => {
    link.value = 'offline';
    if (stream.readyState === EventSource.CLOSED) {
      void api<Me>('/api/me').catch(() => undefined); // says whether the login is over
      setTimeout(() => { if (me.value) listen(); }, 3000);
    }
  };
  stream.addEventListener('change', (e) => {
    const { id, state } = JSON.parse((e as MessageEvent<string>).data) as { id: string; state: string };
    void changed(id, state);
  });
}
