// The list of all waiting plans at a glance. It jumps to a card and can decide nothing. From GROUP
// plans on it is grouped by table, so that a rush on one table is seen as one rush.
import { count, el, icon, left, name, plural, sentence } from './text.js';
import { sign } from './card.js';

const GROUP = 8; // plans

// item is made once per card: what it says of the preview never changes.
function item(card, inert) {
  if (card.indexItem) return card.indexItem;
  const c = card.card;
  const flag = el('span', { class: 'flag' });
  if (c.level === 'loud') { flag.className = 'flag flag-loud'; flag.append(icon('stop'), c.blast_radius.unknown.length ? 'effect unknown' : 'loses data'); }
  if (c.level === 'check') { flag.className = 'flag flag-check'; flag.append(icon('tri'), 'check'); }
  card.indexTime = el('span', { class: 'left' }, left(card.remaining()));
  card.indexItem = el('li', null, el('a', { href: '#' + card.id, onclick: (e) => { e.preventDefault(); card.build(); card.root.scrollIntoView(); card.root.focus({ preventScroll: true }); inert(); } },
    sign(c.render.sentence.sign), el('span', { class: 't' }, sentence(c.render.sentence.index)), flag, card.indexTime));
  return card.indexItem;
}

// rows is what the thresholds look at.
const rows = (c) => Math.max(c.affected_rows, c.blast_radius.total_rows);

function group(target, list, inert) {
  const sum = list.reduce((n, card) => n + rows(card.card), 0);
  const of = { delete_rows: 0, update_rows: 0, insert_rows: 0, run_migration: 0 };
  for (const card of list) of[card.card.tool] = (of[card.card.tool] || 0) + 1;
  const kinds = [['delete_rows', 'delete', 'deletes'], ['update_rows', 'update', 'updates'], ['insert_rows', 'insert', 'inserts'], ['run_migration', 'migration', 'migrations']]
    .filter((k) => of[k[0]] > 0).map((k) => `${count(of[k[0]])} ${plural(of[k[0]], k[1], k[2])}`);
  return el('li', { class: 'index-group' },
    el('p', { class: 'index-head' }, target ? name(target) : 'The database', ' ', el('span', null, kinds.join(', ') + (sum > 0 ? `, ${count(sum)} ${plural(sum, 'row', 'rows')} in all` : ''))),
    el('ol', null, list.map((card) => item(card, inert))));
}

// drawIndex fills the list. Groups come in the order of their oldest plan, plans in that of arrival.
export function drawIndex(nav, open, inert) {
  nav.hidden = open.length < 2;
  nav.classList.toggle('index-long', open.length >= GROUP);
  if (nav.hidden) { nav.replaceChildren(); return; }
  const focus = nav.contains(document.activeElement) ? document.activeElement.getAttribute('href') : '';
  const top = nav.scrollTop;
  const groups = new Map();
  for (const card of open) groups.set(card.card.target, [...(groups.get(card.card.target) || []), card]);
  const grouped = open.length >= GROUP && groups.size < open.length;
  nav.replaceChildren(el('ol', null, grouped ? [...groups].map(([target, list]) => group(target, list, inert)) : open.map((card) => item(card, inert))));
  nav.scrollTop = top;
  if (focus) nav.querySelector(`a[href="${focus}"]`)?.focus({ preventScroll: true });
}
