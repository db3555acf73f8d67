// Keys. None of them rules by itself: `a` arms, and Enter confirms through the same gate as the button.

import { armApproval, confirmApproval } from './decide';
import { armedAt, disarm, ready } from './gate';
import { itemPath } from './list';
import { go, item, items, me, mode, panel, selected, shortcuts } from './store';

const isField = (at: EventTarget | null) => at instanceof HTMLElement && at.closest('input, textarea, select, [contenteditable]') !== null;
const onControl = (e: KeyboardEvent) => e.target instanceof HTMLElement && e.target.closest('button, a, summary') !== null;

function move(step: number) {
  if (mode.value === 'edit') return; // a stray key must not throw an edit away
  const rows = items.value ?? [];
  const at = rows.findIndex((r) => r.id === selected.value);
  const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))];
  if (!next) return;
  go(itemPath(next.id));
  document.querySelector(`[data-id="${CSS.escape(next.id)}"]`)?.scrollIntoView({ block: 'nearest' });
}

function escape() {
  if (panel.value) panel.value = '';
  else if (armedAt.value) disarm();
  else if (mode.value === 'edit' && isField(document.activeElement)) document.getElementById('item')?.focus(); // the next one drops the edit
  else if (mode.value !== 'view') mode.value = 'view';
  else if (document.activeElement instanceof HTMLElement && document.activeElement !== document.body) document.activeElement.blur();
  else go('/');
}

function open(next: 'deny' | 'respond' | 'edit') {
  if (mode.value !== 'view' || item.value?.state !== 'open' || !me.value?.can_rule) return;
  if (next === 'edit' && (!ready.value || item.value.kind !== 'call')) return; // an edit vouches for the whole item too
  disarm();
  mode.value = next;
}

const keys: Record<string, () => void> = {
  j: () => move(1), k: () => move(-1), a: armApproval, d: () => open('deny'), e: () => open('edit'), r: () => open('respond'),
  '/': () => document.getElementById('search')?.focus(), '?': () => { panel.value = 'keys'; },
  Enter: () => { if (armedAt.value) confirmApproval(); else document.getElementById('item')?.focus(); },
};

export function listenToKeys() {
  addEventListener('keydown', (e) => {
    if (e.repeat || e.isComposing || document.visibilityState !== 'visible' || !me.value) {
      if (e.repeat && e.key === 'Enter' && !(e.target instanceof HTMLTextAreaElement)) e.preventDefault(); // a held key confirms nothing
      return;
    }
    if (e.key === 'Escape') { escape(); return; }
    if (!shortcuts.value || e.ctrlKey || e.metaKey || e.altKey || panel.value || isField(e.target)) return;
    const act = keys[e.key];
    if (armedAt.value && e.key !== 'Enter' && e.key !== 'Tab' && e.key !== 'Shift') disarm(); // any other key takes the arming back
    if (!act || (e.key === 'Enter' && onControl(e))) return; // Enter on a button is that button's
    e.preventDefault();
    act();
  });
}
