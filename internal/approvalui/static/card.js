// One plan: the card that waits for a decision, and what became of it.
import { clock, count, el, hiddenIn, icon, left, name, outside, plural, sentence, spoken, svg, time } from './text.js';
import { blast, samples, statement, warnings } from './evidence.js';

const SIGNS = { del: '\u2212', upd: '~', ins: '+' };

export function sign(kind) { return el('span', { class: 'sign sign-' + kind, 'aria-hidden': 'true' }, SIGNS[kind] || '~'); }

export function short(token) { return token.length > 8 ? token.slice(0, 4) + '\u2026' + token.slice(-2) : token; }

export const cardId = (token) => 'card-' + token;

export function planLink(token, ...text) {
  return el('a', { href: '#plan/' + token }, text.length ? text : el('code', null, short(token)));
}

// agent is the one place for the agent's own words.
export function agent(c) {
  if (!c.reason && !c.asked_again.length) return null; // a plan of an earlier session: nobody's words are kept
  const words = el('blockquote', null, outside(c.reason, { lines: true }));
  const box = el('figure', { class: 'agent' }, el('figcaption', null, icon('quote'), el('b', null, 'The agent says'), ' its own words, checked by nobody'), words);
  if (c.reason.length > 400 || c.reason.split('\n').length > 4) {
    words.classList.add('fold');
    const all = el('button', { class: 'link help', type: 'button', onclick: () => { words.classList.remove('fold'); all.remove(); } }, `Show all ${count(c.reason.length)} characters`);
    box.append(all);
  }
  for (const again of c.asked_again) box.append(el('p', { class: 'help again' }, 'Asked again: \u201c', outside(again, { lines: true }), '\u201d'));
  const hidden = [c.reason, ...c.asked_again].reduce((n, t) => n + hiddenIn(t), 0);
  if (hidden > 0) box.append(el('p', { class: 'help' }, `${count(hidden)} hidden ${plural(hidden, 'character is shown as a code', 'characters are shown as codes')}.`));
  return box;
}

// put sets a text, or an attribute, where it is another one: what stays costs the browser nothing.
function put(node, text, attribute) {
  if (attribute) { if (node.getAttribute(attribute) !== text) node.setAttribute(attribute, text); } else if (node.textContent !== text) node.textContent = text;
}

export function meta(c, server) {
  const row = (label, ...v) => [el('dt', null, label), el('dd', null, v)];
  return el('dl', { class: 'meta' },
    el('dt', null, 'Database'), el('dd', { class: 'hot' }, name(server.database)),
    row('Host', name(server.host)), row('Runs as', name(c.runs_as)), row('Asked by', c.caller_id ? name(c.caller_id) : 'an earlier session'), row('Plan', planLink(c.plan_token)));
}

export class Card {
  // app: {server, ready(), person(), approve(card), reject(card, opener), whole(card)}
  // lazy: 'lean' has the sentence alone until it is built, 'bare' not even that before lean() is called.
  constructor(c, app, lazy = '') {
    this.app = app;
    this.built = false;
    this.sending = '';
    this.note = '';
    this.noted = '';
    this.by = null;
    this.warned = false;
    this.life = 0;
    this.id = cardId(c.plan_token);
    this.deed = c.render.sentence.deed;
    this.root = el('article', { class: c.level === 'loud' ? 'card card-loud' : 'card', id: this.id, 'aria-labelledby': this.id + '-say', tabindex: -1 });
    this.card = c;
    if (lazy || c.brief) this.root.classList.add('lean');
    else this.build();
    if (lazy !== 'bare') this.lean();
  }

  // lean shows the sentence, while nothing is below it.
  lean() {
    if (!this.built && !this.root.firstChild) this.root.append(el('div', { class: 'facts' }, this.saying(this.card)));
  }

  // saying is the header of a card: the sentence that names it.
  saying(c, ...more) {
    const s = c.render.sentence;
    return el('header', null,
      el('p', { class: 'kind' }, sign(s.sign), el('b', null, s.kind), el('span', null, 'arrived ', time(c.previewed_at)), more),
      el('h2', { class: 'say', id: this.id + '-say' }, sentence(s.main), s.then && s.then.length > 0 && [' ', el('span', { class: 'then' }, sentence(s.then))]));
  }

  // build makes everything below the sentence. With hundreds of plans that waits until the card is near
  // the window, or asked for, and a brief card is asked of the server first: see TestThousandPlans.
  build() {
    if (this.built || this.result) return;
    const c = this.card;
    if (c.brief) {
      this.lean();
      this.app.whole(this);
      return;
    }
    this.built = true;
    this.mini = el('span', { class: 'mini', 'aria-hidden': 'true' });
    this.asked = el('span');
    this.ago = el('span');
    this.ring = svg('circle', { class: 'left', cx: 20, cy: 20, r: 16, pathLength: 60, 'stroke-dasharray': '60 60' });
    this.big = el('b');
    this.small = el('span');
    this.clockBox = el('div', { class: 'clock', role: 'timer', 'aria-label': 'Time left to decide' },
      svg('svg', { viewBox: '0 0 40 40', 'aria-hidden': 'true' }, svg('circle', { class: 'ring', cx: 20, cy: 20, r: 16 }), this.ring), el('p', null, this.big, this.small));
    this.agentBox = el('div');
    this.sig = el('p', { class: 'sig' });
    this.err = el('p', { class: 'note-err', role: 'alert' });
    const s = c.render.sentence;
    this.yesText = el('span', null, icon('check'), document.createTextNode(''));
    this.yes = el('button', { class: c.level === 'loud' ? 'btn btn-grave' : 'btn btn-yes', type: 'button', onclick: () => this.press('yes') }, this.yesText);
    this.no = el('button', { class: 'btn', type: 'button', onclick: () => this.press('no') }, el('span', null, icon('x'), 'Reject\u2026'));
    this.decide = el('div', { class: 'decide-in', role: 'group', 'aria-label': 'Decide: ' + s.deed },
      this.clockBox, meta(c, this.app.server), this.why(c), this.field(c), el('div', { class: 'acts' }, this.yes, this.no), this.err, this.sig);
    this.root.classList.remove('lean');
    this.root.replaceChildren(...[
      c.band && el('p', { class: 'band' }, icon('stop'), el('span', null, el('strong', null, c.band.lead), ' ', sentence(c.band.text))),
      el('div', { class: 'card-grid' },
        el('div', { class: 'facts' }, this.saying(c, this.asked, this.mini),
          blast(c, this.ago), warnings(c, sentence), this.agentBox, samples(c), statement(c, false)),
        el('div', { class: 'decide' }, this.decide))].filter(Boolean));
    this.update(c);
  }

  why(c) {
    let text = c.why || 'You are asked before this runs.';
    if (c.confirm.kind === 'rows') text += ` Above ${count(this.app.server.confirm_above_rows)} you also type the number.`;
    return el('p', { class: 'why' }, outside(text));
  }

  field(c) {
    if (c.confirm.kind === 'none') return null;
    const rows = c.confirm.kind === 'rows';
    this.help = el('p', { class: 'help help-warn', id: this.id + '-help', hidden: true });
    this.input = el('input', { class: 'mono', id: this.id + '-type', inputmode: rows ? 'numeric' : null, autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', 'aria-describedby': this.id + '-help', oninput: () => this.typed() });
    return el('div', { class: 'confirm' }, el('label', { for: this.id + '-type' }, 'Type ', name(c.confirm.expect), rows ? ', the rows that change, to approve' : ' to approve'), this.input, this.help);
  }

  // fits says whether what is asked for has been typed. The server checks it again.
  fits() {
    if (!this.input) return true;
    const t = this.input.value.trim();
    const { kind, expect } = this.card.confirm;
    if (kind === 'name') return t === expect.trim();
    return /^(?:\d+|\d{1,3}(?:[,. '\u2019_\u00a0\u202f\u2009]\d{3})+)$/.test(t) && t.replace(/\D/g, '') === expect;
  }

  typed() {
    const t = this.input.value.trim();
    const { kind, expect } = this.card.confirm;
    const wrong = t !== '' && !this.fits() && (kind === 'name' ? !expect.startsWith(t) : !expect.startsWith(t.replace(/\D/g, '')) || /[^\d,. '\u2019_\u00a0\u202f\u2009]/.test(t));
    this.input.setAttribute('aria-invalid', wrong ? 'true' : 'false');
    this.help.hidden = !wrong;
    this.help.replaceChildren();
    if (wrong) {
      this.help.append(icon('tri'), el('span', null, kind === 'rows'
        ? [`That is ${/^\d+$/.test(t) ? count(t) : ''}`, /^\d+$/.test(t) ? '' : outside(t), `. The plan changes ${count(expect)}.`]
        : ['That is \u201c', outside(t), '\u201d. The name is ', name(expect), '.']));
    }
    this.refresh();
  }

  // update takes a newer snapshot of the same waiting plan. What the card shows of the preview
  // never changes; a join adds words, a count and time.
  update(c) {
    if (c.brief && !this.card.brief) { // less than is known: what can have changed
      const { state, preview_count, expires_at } = c;
      if (preview_count !== this.card.preview_count) this.app.whole(this); // with words that a brief card lacks
      this.card = { ...this.card, state, expires_at };
    } else {
      this.card = c;
    }
    c = this.card;
    if (!this.built) return;
    this.asked.textContent = c.preview_count > 1 ? `asked ${c.preview_count} times` : '';
    this.agentBox.replaceChildren(agent(c) || '');
    this.life = Math.max(c.expires_at - Math.max(c.previewed_at, this.app.now() - 1000), c.preview_count > 1 ? this.life : c.expires_at - c.previewed_at, 1);
    this.tick();
    this.refresh();
  }

  remaining() { return this.card.expires_at - this.app.now(); }

  tick() {
    if (this.result || !this.built) return;
    const ms = this.remaining();
    const soon = ms < 15000;
    const gone = !this.app.connected();
    const secs = Math.max(0, Math.round((this.app.now() - this.card.previewed_at) / 1000));
    put(this.ago, `${this.card.facts ? 'Measured' : 'Counted'} by running it and undoing it, ${secs < 90 ? secs + '\u00a0s' : Math.round(secs / 60) + '\u00a0min'}\u00a0ago`);
    put(this.mini, left(ms));
    this.mini.classList.toggle('soon', soon);
    this.clockBox.classList.toggle('clock-soon', soon && !gone);
    put(this.big, gone ? 'Stopped' : left(ms));
    put(this.small, gone ? 'no server, no decision' : ms <= 0 ? 'expired' : soon ? 'expires soon' : 'left to decide');
    put(this.ring, `${gone ? 0 : Math.round(60 * Math.min(1, Math.max(0, ms / this.life)))} 60`, 'stroke-dasharray');
    if (soon && ms > 0 && !this.warned && !gone) {
      this.warned = true;
      this.app.say(`15 seconds left to decide: ${this.deed}`);
    }
  }

  // refresh sets what can be pressed. Inert is aria-disabled: the buttons stay in the tab order.
  refresh() {
    if (this.result || !this.built) return;
    const can = this.app.ready() && this.app.connected() && !this.sending && this.remaining() > 0;
    put(this.yes, can && this.fits() ? 'false' : 'true', 'aria-disabled');
    put(this.no, can ? 'false' : 'true', 'aria-disabled');
    put(this.yesText.lastChild, this.sending || 'Approve: ' + this.deed);
    if (this.note !== this.noted) { this.noted = this.note; this.err.replaceChildren(...outside(this.note)); }
    const by = this.app.connected() ? 'by ' + this.app.person() : '';
    if (by !== this.by) {
      this.by = by;
      if (by) this.sig.replaceChildren('Recorded as ', el('b', null, outside(this.app.person() || 'unknown')), '.');
      else this.sig.textContent = 'Kept on screen so that you can see what it was.';
    }
    this.root.classList.toggle('stale', !this.app.connected());
  }

  press(which) {
    const b = which === 'yes' ? this.yes : this.no;
    if (b.getAttribute('aria-disabled') === 'true') return;
    if (which === 'yes') this.app.approve(this);
    else this.app.reject(this.card, this.no);
  }

  // decided shows the outcome in the decide column; the card shrinks later, when nobody is on it.
  decided(c) {
    const had = this.root.contains(document.activeElement);
    this.at = performance.now();
    if (!this.built && !had) { // far away: nobody saw it wait, its result is enough
      this.card = c;
      this.result = c.result;
      return;
    }
    if (this.card.brief) this.card = { ...c, result: null };
    this.build();
    this.card = c;
    this.result = c.result;
    this.mini.textContent = '';
    this.title = el('h3', { tabindex: -1 }, sentence(c.result.head));
    this.decide.replaceChildren(el('div', { class: 'outcome' }, el('span', { class: 'mark mark-' + c.result.mark }, icon(c.result.icon)), this.title, el('p', null, sentence(c.result.body)),
      c.result.fine && c.result.fine.length > 0 && el('p', { class: 'help' }, sentence(c.result.fine))));
    this.decide.setAttribute('aria-label', 'What became of it');
    this.root.classList.add('decided');
    this.root.classList.remove('stale');
    if (had) this.title.focus({ preventScroll: true });
  }

  // quiet says whether the card may shrink: pointer and focus have left, or the pointer has and
  // the focus is only where the decision put it.
  quiet() {
    if (this.root.matches(':hover') || performance.now() - this.at < 2500) return false;
    const a = document.activeElement;
    return !this.root.contains(a) || a === this.title;
  }
}

// receipt is what became of a plan, small. app may be null where nothing can be done any more.
export function receipt(c, app, level = 'h3') {
  const r = c.result;
  const body = el('p', null, sentence(r.body));
  const box = el('article', { class: 'receipt', id: cardId(c.plan_token), tabindex: -1 }, el('span', { class: 'mark mark-' + r.mark }, icon(r.icon)), el(level, null, sentence(r.head)), time(r.at), body);
  const fine = el('p', { class: 'fine' });
  if (r.fine && r.fine.length) fine.append(...sentence(r.fine), ' ');
  if (c.superseded_by) fine.append(planLink(c.superseded_by, 'The newer plan'), ' ');
  if (c.state === 'approved' && app) {
    const until = el('b');
    body.replaceChildren('Approved by ', el('b', null, outside(c.decision ? c.decision.actor : 'unknown')), '. The agent has ', until, ' left to run it. If it does not, nothing changes.');
    const undo = el('button', { class: 'link', type: 'button', onclick: () => app.reject(c, undo) }, 'Reject it after all\u2026');
    fine.append(undo, ' ');
    box.tick = () => { until.textContent = left(c.expires_at - app.now()); };
    box.tick();
  }
  fine.append(planLink(c.plan_token, `What happened to plan ${short(c.plan_token)}`));
  box.append(fine);
  return box;
}

export { clock, spoken };
