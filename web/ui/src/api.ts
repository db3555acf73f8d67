// One way to the server. Bodies are given as text, so that an edited document arrives with the exact numbers that were typed.

import type { Problem } from './types';

export class Refused extends Error {
  constructor(readonly problem: Problem) { super(problem.detail ?? problem.kind); }
}

/** Called when the server says that nobody is signed in. */
let signedOut = () => {};
export const onSignedOut = (f: () => void) => { signedOut = f; };

export async function api<T>(path: string, body?: string, signal?: AbortSignal): Promise<T> {
  const init: RequestInit = { credentials: 'same-origin', cache: 'no-store', redirect: 'error' };
  if (signal) init.signal = signal;
  if (body !== undefined) {
    init.method = 'POST';
    init.headers = { 'Content-Type': 'application/json' };
    init.body = body;
  }
  let answer: Response;
  try {
    answer = await fetch(path, init);
  } catch (e) {
    if (signal?.aborted) throw e;
    throw new Refused({ kind: 'offline', status: 0 });
  }
  if (answer.ok) return (answer.status === 204 ? undefined : await answer.json()) as T;
  const problem: Problem = await answer.json().catch(() => ({ kind: 'internal_error', status: answer.status }));
  if (answer.status === 401 && path !== '/login') signedOut();
  throw new Refused(problem);
}

export const reviewPath = (id: string, what = '') => `/api/reviews/${encodeURIComponent(id)}${what && '/' + what}`;

export function asProblem(e: unknown): Problem {
  return e instanceof Refused ? e.problem : { kind: 'internal_error', status: 0 };
}
