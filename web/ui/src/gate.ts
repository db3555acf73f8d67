// When may an approval be armed? The item was visible, focused and unchanged for 700 ms, and everything that has to be seen was on
// screen. The server keeps its own account of what was shown (POST …/views) and has the last word.

import { computed, effect, signal, untracked } from '@preact/signals';
import { api, reviewPath } from './api';
import { item, link, me } from './store';

export const STEADY_MS = 700;
/** A confirmation sooner than this after arming is a bounce, not a thought. */
export const THINK_MS = 400;

const WHY = '\u0000why'; // not a JSON pointer, so no argument can claim it

const seen = signal<ReadonlySet<string>>(new Set());
const steady = signal(false);
const proven = signal(false);
export const armedAt = signal(0);

const required = computed(() => [...(item.value?.arguments ?? []).map((a) => a.pointer), WHY]);
export const seenCount = computed(() => (item.value?.arguments ?? []).filter((a) => seen.value.has(a.pointer)).length);
export const seenWhy = computed(() => seen.value.has(WHY));
export const ready = computed(() =>
  steady.value && proven.value && link.value !== 'offline' && !!me.value?.can_rule && item.value?.state === 'open' &&
  !item.value.uninspectable && required.value.every((p) => seen.value.has(p)));

export const disarm = () => { armedAt.value = 0; };
export function arm() { if (ready.value) armedAt.value = performance.now(); }
export const mayConfirm = () => ready.value && armedAt.value > 0 && performance.now() - armedAt.value >= THINK_MS;

// A new version or another item starts from nothing; so does looking away.
const shown = computed(() => (item.value ? `${item.value.id} ${item.value.version} ${item.value.view_digest}` : ''));
let timer: ReturnType<typeof setTimeout> | undefined;

function restart() {
  disarm();
  steady.value = false;
  clearTimeout(timer);
  if (shown.peek() && document.visibilityState === 'visible' && document.hasFocus()) {
    timer = setTimeout(() => { steady.value = true; }, STEADY_MS);
  }
}

effect(() => {
  shown.value;
  untracked(() => { seen.value = new Set(); proven.value = false; restart(); });
});
for (const event of ['focus', 'blur', 'pageshow']) addEventListener(event, restart);
document.addEventListener('visibilitychange', restart);

/** Both ends of a section have to have been on screen; a long value is only seen when it was scrolled through. */
const ends = new WeakMap<Element, { name: string; of: string; end: 'top' | 'bottom' }>();
const halves = new Map<string, Set<string>>();
const watcher = new IntersectionObserver((entries) => {
  if (document.visibilityState !== 'visible') return;
  const found = new Set(seen.value);
  for (const e of entries) {
    const mark = ends.get(e.target);
    if (!e.isIntersecting || !mark || mark.of !== shown.peek()) continue;
    const key = mark.of + '\n' + mark.name;
    const both = halves.get(key) ?? new Set();
    halves.set(key, both.add(mark.end));
    if (both.size === 2) found.add(mark.name);
  }
  if (found.size > seen.value.size) seen.value = found;
});

function watch(el: Element | null, name: string, end: 'top' | 'bottom') {
  if (!el) return;
  ends.set(el, { name, of: shown.peek(), end });
  watcher.unobserve(el);
  watcher.observe(el);
}

export const top = (pointer: string) => (el: Element | null) => watch(el, pointer, 'top');
export const bottom = (pointer: string) => (el: Element | null) => watch(el, pointer, 'bottom');
export const whyTop = top(WHY);
export const whyBottom = bottom(WHY);

// Reports to the server what was on screen, a moment after the last change.
let report: ReturnType<typeof setTimeout> | undefined;
effect(() => {
  const it = item.value;
  const pointers = [...seen.value].filter((p) => p !== WHY);
  clearTimeout(report);
  if (!it || it.state !== 'open' || (pointers.length === 0 && it.arguments?.length)) return;
  const of = shown.peek();
  report = setTimeout(async () => {
    const body = JSON.stringify({ version: it.version, view_digest: it.view_digest, pointers });
    const answer = await api<{ complete: boolean }>(reviewPath(it.id, 'views'), body).catch(() => ({ complete: false }));
    if (of === shown.peek()) proven.value = answer.complete;
  }, 120);
});
