// The list of all waiting plans at a glance. It jumps to a card and can decide nothing. From GROUP
// plans on it is grouped by table, so that a rush on one table is seen as one rush.
import { count, el, icon, left, name, plural, sentence } from './text.js';
import { sign } from './card.js';

const GROUP = 8; // plans
const HUGE = 100; // plans: those that are scrolled away are not laid out

// item is made once per card: what it says of the preview never changes.
export function item(card, inert) {
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

function group(box, target, list) {
  const sum = list.reduce((n, card) => n + rows(card.card), 0);
  const of = { delete_rows: 0, update_rows: 0, insert_rows: 0, run_migration: 0 };
  for (const card of list) of[card.card.tool] = (of[card.card.tool] || 0) + 1;
  const kinds = [['delete_rows', 'delete', 'deletes'], ['update_rows', 'update', 'updates'], ['insert_rows', 'insert', 'inserts'], ['run_migration', 'migration', 'migrations']]
    .filter((k) => of[k[0]] > 0).map((k) => `${count(of[k[0]])} ${plural(of[k[0]], k[1], k[2])}`);
  const text = kinds.join(', ') + (sum > 0 ? `, ${count(sum)} ${plural(sum, 'row', 'rows')} in all` : '');
  if (!box) {
    const list = el('ol');
    const about = el('span');
    box = el('li', { class: 'index-group' }, el('p', { class: 'index-head' }, target ? name(target) : 'The database', ' ', about), list);
    box.list = list;
    box.about = about;
  }
  if (box.about.textContent !== text) box.about.textContent = text;
  return box;
}

// keep makes the children of e these ones, in this order. What stays is not touched: with a thousand of
// them one that comes or goes costs one.
function keep(e, children) {
  const wanted = new Set(children);
  let at = e.firstChild;
  for (const c of children) {
    while (at && !wanted.has(at)) { const gone = at; at = at.nextSibling; gone.remove(); }
    if (c === at) at = at.nextSibling;
    else e.insertBefore(c, at);
  }
  while (at) { const gone = at; at = at.nextSibling; gone.remove(); }
}

const all = el('ol');
const boxes = new Map(); // target → its group, while there is one

// drawIndex fills the list. Groups come in the order of their oldest plan, plans in that of arrival.
// With very many, first is how many are made by this call.
export function drawIndex(nav, open, inert, first = Infinity) {
  nav.hidden = open.length < 2;
  nav.classList.toggle('index-long', open.length >= GROUP);
  nav.classList.toggle('index-huge', open.length >= HUGE);
  if (nav.hidden) { keep(all, []); boxes.clear(); return; }
  if (!all.isConnected) nav.replaceChildren(all);
  const top = nav.scrollTop;
  const focus = nav.contains(document.activeElement) ? document.activeElement : null;
  const groups = new Map();
  for (const card of open) {
    const list = groups.get(card.card.target);
    if (list) list.push(card);
    else groups.set(card.card.target, [card]);
  }
  const grouped = open.length >= GROUP && groups.size < open.length;
  let room = first;
  const items = (list) => list.filter((card) => card.indexItem || room-- > 0).map((card) => item(card, inert));
  if (grouped) {
    for (const target of boxes.keys()) if (!groups.has(target)) boxes.delete(target);
    const made = [...groups].map(([target, list]) => {
      const box = group(boxes.get(target), target, list);
      boxes.set(target, box);
      keep(box.list, items(list));
      return box;
    });
    keep(all, made);
  } else {
    boxes.clear();
    keep(all, items(open));
  }
  nav.scrollTop = top;
  if (focus && focus.isConnected && focus !== document.activeElement) focus.focus({ preventScroll: true }); // it was moved
}

// spread does something for each of a long list, in pieces that the person does not notice.
export function spread(list, step, done) {
  let i = 0;
  const piece = () => {
    const until = performance.now() + (document.hidden ? 50 : 8);
    while (i < list.length && performance.now() < until) step(list[i++]);
    if (i < list.length) setTimeout(piece);
    else done();
  };
  setTimeout(piece);
}
