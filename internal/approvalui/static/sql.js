// Colours for a statement: words in bold, dangerous words in red, parameters in blue. It changes
// nothing of the text, and what it does not know it leaves plain.
import { el, outside } from './text.js';

const WORDS = new Set(('add all alter and any as asc between by cascade case check column constraint create cross default '
  + 'delete desc distinct do drop else end exists false foreign from full group having if in index inner insert into is join key '
  + 'left like limit materialized not null on only or order outer primary references rename replace restrict returning right '
  + 'select set table then to true truncate type union unique update using values view when where with').split(' '));
const DANGER = new Set(['delete', 'drop', 'truncate', 'cascade']);
const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\$\d+|[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*|[^A-Za-z_$'"\u0080-\uffff]+|[\s\S]/g;

export function highlight(text) {
  const out = [];
  let after = ''; // the last dangerous verb: DELETE FROM, DROP COLUMN
  for (const [t] of text.matchAll(TOKEN)) {
    const w = t.toLowerCase();
    const nodes = outside(t, { lines: true });
    if (DANGER.has(w)) {
      out.push(el('span', { class: 'kw-del' }, nodes));
      after = w;
    } else if ((after === 'delete' && w === 'from') || (after === 'drop' && (w === 'column' || w === 'table' || w === 'view' || w === 'index'))) {
      out.push(el('span', { class: 'kw-del' }, nodes));
      after = '';
    } else if (WORDS.has(w)) {
      out.push(el('span', { class: 'kw' }, nodes));
      after = '';
    } else if (/^\$\d+$/.test(t)) {
      out.push(el('span', { class: 'prm' }, nodes));
    } else {
      out.push(...nodes);
      if (/\S/.test(t)) after = '';
    }
  }
  return out;
}
