// Talking to the server. The secret lives in this module's memory and nowhere else: a reload
// forgets it. After a lost connection it is not sent again before the process behind the port has
// proved that it is the one this page came from.

let secret = '';
let key = '';
let port = 0;
let proved = true;

export class Refused extends Error {
  constructor(status, body) {
    super(body.message || 'The server did not answer as expected.');
    this.status = status;
    this.code = body.code || '';
    this.hint = body.hint || '';
  }
}

export class Gone extends Error {}

// complaint is what went wrong, for a person.
export function complaint(e) {
  if (e instanceof Refused) return e.message + (e.hint ? ' ' + e.hint : '');
  return 'The server did not answer. Whether it got your decision shows when it is back.';
}

export function useSecret(s) { secret = s; }
export function useServer(server) { key = server.key; port = server.port; }

async function call(method, path, body, withSecret) {
  const headers = {};
  if (withSecret && secret) {
    if (!proved) throw new Gone('not proved');
    headers.Authorization = 'Bearer ' + secret;
  }
  if (body) headers['Content-Type'] = 'application/json';
  let res;
  let data;
  try {
    res = await fetch(path, { method, headers, body: body ? JSON.stringify(body) : undefined, cache: 'no-store', credentials: 'omit', redirect: 'error' });
    data = await res.json();
  } catch (e) {
    throw new Gone(String(e));
  }
  if (!res.ok || !data.ok) throw new Refused(res.status, data);
  return data;
}

export const get = (path) => call('GET', path, null, true);
export const post = (path, body) => call('POST', path, body, true);
export const openFromServer = () => call('POST', '/api/open', {}, false);

export async function exchange(code) {
  return (await call('POST', '/api/session', { code }, false)).token;
}

// prove asks the process behind the port to prove that it is the one that gave this page its key.
// It throws Gone while nobody answers; false means that somebody else does.
export async function prove() {
  const raw = crypto.getRandomValues(new Uint8Array(24));
  const challenge = hex(raw);
  let answer;
  try {
    answer = await call('POST', '/api/session', { challenge }, false);
  } catch (e) {
    if (e instanceof Gone) throw e;
    return false;
  }
  const text = new TextEncoder();
  const k = await crypto.subtle.importKey('raw', text.encode(key), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const want = await crypto.subtle.sign('HMAC', k, text.encode(`sw-postgres-mcp approval page\n${port}\n${challenge}`));
  proved = hex(new Uint8Array(want)) === answer.proof;
  return proved;
}

function hex(bytes) { return Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join(''); }

// listen reads the event stream until it ends. It resolves when the stream ends for any reason;
// from then on nothing carries the secret until prove has succeeded.
export async function listen(on, signal) {
  try {
    const headers = secret ? { Authorization: 'Bearer ' + secret } : {};
    if (!proved) return;
    const res = await fetch('/api/events', { headers, cache: 'no-store', credentials: 'omit', redirect: 'error', signal });
    if (!res.ok) return;
    const reader = res.body.pipeThrough(new TextDecoderStream()).getReader();
    let buffer = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      buffer += value;
      let cut;
      while ((cut = buffer.indexOf('\n\n')) >= 0) {
        const frame = buffer.slice(0, cut);
        buffer = buffer.slice(cut + 2);
        let event = '';
        let data = '';
        for (const line of frame.split('\n')) {
          if (line.startsWith('event: ')) event = line.slice(7);
          if (line.startsWith('data: ')) data += line.slice(6);
        }
        if (event) on(event, data ? JSON.parse(data) : {});
      }
    }
  } catch {
    // the stream broke: the caller tries again
  } finally {
    proved = false;
  }
}
