// The other servers of this user on this machine: a short list at the foot of the page, and a count
// in its head when something waits there.
import { count, el, name, plural } from './text.js';
import * as net from './net.js';

const EVERY = 5000; // ms, and only while the page is looked at

export function make(app) {
  const n = el('span', { class: 'count' });
  const link = el('a', { href: '#elsewhere', hidden: true, onclick: (e) => { e.preventDefault(); box.scrollIntoView(); box.focus({ preventScroll: true }); } }, 'Elsewhere ', n);
  const list = el('ul');
  const box = el('section', { class: 'elsewhere', id: 'elsewhere', tabindex: -1, 'aria-labelledby': 'elsewhere-h', hidden: true }, el('h2', { id: 'elsewhere-h' }, 'Your other servers'), list);
  const rows = new Map(); // port → the row's moving parts
  let waited = 0;
  let asking = false;

  function row(s) {
    const note = el('p', { class: 'help', role: 'status' });
    const state = el('b');
    const open = async () => {
      note.textContent = 'Asking it\u2026';
      try {
        await net.post('/api/servers/open', { port: String(s.port) });
        note.textContent = 'It has opened its page in another tab.';
      } catch (e) {
        note.textContent = e instanceof net.Refused ? e.message + (e.hint ? ' ' + e.hint : '') : 'This server did not answer.';
      }
    };
    const act = s.can_open
      ? el('button', { class: 'btn btn-small', type: 'button', onclick: open }, 'Open its page', el('span', { class: 'vh' }, ` on port ${s.port}`))
      : el('p', { class: 'help' }, 'Open it with the link that it printed.');
    return { state, root: el('li', null, el('div', null, el('p', null, state, ' in ', name(s.database), ' on ', name(s.host)), el('p', { class: 'help' }, 'Asked by ', name(s.caller), `, 127.0.0.1:${s.port}`)), act, note), key: JSON.stringify([s.database, s.host, s.caller, s.can_open]) };
  }

  function draw(servers) {
    const there = new Set(servers.map((s) => s.port));
    for (const [p, r] of rows) if (!there.has(p)) { r.root.remove(); rows.delete(p); }
    let total = 0;
    servers.forEach((s, i) => {
      total += s.waiting;
      let r = rows.get(s.port);
      if (r && r.key !== JSON.stringify([s.database, s.host, s.caller, s.can_open])) { r.root.remove(); r = null; }
      if (!r) { r = row(s); rows.set(s.port, r); }
      const text = s.waiting === 0 ? 'Nothing waits' : `${count(s.waiting)} ${plural(s.waiting, 'plan waits', 'plans wait')}`;
      if (r.state.textContent !== text) r.state.textContent = text;
      if (list.children[i] !== r.root) list.insertBefore(r.root, list.children[i] || null);
    });
    box.hidden = servers.length === 0;
    link.hidden = total === 0;
    n.replaceChildren(String(total), el('span', { class: 'vh' }, ' waiting in your other servers'));
    if (total > waited) app.say(`${count(total)} ${plural(total, 'plan waits', 'plans wait')} in your other servers`);
    waited = total;
  }

  async function look() {
    if (asking || document.hidden || !app.connected()) return;
    asking = true;
    try { draw((await net.get('/api/servers')).servers); } catch { /* what is shown stays until there is news */ }
    asking = false;
  }

  return {
    link, box,
    follow() {
      look();
      setInterval(look, EVERY);
      document.addEventListener('visibilitychange', look);
    },
  };
}
