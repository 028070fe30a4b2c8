// The audit view: what the database's log says, searched and in pages; and what was refused lately.
import { clock, count, el, hiddenIn, icon, name, outside, plural, sentence } from './text.js';
import { highlight } from './sql.js';
import { planLink, receipt, short } from './card.js';
import { fold } from './evidence.js';
import * as net from './net.js';

const STATUS = [['', 'Any'], ['executed', 'Executed'], ['rejected', 'Rejected'], ['hard_cap_refused', 'Above the limit'], ['failed', 'Failed or refused'], ['approved', 'Approved'], ['awaiting_approval', 'Asked'], ['previewed', 'Previewed']];
const TOOLS = ['', 'delete_rows', 'insert_rows', 'update_rows', 'run_migration', 'execute_plan', 'query', 'explain_plan', 'describe_schema'];
const WHEN = [['day', 'Today'], ['week', 'Last 7 days'], ['', 'Any time'], ['own', 'From … to …']];

const PAGE = 25; // rows

// day is a time with its date, unless that is today.
function day(ms) {
  const d = new Date(ms);
  const same = d.toDateString() === new Date().toDateString();
  const two = (n) => String(n).padStart(2, '0');
  return el('time', { datetime: d.toISOString() }, same ? '' : `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} `, clock(ms));
}

// quote is the one form in which the agent's own words are shown.
export function quote(text) {
  const hidden = hiddenIn(text);
  return el('figure', { class: 'agent' }, el('figcaption', null, icon('quote'), el('b', null, 'The agent says'), ' its own words, checked by nobody'),
    el('blockquote', null, outside(text, { lines: true })),
    hidden > 0 && el('p', { class: 'help' }, `${count(hidden)} hidden ${plural(hidden, 'character is shown as a code', 'characters are shown as codes')}.`));
}

export function steps(history) {
  return el('ol', { class: 'line' }, history.map((x) => el('li', null, x.at ? day(x.at) : el('time', null, '\u2026'), sentence(x.text))));
}

// Audit is the view. It keeps its filters while the page is open, and loads nothing by itself but the
// first page: what comes in while somebody reads is announced, not pushed under the pointer.
export class Audit {
  // app: {server, say(text)}
  constructor(app) {
    this.app = app;
    this.stack = []; // the ids that the pages before this one began below
    this.before = 0;
    this.busy = 0;
    const option = ([value, label]) => el('option', { value }, label || 'Any');
    const field = (id, label, input) => el('div', { class: 'field' }, el('label', { for: id }, label), input);
    this.q = el('input', { id: 'f-q', type: 'search', autocomplete: 'off', maxlength: 500 });
    this.status = el('select', { id: 'f-s' }, STATUS.map(option));
    this.tool = el('select', { id: 'f-t' }, TOOLS.map((t) => option([t, t])));
    this.table = el('input', { id: 'f-b', type: 'search', autocomplete: 'off', spellcheck: 'false', placeholder: 'Any', maxlength: 200 });
    this.when = el('select', { id: 'f-w', onchange: () => this.own() }, WHEN.map(option));
    this.when.value = '';
    this.from = el('input', { id: 'f-from', type: 'datetime-local' });
    this.to = el('input', { id: 'f-to', type: 'datetime-local' });
    this.range = el('div', { class: 'range', hidden: true }, field('f-from', 'From', this.from), field('f-to', 'To', this.to));
    this.each = el('input', { id: 'f-e', type: 'checkbox' });
    // No form: the page's policy forbids them, and Enter is taken here.
    this.form = el('div', { class: 'filters', role: 'search', 'aria-label': 'Filter the audit log', onkeydown: (e) => { if (e.key === 'Enter' && e.target.tagName === 'INPUT') { e.preventDefault(); this.start(); } } },
      field('f-q', 'Search reason, statement, plan', this.q), field('f-s', 'Status', this.status), field('f-t', 'Tool', this.tool), field('f-b', 'Table', this.table), field('f-w', 'When', this.when),
      el('button', { class: 'btn btn-small', type: 'button', onclick: () => this.start() }, 'Filter'), this.range,
      el('label', { class: 'each', for: 'f-e' }, this.each, ' Show every event, not only the last of each plan'));
    this.fresh = el('p', { class: 'fresh', role: 'status' });
    this.out = el('div');
    this.note = el('p');
    this.newer = el('button', { class: 'btn btn-small', type: 'button', onclick: () => this.turn(-1) }, 'Newer');
    this.older = el('button', { class: 'btn btn-small', type: 'button', onclick: () => this.turn(1) }, 'Older');
    this.pager = el('div', { class: 'pager' }, this.note, el('div', null, this.newer, this.older));
    this.sub = el('p');
    this.rest = el('div');
    this.root = el('div', null, el('div', { class: 'head' }, el('h1', { tabindex: -1 }, 'History'), this.sub), this.form, this.fresh, this.out, this.pager, this.rest);
  }

  own() {
    this.range.hidden = this.when.value !== 'own';
    if (!this.range.hidden) this.from.focus();
  }

  // start begins at the newest row with the filters as they stand.
  start() {
    this.stack = [];
    this.before = 0;
    return this.load();
  }

  turn(by) {
    const b = by > 0 ? this.older : this.newer;
    if (b.getAttribute('aria-disabled') === 'true') return;
    if (by > 0) { this.stack.push(this.before); this.before = this.last; } else this.before = this.stack.pop() || 0;
    this.load().then(() => this.out.scrollIntoView({ block: 'nearest' }));
  }

  query() {
    const p = new URLSearchParams();
    const set = (k, v) => { if (v) p.set(k, v); };
    set('q', this.q.value.trim());
    set('status', this.status.value);
    set('tool', this.tool.value);
    set('table', this.table.value.trim());
    p.set('limit', PAGE);
    if (!this.each.checked) p.set('plans', '1');
    if (this.before) p.set('before', this.before);
    const now = new Date();
    if (this.when.value === 'day') p.set('from', new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime());
    if (this.when.value === 'week') p.set('from', now.getTime() - 7 * 864e5);
    if (this.when.value === 'own') {
      set('from', this.from.value && new Date(this.from.value).getTime());
      set('to', this.to.value && new Date(this.to.value).getTime());
    }
    return p;
  }

  async load() {
    const mine = ++this.busy;
    this.fresh.replaceChildren();
    if (!this.app.server.can_audit) {
      this.refused({ message: 'This server was started without the audit log.', hint: '' });
      return this.memory();
    }
    let data;
    try {
      data = await net.get('/api/audit?' + this.query());
    } catch (e) {
      if (mine !== this.busy) return undefined;
      this.refused(e);
      return this.memory();
    }
    if (mine !== this.busy) return undefined; // a later search has overtaken this one
    this.sub.textContent = 'From the audit log in the database. This server can add entries; it cannot change or delete one.';
    this.rest.replaceChildren();
    this.pager.hidden = false;
    this.show(data.entries);
    this.newer.setAttribute('aria-disabled', String(this.before === 0));
    this.older.setAttribute('aria-disabled', String(!data.more));
    const n = data.entries.length;
    const what = this.each.checked ? plural(n, 'event', 'events') : plural(n, 'entry', 'entries');
    this.note.textContent = n === 0 ? '' : `${count(n)} ${what}, newest first, page ${count(this.stack.length + 1)}`;
    this.app.say(n === 0 ? 'Nothing found.' : `${count(n)} ${what} found.`);
    return undefined;
  }

  // refused says why there is no log to see; what this server remembers is shown instead.
  refused(e) {
    this.sub.textContent = '';
    this.pager.hidden = true;
    this.out.replaceChildren(el('div', { class: 'warn warn-caution', role: 'alert' }, icon('tri'), el('div', null, el('p', null, el('b', null, 'The audit log cannot be shown. '), outside(e.message)), e.hint && el('p', { class: 'hint' }, outside(e.hint)))));
    this.app.say('The audit log cannot be shown.');
  }

  async memory() {
    try {
      const list = (await net.get('/api/history')).plans.filter((c) => c.result).map((c) => { const r = receipt(c, null, 'h3'); r.removeAttribute('id'); return r; });
      this.rest.replaceChildren(el('h2', { class: 'gap' }, 'What this server saw end'), list.length ? el('div', { class: 'stack' }, list) : el('p', null, 'Nothing yet.'));
    } catch { /* the banner says that the server is gone */ }
  }

  // arrived says that the log has grown.
  arrived() {
    if (this.fresh.childElementCount || this.pager.hidden) return;
    this.fresh.append('Something has happened since. ', el('button', { class: 'link', type: 'button', onclick: () => this.start() }, 'Show the newest'));
  }

  show(list) {
    if (!list.length) {
      this.out.replaceChildren(el('section', { class: 'card empty empty-log' }, icon('info'), el('h2', null, 'Nothing found'), el('p', null, 'No entry of the audit log fits these filters.')));
      return;
    }
    const head = (t, c) => el('th', { role: 'columnheader', scope: 'col', class: c }, t);
    this.last = list[list.length - 1].id;
    this.out.replaceChildren(el('div', { class: 'log' }, el('table', { role: 'table' },
      el('caption', { class: 'vh' }, this.each.checked ? 'Events, newest first' : 'Plans, newest first'),
      el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, head('Outcome'), head('What'), head('Rows, preview \u2192 real', 'n'), head('Decided by'), head('Last event'))),
      el('tbody', { role: 'rowgroup' }, list.map((e) => this.row(e))))));
  }

  row(e) {
    const who = e.decided_by ? outside(e.decided_by) : e.status === 'hard_cap_refused' || e.outcome === 'Refused' ? 'the limits' : e.status === 'awaiting_approval' ? 'nobody yet' : 'nobody';
    return el('tr', { role: 'row' },
      el('td', { role: 'cell' }, el('span', { class: 'status s-' + e.mark }, icon(e.icon), e.outcome)),
      el('td', { role: 'cell', class: 'what' }, sentence(e.what), e.note.length > 0 && el('small', null, sentence(e.note)), this.more(e)),
      el('td', { role: 'cell', class: 'n', 'data-l': 'Rows' }, e.rows),
      el('td', { role: 'cell', class: 'who' }, who),
      el('td', { role: 'cell', class: 'when' }, day(e.at)));
  }

  // more unfolds everything that happened to a plan, or what an event without a plan says.
  more(e) {
    if (!e.plan_token) return e.statement || e.reason ? fold('What was asked', () => asked(e)) : null;
    const box = el('div', { class: 'life' }, el('p', { class: 'help' }, 'Loading\u2026'));
    const d = fold(`What happened to plan ${short(e.plan_token)}`, () => {
      net.get('/api/plans/' + encodeURIComponent(e.plan_token)).then(
        (data) => box.replaceChildren(...[steps(data.history), data.audit_note && el('p', { class: 'help' }, outside(data.audit_note)), asked(e), el('p', { class: 'help' }, planLink(e.plan_token, 'Open its page'))].flat().filter(Boolean)),
        (x) => box.replaceChildren(el('p', { class: 'help' }, outside(x.message))));
      return box;
    });
    return d;
  }
}

// asked is an event's own words: the agent's reason, and the statement.
function asked(e) {
  const out = [];
  if (e.reason) out.push(quote(e.reason));
  if (e.statement) {
    const cut = e.statement_length > Array.from(e.statement).length;
    out.push(el('pre', { class: 'sql' }, highlight(e.statement), cut && ' \u2026'), cut && el('p', { class: 'help' }, `The beginning of ${count(e.statement_length)} characters. The audit log has the rest.`));
  }
  return out.filter(Boolean);
}

const KINDS = { limit: ['stop', 'A limit'], allowlist: ['lock', 'An allowlist'], guard: ['x', 'The guard'] };

// refusals shows what the agent ran into.
export function refusals(list) {
  const head = el('div', { class: 'head' }, el('h1', { tabindex: -1 }, 'Refused in the last hour'), el('p', null, 'What the agent asked for and did not get. Nothing changed, and nobody has to do anything.'));
  if (!list.length) return [head, el('section', { class: 'card empty empty-log' }, icon('check'), el('h2', null, 'Nothing was refused'), el('p', null, 'When an agent runs into a limit, an allowlist or the guard, it shows up here for an hour.'))];
  return [head, el('ol', { class: 'stack' }, list.map((r) => {
    const [ic, what] = KINDS[r.kind] || KINDS.guard;
    return el('li', { class: 'receipt refused' }, el('span', { class: 'mark mark-care' }, icon(ic)),
      el('h2', null, what, ' refused ', name(r.tool), r.times > 1 && ` ${count(r.times)} times`), day(r.at),
      el('p', null, 'The agent was told: \u201c', el('bdi', { class: 'q' }, outside(r.message, { lines: true })), '\u201d ', el('code', null, r.code)),
      (r.asked || r.reason) && el('div', { class: 'refused-more' }, fold('What was asked', () => asked({ reason: r.reason, statement: r.asked, statement_length: 0 }))));
  }))];
}

// life is the page of one plan whose card this server does not have: the log alone.
export function lifeFromLog(data) {
  const first = data.entries.find((e) => e.statement) || data.entries[0];
  const last = data.entries[data.entries.length - 1];
  return [el('div', { class: 'head' }, el('h1', { tabindex: -1 }, last.outcome, ': ', sentence(first.what)), el('p', null, 'This server does not have the plan. What follows is all that the audit log says.')),
    el('div', { class: 'chain' }, steps(data.history), asked(first),
      el('p', { class: 'help' }, 'Values of parameters are never in the audit log.'))];
}

