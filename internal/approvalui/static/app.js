// The approval page. It starts here: find the way in, load the plans, follow the stream.
import { clock, count, el, icon, left, name, outside, plural, spoken } from './text.js';
import { Card, cardId, receipt } from './card.js';
import * as dialog from './dialog.js';
import * as net from './net.js';
import * as pin from './pin.js';
import * as servers from './servers.js';
import * as views from './views.js';
import { empty, notify } from './idle.js';
import { drawIndex, item as indexItem, spread } from './index.js';

const INERT = 800; // ms in which nothing can be pressed after something appeared or moved
const body = document.body;
const mode = body.dataset.mode;
const live = document.getElementById('live');

// ---------- the way in ----------

const here = new URL(location.href);
const token = here.searchParams.get('token');
const oneTime = here.searchParams.get('code');
const deep = here.pathname.startsWith('/plans/') ? '#plan/' + here.pathname.slice(7) : here.hash;
if (token !== null || oneTime !== null) history.replaceState(null, '', '/' + deep); // out of the address bar, first of all

// ---------- the page ----------

let server = {};
let skew = 0;
let connected = false;
let goneSince = 0;
let ended = false;
let readyAt = 0;
let rearm = 0;
let dulled = false;
let who = '';
let box = null; // the open dialog
const cards = new Map(); // token → Card that waits, or was decided here and has not shrunk yet
const known = new Map(); // token → newest snapshot
const page = {};

// Cards beyond the first ones are built when they come near the window. With more than those, only
// what a window can show is built before the page is shown, and the rest of the list is filled in while
// the page can be used already.
const AT_ONCE = 30;
const IN_VIEW = 4;
const INDEX_AT_ONCE = 40;
const near = new IntersectionObserver((seen) => {
  const come = seen.filter((e) => e.isIntersecting);
  for (const e of come) { near.unobserve(e.target); cards.get(e.target.id.slice(5))?.build(); }
  if (come.length) inert(); // buttons have appeared
}, { rootMargin: '800px' });

const app = {
  get server() { return server; },
  now: () => Date.now() + skew,
  connected: () => connected,
  ready: () => performance.now() >= readyAt,
  person: () => who,
  say: (text) => { live.textContent = text; },
  approve, reject, inert, complaint: net.complaint, whole,
  dialogClosed: () => { box = null; inert(); },
};

const beside = views.make(app, page);

// inert makes every decision button wait: something appeared, moved, or the person just came back.
function inert() {
  readyAt = performance.now() + INERT;
  clearTimeout(rearm);
  rearm = setTimeout(refresh, INERT + 10);
  if (!dulled) { // many cards at once are gone over once
    dulled = true;
    queueMicrotask(() => { dulled = false; refresh(); });
  }
}

function refresh() { for (const c of cards.values()) c.refresh(); }

function listPath() { return `/api/plans?all=1&full=${AT_ONCE}`; }

let seq = -1; // how many events the list that was loaded last has in it

async function start() {
  try {
    const before = net.get('/api/history');
    before.catch(() => {}); // looked at below
    const data = await net.get(listPath());
    meetServer(data.server);
    seq = data.seq;
    frame();
    connected = true;
    takeList(data.plans);
    for (const c of (await before).plans.reverse()) take(c, true);
    draw();
    inert();
  } catch (e) {
    if (gateNote) gateNote.textContent = e.message;
    else live.textContent = e.message;
    return;
  }
  addEventListener('focus', inert);
  document.addEventListener('visibilitychange', () => { if (!document.hidden) inert(); });
  addEventListener('hashchange', beside.route);
  setInterval(tick, 1000);
  page.elsewhere.follow();
  beside.route();
  follow();
}

function meetServer(s) {
  server = s;
  skew = s.now - Date.now();
  net.useServer(s);
  who = s.person;
  if (s.can_remember) return;
  try { who = localStorage.getItem('approvals.person') || s.person; } catch { /* private window */ }
}

function frame() {
  page.count = el('span', { class: 'count' });
  page.waiting = el('a', { href: '#' }, 'Waiting ', page.count);
  page.historyLink = el('a', { href: '#history' }, 'History');
  page.refusedLink = views.refusedLink();
  page.who = el('b');
  page.change = el('button', { class: 'link', type: 'button', onclick: () => { box = dialog.person(who, page.change, app, setPerson); } }, 'Change', el('span', { class: 'vh' }, ' your name'));
  page.state = el('span', { class: 'state' }, el('span', { class: 'dot' }), el('span'));
  page.alarm = el('div', { role: 'alert' });
  page.h1 = el('h1');
  page.sub = el('p');
  page.index = el('nav', { class: 'index', 'aria-label': 'Waiting plans', hidden: true });
  page.list = el('div', { class: 'list' });
  page.empty = el('div');
  page.recentHead = el('h2', { class: 'gap' }, 'Decided lately');
  page.recent = el('div', { class: 'stack' });
  page.head = el('div', { class: 'head' }, page.h1, page.sub);
  page.queue = el('div', null, page.head, page.index, page.list, page.empty, page.recentHead, page.recent);
  page.other = el('div', { hidden: true });
  page.elsewhere = servers.make(app);
  const root = document.getElementById('app');
  root.replaceChildren(
    ...[el('a', { class: 'skip', href: '#main', onclick: (e) => { e.preventDefault(); page.main.focus(); } }, 'Skip to the plans'),
    el('header', { class: 'top' }, el('div', { class: 'wrap' },
      el('p', { class: 'place' }, icon('db'), el('span', { class: 'vh' }, 'Database '), name(server.database), ' ', el('span', null, 'on'), ' ', name(server.host)),
      el('nav', { class: 'nav', 'aria-label': 'Pages' }, page.waiting, page.historyLink, page.refusedLink, page.elsewhere.link),
      el('div', { class: 'top-end' }, el('span', { class: 'me' }, 'You decide as ', page.who, ' ', page.change), page.state))),
    server.privileged_roles && el('div', { class: 'unwalled', role: 'note', 'aria-label': 'Warning about the database roles' }, el('p', { class: 'wrap' }, icon('tri'), el('span', null, el('b', null, 'Database roles are not checked.'),
      ' ', el('code', null, 'database.allowPrivilegedRoles'), ' is on: the database itself may not stop what this server lets through.'))),
    page.alarm,
    page.audit = el('div', { class: 'wrap', role: 'alert' }),
    page.main = el('main', { id: 'main', class: 'wrap', tabindex: -1 }, page.queue, page.other),
    el('footer', { class: 'wrap' }, page.elsewhere.box, el('div', { class: 'foot' }, el('p', null, 'Only a person decides here. Agents have no tool for it.'), el('p', null, 'sw-postgres-mcp ', outside(server.version))))].filter(Boolean));
  showPerson();
  showAudit(server.audit_failures);
  page.refusedLink.count(server.refusals);
}

// A record with gaps is said on every page, until the server ends.
function showAudit(failures) {
  if (!failures || page.auditShown === failures) return;
  page.auditShown = failures;
  page.audit.replaceChildren(el('p', { class: 'warn warn-caution audit-gap' }, icon('tri'),
    el('span', null, el('b', null, 'Check: '), failures === 1 ? '1 event is' : `${count(failures)} events are`, ' missing in the audit log, because it could not be written. The server\u2019s error output says why.')));
}

function setPerson(n) {
  who = n;
  showPerson();
  if (server.can_remember) { net.post('/api/name', { name: n }).catch((e) => { app.say(net.complaint(e)); }); return; }
  try { localStorage.setItem('approvals.person', n); } catch { /* private window: for this page only */ }
}

function showPerson() {
  page.who.replaceChildren(...outside(who || 'unknown'));
  refresh();
}

// ---------- plans ----------

const waits = (c) => c.state === 'awaiting_approval' && c.expires_at > app.now() - 5000;

function takeList(list) {
  const there = new Set(list.map((c) => c.plan_token));
  const many = list.length > AT_ONCE;
  page.list.classList.toggle('many', many);
  const come = document.createDocumentFragment();
  for (const c of [...list].sort((a, b) => a.previewed_at - b.previewed_at)) take(c, false, many ? come : null);
  page.list.append(come);
  for (const [t, c] of cards) if (!c.result && !there.has(t)) ask(t); // decided or gone meanwhile
  for (const [t, c] of known) if (!there.has(t) && (c.state === 'approved' || c.state === 'executing' || c.state === 'outcome_unknown')) ask(t);
}

// ask loads one plan; a plan the server does not know any more is gone with its old life.
async function ask(t) {
  try {
    take((await net.get('/api/plans/' + t + '?audit=0')).plan);
  } catch (e) {
    if (!(e instanceof net.Refused) || e.status !== 404) return;
    const c = cards.get(t);
    if (c) { c.root.remove(); cards.delete(t); }
    known.delete(t);
  }
  draw();
}

// whole asks for what a brief card lacks. It is asked once at a time; a card that came near the window in
// vain is asked for again when it comes near it the next time.
async function whole(card) {
  if (card.asking) return;
  card.asking = true;
  const t = card.card.plan_token;
  try {
    take((await net.get('/api/plans/' + t + '?audit=0')).plan, true);
  } catch (e) {
    if (e instanceof net.Refused && e.status === 404) ask(t);
    else near.observe(card.root);
  }
  card.asking = false;
  if (!card.card.brief) card.build();
  inert();
}

// A plan only goes forward: it waits, is decided, ends. Answers and events travel on different
// connections, so an older snapshot may come last; it is not believed.
const stage = (c) => ({ previewed: 0, awaiting_approval: 0, approved: 1, executing: 1, outcome_unknown: 1 }[c.state] ?? 2);

// take puts a snapshot where it belongs. batch is where the new cards of a long list are put together.
function take(c, old, batch) {
  const t = c.plan_token;
  if (known.has(t) && stage(c) < stage(known.get(t))) return;
  known.set(t, c);
  let card = cards.get(t);
  if (c.state === 'awaiting_approval') {
    if (card) { card.update(c); return; }
    if (!waits(c)) return;
    card = new Card(c, app, cards.size < (batch ? IN_VIEW : AT_ONCE) ? '' : batch ? 'bare' : 'lean');
    cards.set(t, card);
    if (!card.built) near.observe(card.root);
    (batch || page.list).append(card.root);
    inert();
    if (page.drawn && !old) {
      app.say('New plan: ' + spoken(c.render.sentence.main));
      notify(server);
    }
    return;
  }
  if (!c.result) return; // needs nobody
  if (card) {
    const first = !card.result;
    card.decided(c);
    if (first && box && box.open && box.plan === t) box.close();
    if (first) inert();
  } else {
    place(c);
  }
  if (page.drawn && !old) app.say(spoken(c.result.head));
}

// place shows what became of a plan: where its card was, else as the newest below.
function place(c) {
  const e = document.getElementById(cardId(c.plan_token));
  if (!e || !e.classList.contains('receipt')) {
    page.recent.prepend(receipt(c, app));
    return;
  }
  const fresh = e.classList.contains('receipt-new');
  const r = receipt(c, app, fresh ? 'h2' : 'h3');
  r.classList.toggle('receipt-new', fresh);
  const focus = e.contains(document.activeElement);
  e.replaceWith(r);
  if (focus) r.focus({ preventScroll: true });
}

function shrink() {
  let some = false;
  for (const [t, card] of cards) {
    if (!card.result || !card.quiet()) continue;
    const focus = document.activeElement === card.title;
    const r = receipt(card.card, app, 'h2');
    r.classList.add('receipt-new');
    card.root.replaceWith(r);
    cards.delete(t);
    if (focus) r.focus({ preventScroll: true });
    some = true;
  }
  if (!some) return;
  inert();
  draw();
}

// drawSoon is draw, once for all the events that came together.
let drawing = false;
function drawSoon() {
  if (drawing) return;
  drawing = true;
  queueMicrotask(() => { drawing = false; draw(); });
}

// draw sets everything that counts plans.
function draw() {
  const firstTime = !page.drawn;
  page.drawn = true;
  const open = [...cards.values()].filter((c) => !c.result);
  const n = open.length;
  page.count.hidden = n === 0;
  page.count.replaceChildren(String(n), el('span', { class: 'vh' }, ' waiting'));
  document.title = ended ? 'Session ended: Approvals' : !connected ? 'Not connected: Approvals' : (n ? `(${n}) ` : '') + 'Approvals: ' + spoken([{ k: 'c', v: server.database }]);
  const iconHref = `/static/icon-${n > 9 ? '9plus' : n}.svg`;
  const link = document.getElementById('icon');
  if (link.getAttribute('href') !== iconHref) link.setAttribute('href', iconHref);
  const busy = n > 0 || page.list.childElementCount > 0;
  page.head.hidden = !busy;
  page.h1.textContent = !connected ? `${n} ${plural(n, 'plan was', 'plans were')} waiting` : n === 0 ? 'Nothing waits for you' : `${n} ${plural(n, 'plan waits', 'plans wait')} for you`;
  if (connected) page.sub.textContent = n > 1 ? 'Oldest first. Nothing runs until you decide.' : n === 1 ? 'Nothing runs until you decide.' : '';
  page.empty.replaceChildren(...(busy ? [] : empty(server, draw)));
  drawIndex(page.index, open, inert, page.listed || open.length <= AT_ONCE ? Infinity : INDEX_AT_ONCE);
  while (page.recent.childElementCount > 12) page.recent.lastElementChild.remove();
  page.recentHead.hidden = page.recent.childElementCount === 0;
  page.state.lastChild.textContent = connected ? 'Live' : 'Not connected';
  body.classList.toggle('gone', !connected);
  if (!firstTime) return;
  performance.mark('shown');
  spread([...cards.values()], (card) => { card.lean(); indexItem(card, inert); }, () => {
    page.listed = true;
    draw();
    performance.mark('listed');
  });
}

function tick() {
  let again = false;
  const out = []; // run out, and the server has not said so yet
  for (const [t, card] of cards) {
    if (card.result) continue;
    card.tick();
    if (card.indexTime) card.indexTime.textContent = left(card.remaining());
    if (card.remaining() <= 0) { card.refresh(); out.push(t); }
  }
  if (connected) out.slice(0, 5).forEach(ask); // the rest a second later, where the stream has not told by then
  for (const r of document.querySelectorAll('.receipt')) if (r.tick) r.tick();
  for (const [t, c] of known) if (c.state === 'approved' && c.expires_at <= app.now() && connected) again = t;
  if (again) ask(again);
  if (box && box.tick) box.tick();
  shrink();
}

// ---------- deciding ----------

function approve(card) {
  if (!server.pin_required) { decide(card); return; }
  if (box || !connected) return;
  box = pin.ask(card.card, card.yes, app, (p) => decide(card, p));
  box.plan = card.card.plan_token;
}

// decide sends the approval and returns what went wrong, '' when nothing did.
async function decide(card, typedPin) {
  const c = card.card;
  let wrong = '';
  card.sending = 'Approving\u2026';
  card.note = '';
  card.refresh();
  try {
    if (server.can_recheck) await net.post(`/api/plans/${c.plan_token}/recheck`, {});
    const sent = { approvedBy: who };
    if (card.input) sent.confirm = card.input.value;
    if (typedPin !== undefined) sent.pin = typedPin;
    take((await net.post(`/api/plans/${c.plan_token}/approve`, sent)).plan);
  } catch (e) {
    wrong = net.complaint(e);
    card.note = typedPin === undefined ? wrong : ''; // the dialog says it
    if (e instanceof net.Refused) ask(c.plan_token);
  }
  card.sending = '';
  card.refresh();
  draw();
  return wrong;
}

function reject(c, opener) {
  if (box || !connected) return;
  box = dialog.reject(c, opener, app, async (reason) => {
    try {
      take((await net.post(`/api/plans/${c.plan_token}/reject`, { rejectedBy: who, reason })).plan);
      draw();
      return '';
    } catch (e) {
      if (e instanceof net.Refused) ask(c.plan_token);
      return net.complaint(e);
    }
  });
  box.plan = c.plan_token;
}

// ---------- the stream ----------

async function follow() {
  for (let wait = 0; !ended;) {
    if (wait > 0) {
      await pause(wait);
      let same;
      try { same = await net.prove(); } catch { wait = Math.min(8, wait * 2); continue; }
      if (!same) { end(); return; }
    }
    await net.listen(onEvent);
    if (connected) lost();
    wait = 1;
  }
}

async function onEvent(event, data) {
  if (event === 'hello' && connected && data.seq === seq) { // nothing was told since the list was made
    page.refusedLink.count(data.refusals);
    showAudit(data.audit_failures);
  } else if (event === 'hello' || event === 'resync') {
    try {
      const list = await net.get(listPath());
      const back = !connected;
      connected = true;
      server = list.server;
      seq = list.seq;
      skew = server.now - Date.now();
      takeList(list.plans);
      showAudit(server.audit_failures);
      page.refusedLink.count(server.refusals);
      if (back) { page.alarm.replaceChildren(); page.alarm.className = ''; app.say('The server is back.'); inert(); }
      draw();
      for (const c of cards.values()) c.tick();
      refresh();
    } catch (e) {
      if (!(e instanceof net.Gone || e instanceof net.Refused)) throw e; // else the stream ends too, and the loop tries again
    }
  } else if (event === 'plan' && data.plan) {
    showAudit(data.audit_failures);
    take(data.plan);
    drawSoon();
    beside.changed(event);
  } else if (event === 'refused') {
    page.refusedLink.count(data.count);
    beside.changed(event);
  }
}

let wake = null;
async function pause(seconds) {
  for (let s = seconds; s > 0; s--) {
    page.sub.textContent = `Trying to reach the server again in ${s} s.`;
    const now = await new Promise((r) => { wake = () => r(true); setTimeout(() => r(false), 1000); });
    if (now) break;
  }
  page.sub.textContent = 'Trying to reach the server now.';
}

function lost() {
  connected = false;
  goneSince = Date.now();
  if (box && box.open) box.close();
  banner(['The server is gone since ', clock(goneSince), '.'], 'Nothing can be decided until it is back. A plan that nobody approved cannot run.',
    el('button', { class: 'btn btn-small', type: 'button', onclick: () => { if (wake) wake(); } }, 'Try now'));
  draw();
  tick();
  refresh();
}

// end: another process answers on the port. It gets no secret and no further request.
function end() {
  ended = true;
  banner(['This session has ended.'], 'The server was started again. Its plans have a new link; what waited here cannot run any more.',
    server.can_open && el('button', { class: 'btn btn-small', type: 'button', onclick: (e) => net.openFromServer().then(() => { e.target.textContent = 'Opened in another tab'; }, (x) => { app.say(x.message); e.target.textContent = 'It could not be opened'; }) }, 'Open it from the server'));
  page.sub.textContent = 'Gone with the old server.';
  draw();
}

function banner(lead, text, action) {
  page.alarm.className = 'alarm';
  page.alarm.replaceChildren(el('div', { class: 'wrap' }, icon('plug'), el('p', null, el('strong', null, lead), ' ', text), action || ''));
}

// ---------- in ----------

const gateNote = document.getElementById('gate-note');
const openButton = document.getElementById('open');
if (openButton) {
  openButton.addEventListener('click', () => net.openFromServer().then(
    () => { gateNote.textContent = 'The server has opened the page in another tab. You can close this one.'; },
    (e) => { gateNote.textContent = e.message + (e.hint ? ' ' + e.hint : ''); },
  ));
}

if (mode === 'open') {
  start();
} else if (mode === 'secret' && token) {
  net.useSecret(token);
  start();
} else if (mode === 'locked' && oneTime) {
  gateNote.textContent = 'Opening\u2026';
  net.exchange(oneTime).then((s) => { net.useSecret(s); start(); }, (e) => { gateNote.textContent = e.message + (e.hint ? ' ' + e.hint : ''); });
}
