// Words in two languages. Catalogues have the same keys (a test holds that); {name} is replaced by the value given.

import { signal } from '@preact/signals';
import en from './messages/en.json';
import zh from './messages/zh.json';

export type Key = keyof typeof en;
export type Language = 'en' | 'zh';

const catalogues: Record<Language, Record<Key, string>> = { en, zh };

const remembered = localStorage.getItem('language');
export const language = signal<Language>(
  remembered === 'en' || remembered === 'zh' ? remembered : navigator.language.startsWith('zh') ? 'zh' : 'en',
);

language.subscribe((l) => { document.documentElement.lang = l === 'zh' ? 'zh-Hans' : 'en'; });

export function setLanguage(l: Language) {
  language.value = l;
  localStorage.setItem('language', l);
}

export function t(key: Key, values: Record<string, string | number> = {}): string {
  return catalogues[language.value][key].replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''));
}

/** The word for a value of the server's vocabulary; a value without a word is shown as it is. */
export function word(prefix: string, value: string): string {
  const words = catalogues[language.value] as Record<string, string>;
  return words[`${prefix}.${value}`] ?? value.replaceAll('_', ' ');
}

export function when(iso: string): string {
  return new Date(iso).toLocaleTimeString(language.value === 'zh' ? 'zh-CN' : 'en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
}

/** A span of time as a countdown writes it: 12:04, or 2:05:09. */
export function clock(ms: number): string {
  const s = Math.max(0, Math.ceil(ms / 1000));
  const two = (n: number) => String(n).padStart(2, '0');
  const h = Math.floor(s / 3600);
  return (h ? `${h}:${two(Math.floor(s / 60) % 60)}` : `${Math.floor(s / 60)}`) + ':' + two(s % 60);
}
