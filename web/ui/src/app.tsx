// The console: login, and the queue with its item. Which of them is shown follows from the address and from who is signed in.

import { render } from 'preact';
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { api, asProblem } from './api';
import { Detail, problemText } from './detail';
import { language, setLanguage, t, word } from './i18n';
import { Icon } from './icons';
import { listenToKeys } from './keys';
import { List } from './list';
import { Plain } from './runs';
import { go, health, link, listen, loadHealth, loadList, me, panel, path, selected, shortcuts } from './store';
import type { Me, Problem } from './types';
import './style.css';

// A code is used once; it leaves the address bar before anything else happens.
const code = new URLSearchParams(location.search).get('code');
if (location.search) history.replaceState(null, '', location.pathname);

function LanguageButton() {
  return <button class="bare" id="language" lang={language.value === 'en' ? 'zh-Hans' : 'en'} onClick={() => setLanguage(language.value === 'en' ? 'zh' : 'en')}><Icon name="globe" />{t('app.language')}</button>;
}

async function enter() {
  me.value = await api<Me>('/api/me');
  if (path.value === '/login') go('/');
  void loadList();
  void loadHealth();
  listen();
}

function Login() {
  const problem = useSignal<Problem | null>(null);
  const working = useSignal(false);
  const used = useSignal(code);
  const signIn = async () => {
    working.value = true;
    try {
      await api<Me>('/login', JSON.stringify({ code: used.value }));
      await enter();
    } catch (e) {
      problem.value = asProblem(e);
      used.value = null;
    }
    working.value = false;
  };
  return (
    <main class="login">
      <div class="login-card">
        <span class="mark"><Icon name="gate" /></span>
        <h1>{t('login.title')}</h1>
        {problem.value && <p class="alarm boxed" role="alert"><Icon name="high" />{problemText(problem.value)}</p>}
        {used.value
          ? <><p>{t('login.body')}</p><button class="primary wide" id="sign-in" disabled={working.value} onClick={() => void signIn()}>{working.value ? t('login.working') : t('login.button')}</button></>
          : <><p>{t('login.nolink')}</p><pre class="value">{location.origin}/login?code=…</pre></>}
        <p class="aside">{t('login.why')}</p>
        <LanguageButton />
      </div>
    </main>
  );
}

function HealthPanel() {
  const h = health.value;
  return (
    <div class="popover" id="health" role="dialog" aria-label={t('health.title')}>
      <h2>{t('health.title')}</h2>
      <ul class="checks">
        {(h?.checks ?? []).map((c) => (
          <li key={c.name} class={c.status}><Icon name={c.status === 'ok' ? 'check' : 'high'} />
            <div><b><Plain text={c.name} /></b> <span>{word('status', c.status)}</span><p><Plain text={c.detail} /></p>{c.fix && <p class="fix">→ <Plain text={c.fix} /></p>}</div></li>
        ))}
      </ul>
    </div>
  );
}

const HELP = [['j', 'k', 'keys.move'], ['Enter', '', 'keys.open'], ['Esc', '', 'keys.close'], ['/', '', 'keys.search'], ['a', '', 'keys.approve'], ['d', '', 'do.deny'], ['e', '', 'do.edit'], ['r', '', 'do.respond'], ['?', '', 'keys.help']] as const;

function KeysPanel() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const toggle = (on: boolean) => { shortcuts.value = on; localStorage.setItem('shortcuts', on ? 'on' : 'off'); };
  return (
    <dialog ref={dialog} class="keys" aria-labelledby="keys-title" onClose={() => { panel.value = ''; }}>
      <h2 id="keys-title">{t('keys.title')}</h2>
      <dl>{HELP.map(([a, b, k]) => <div key={k}><dt><kbd>{a}</kbd>{b && <kbd>{b}</kbd>}</dt><dd>{t(k)}</dd></div>)}</dl>
      <p class="aside">{t('keys.note')}</p>
      <div class="ends">
        <label class="switch"><input type="checkbox" checked={shortcuts.value} onChange={(e) => toggle(e.currentTarget.checked)} />{t('keys.on')}</label>
        <button onClick={() => dialog.current?.close()}>{t('keys.close2')}</button>
      </div>
    </dialog>
  );
}

async function signOut() {
  await api('/logout', '{}').catch(() => undefined);
  location.assign('/login');
}

function Bar() {
  const status = health.value?.status ?? 'ok';
  const word3 = { live: 'app.live', connecting: 'app.connecting', offline: 'app.offline' } as const;
  return (
    <header class="top">
      <a class="brand" href="/" onClick={(e) => { e.preventDefault(); go('/'); }}><span class="mark"><Icon name="gate" /></span>{t('app.title')}</a>
      <span class={'link ' + link.value} role="status"><i />{t(word3[link.value])}</span>
      <span class="gap" />
      <button class={'bare health ' + status} aria-expanded={panel.value === 'health'} onClick={() => { void loadHealth(); panel.value = panel.value === 'health' ? '' : 'health'; }}>
        <Icon name="pulse" />{status === 'ok' ? t('health.ok') : status === 'degraded' ? t('health.degraded') : t('health.failed')}</button>
      <LanguageButton />
      <button class="bare" onClick={() => { panel.value = 'keys'; }}><Icon name="keys" /><span class="wide-only">{t('app.keys')}</span></button>
      <span class="me wide-only">{t('app.signedin', { name: me.value?.name ?? '', role: word('personrole', me.value?.role ?? '') })}</span>
      <button class="bare" aria-label={t('app.signout')} title={t('app.signout')} onClick={() => void signOut()}><Icon name="leave" /></button>
    </header>
  );
}

function Console() {
  document.title = t('app.queue') + ' · ' + t('app.title');
  return (
    <div class={'console' + (selected.value ? ' chosen' : '')}>
      <Bar />
      {link.value === 'offline' && <p class="offline" role="alert"><Icon name="plug" />{t('offline.line')}</p>}
      <main class="panes"><List /><Detail /></main>
      {panel.value === 'health' && <HealthPanel />}
      {panel.value === 'keys' && <KeysPanel />}
    </div>
  );
}

function App() {
  if (me.value) return <Console />;
  return me.value === null || path.value === '/login' ? <Login /> : null;
}

listenToKeys();
render(<App />, document.getElementById('app')!);
if (path.value !== '/login') void enter().catch(() => { me.value = null; });
