// The evidence of a card: what changes where, the rows, the statement and its parameters.
import { cell, count, el, icon, name, outside, plural, svg } from './text.js';
import { highlight } from './sql.js';

const FILL = { del: 'url(#hatch)', ins: 'url(#dots)' };

// bar is a share as a picture; readers hear the words beside it.
function bar(kind, width) {
  const paint = kind === 'upd' ? { class: 'bar-upd' } : { fill: FILL[kind] };
  return svg('svg', { class: 'bar', 'aria-hidden': 'true' },
    svg('rect', { class: 'bar-track', width: '100%', height: '100%' }),
    svg('rect', { ...paint, width: '4', height: '100%' }),
    svg('rect', { ...paint, width: width + '%', height: '100%' }));
}

function line(cells, follow) {
  return el('tr', { role: 'row' }, el('th', { role: 'rowheader', scope: 'row', class: follow ? 'b-name b-follow' : 'b-name' }, follow && icon('goes'), cells.head), cells.rest);
}

function numbers(shown, said, kind) {
  return el('td', { role: 'cell', class: 'b-rows ' + (kind ? 't-' + kind : 't-plain') }, el('span', { 'aria-hidden': 'true' }, shown), el('span', { class: 'vh' }, said));
}

function radiusLine(t) {
  const parts = [['del', '\u2212', t.deleted, 'deleted'], ['upd', '~', t.updated, 'updated'], ['ins', '+', t.inserted, 'added']].filter((p) => p[2] > 0);
  const kind = parts.length ? parts.reduce((a, b) => (b[2] > a[2] ? b : a))[0] : 'upd';
  const shown = parts.map((p) => p[1] + count(p[2])).join(' ') || '0';
  const said = parts.map((p) => `${count(p[2])} ${p[3]}`).join(', ') || 'no rows';
  const rest = [numbers(shown, said, parts.length ? kind : '')];
  if (t.share) {
    rest.push(el('td', { role: 'cell', class: 'b-bar' }, bar(kind, t.share.width)),
      el('td', { role: 'cell', class: 'b-share' }, el('b', null, t.share.percent + ' %'), ' of ' + count(t.rows_estimate)));
  } else {
    rest.push(el('td', { role: 'cell', class: 'b-share b-text', colspan: 2 }, t.rows_estimate === null ? 'size of the table not known' : ''));
  }
  return line({ head: [name(t.table), el('small', null, outside(t.why))], rest }, !t.named);
}

function factLine(f) {
  const rest = [];
  if (f.count > 0) {
    const share = f.text.replace(/^all of /, '');
    rest.push(numbers('\u2212' + count(f.count), `${count(f.count)} ${plural(f.count, 'value', 'values')} lost`, 'del'),
      el('td', { role: 'cell', class: 'b-bar' }, bar('del', 100)),
      el('td', { role: 'cell', class: 'b-share' }, el('b', null, '100 %'), ' of ' + share));
  } else {
    rest.push(numbers(f.word, f.word, f.word === 'dropped' ? 'del' : ''), el('td', { role: 'cell', class: 'b-share b-text', colspan: 2 }, outside(f.text)));
  }
  return line({ head: [name(f.name), f.small && el('small', null, outside(f.small))], rest }, f.follow);
}

// blast is the table of what changes. ago is kept by the caller to count the seconds.
export function blast(c, ago) {
  const r = c.blast_radius;
  const lines = (c.facts ? c.facts.lines.map(factLine) : []).concat(r.tables.map(radiusLine));
  if (!lines.length) return null;
  const head = c.facts ? 'What is lost, what is blocked' : 'What changes';
  let foot = null;
  if (r.tables.length > 1) {
    const note = r.unnamed_rows > 0 ? `${count(r.unnamed_rows)} ${plural(r.unnamed_rows, 'was', 'were')} not named` : '';
    foot = el('tfoot', { role: 'rowgroup' }, el('tr', { role: 'row' },
      el('th', { role: 'rowheader', scope: 'row', class: 'b-name' }, `${r.tables.length} tables`),
      el('td', { role: 'cell', class: 'b-rows' }, count(r.total_rows)),
      el('td', { role: 'cell', class: 'b-share b-text', colspan: 2 }, note)));
  }
  return el('table', { class: 'blast', role: 'table' },
    el('caption', null, el('span', { class: 'cap' }, el('b', null, head), ago)),
    el('colgroup', null, el('col', { class: 'c-name' }), el('col', { class: 'c-rows' }), el('col'), el('col', { class: 'c-share' })),
    el('thead', { class: 'vh', role: 'rowgroup' }, el('tr', { role: 'row' }, ['Table', 'Rows', 'Bar', 'Share of the table'].map((t) => el('th', { role: 'columnheader', scope: 'col' }, t)))),
    el('tbody', { role: 'rowgroup' }, lines), foot);
}

const WARN = { rejected: ['back', 'Rejected before:'], check: ['tri', 'Check:'], safer: ['info', 'Safer:'], note: ['info', 'Note:'] };

export function warnings(c, sentence) {
  if (!c.warnings.length) return null;
  return el('ul', { class: 'warns', 'aria-label': 'Warnings' }, c.warnings.map((w) => {
    const [ic, lead] = WARN[w.voice] || WARN.check;
    return el('li', { class: 'warn ' + (w.voice === 'note' || w.voice === 'safer' ? 'warn-note' : 'warn-caution') }, icon(ic), el('p', null, el('b', null, lead), ' ', sentence(w.text)));
  }));
}

// scroll can be reached and scrolled by keyboard. It is a group and no region: a landmark per table of
// each card would bury the others.
function scroll(label, table) {
  return el('div', { class: 'scroll', role: 'group', 'aria-label': label, tabindex: 0 }, table);
}

export function fold(summary, make) {
  const d = el('details', { class: 'more' }, el('summary', null, summary));
  d.addEventListener('toggle', () => { if (d.open && d.childElementCount === 1) d.append(...[make()].flat()); });
  return d;
}

// masked marks a column of which only the person sees the values: with a picture, a word, and for
// readers, who hear it with each cell, the whole of it. unmasked says below the table what it means.
function masked(yes) {
  return yes && el('span', { class: 'masked', title: 'The agent sees a mask in place of these values' }, icon('veil'), el('span', { class: 'vh' }, ', '), 'masked', el('span', { class: 'vh' }, ' for the agent'));
}

// maskedIn lists the columns that a card shows and of which the agent sees a mask.
export function maskedIn(c) {
  if (c.brief) return [];
  const of = (columns, masks) => columns.filter((_, i) => masks[i]);
  const g = c.changes;
  return [...new Set(g.rows.length > 0 ? of(g.keys, g.key_masked).concat(of(g.columns, g.masked)) : of(c.sample_rows.columns, c.sample_rows.masked))];
}

function unmasked(c) {
  const all = maskedIn(c);
  if (!all.length) return null;
  const list = all.map((n, i) => [i === 0 ? '' : i === all.length - 1 ? ' and ' : ', ', name(n)]);
  return el('p', { class: 'help unmasked' }, icon('veil'), el('span', null, 'You see the values of ', list, '. The agent sees a mask in their place.'));
}

function gridTable(g, rows) {
  const last = g.columns.length - 1;
  return el('table', { class: 'rows' },
    el('thead', null, el('tr', null, g.columns.map((c, i) => el('th', { scope: 'col', class: g.right[i] ? 'r' : i === last ? 'fill' : null }, outside(c), masked(g.masked[i]))), g.right[last] && el('th', { class: 'fill' }, el('span', { class: 'vh' }, 'rest')))),
    el('tbody', null, rows.map((r) => el('tr', null, r.map((v, i) => el('td', { class: g.right[i] ? 'r' : null }, cell(v))), g.right[last] && el('td')))));
}

function changeTable(g, rows) {
  const diff = g.columns.map((_, j) => rows.some((r) => r.pairs[j].diff));
  const heads = g.keys.map((k, i) => el('th', { scope: 'col', class: 'r' }, outside(k), masked(g.key_masked[i])));
  g.columns.forEach((c, j) => {
    const side = g.right[j] ? 'r' : null;
    const isLast = j === g.columns.length - 1 && !diff[j];
    heads.push(el('th', { scope: 'col', class: side }, outside(c), ' before', masked(g.masked[j])), el('th', { class: 'arrow' }, el('span', { class: 'vh' }, 'becomes')),
      el('th', { scope: 'col', class: isLast && !side ? 'fill' : side }, outside(c), ' after', masked(g.masked[j])));
    if (diff[j]) heads.push(el('th', { scope: 'col', class: j === g.columns.length - 1 ? 'fill' : null }, 'difference'));
  });
  return el('table', { class: 'rows' }, el('thead', null, el('tr', null, heads)), el('tbody', null, rows.map((r) => {
    const tds = r.key.map((k) => el('td', { class: 'r dim' }, cell(k)));
    r.pairs.forEach((p, j) => {
      const side = g.right[j] ? 'r' : null;
      if (p.before.t === 'absent') {
        tds.push(el('td', { class: 'dim', colspan: 3 }, 'unchanged'));
      } else {
        tds.push(el('td', { class: side }, el('del', null, cell(p.before))), el('td', { class: 'arrow', 'aria-hidden': 'true' }, '\u2192'), el('td', { class: side }, el('ins', null, cell(p.after))));
      }
      if (diff[j]) tds.push(el('td', { class: 'dim' }, p.diff));
    });
    return el('tr', null, tds);
  })));
}

const HEADS = { delete_rows: 'Rows that disappear', insert_rows: 'Rows that appear', update_rows: 'Rows after the change' };

export function samples(c) {
  const pairs = c.changes.rows.length > 0;
  const all = pairs ? c.changes.rows : c.sample_rows.rows;
  if (!all.length) return null;
  const head = pairs ? 'Before and after' : HEADS[c.tool] || 'Sample rows';
  const table = (rows) => (pairs ? changeTable(c.changes, rows) : gridTable(c.sample_rows, rows));
  const shown = all.slice(0, 5);
  const of = all.length > shown.length || c.affected_rows > shown.length ? `${shown.length} of ${count(c.affected_rows)}` : `all ${count(shown.length)}`;
  const rest = all.slice(shown.length);
  return el('section', { class: 'sec' },
    el('div', { class: 'sec-head' }, el('h3', null, head), el('span', null, of)),
    scroll(head, table(shown)),
    unmasked(c),
    rest.length > 0 && el('div', { class: 'tail' }, fold(`${rest.length} more ${plural(rest.length, 'sample', 'samples')}`, () => scroll(head + ', more samples', table(rest)))));
}

export function statement(c, open) {
  if (!c.statement) {
    return el('section', { class: 'sec' }, el('div', { class: 'sec-head' }, el('h3', null, 'Statement'), el('span', null, 'not known any more')),
      el('p', { class: 'help' }, 'This server was started again since. The statement was kept in the memory of the one before.'));
  }
  const lines = c.statement.split('\n');
  const long = !open && (lines.length > 6 || c.statement.length > 400);
  const n = c.params.length;
  const params = n === 0 ? (/\$\d/.test(c.statement) ? 'parameters are not kept after the end' : 'no parameters') : `${count(n)} ${plural(n, 'parameter', 'parameters')}`;
  let shown = c.statement;
  let about = params;
  if (long) {
    shown = lines.slice(0, 4).join('\n').slice(0, 400);
    about = (lines.length > 4 ? `first 4 of ${count(lines.length)} lines, ` : 'the beginning, ') + `${count(c.statement.length)} characters in all, ${params}`;
  }
  const pre = (text, more) => el('pre', { class: 'sql' }, highlight(text), more && ' \u2026');
  const head = long ? [] : c.params.slice(0, 12).map(param);
  return el('section', { class: 'sec' },
    el('div', { class: 'sec-head' }, el('h3', null, 'Statement'), el('span', null, about)),
    pre(shown, long),
    head.length > 0 && el('dl', { class: 'params' }, head),
    el('div', { class: 'tail' },
      long && fold(lines.length > 6 ? `Show all ${count(lines.length)} lines` : `Show all ${count(c.statement.length)} characters`, () => pre(c.statement)),
      n > head.length && fold(`Show all ${count(n)} parameters`, () => el('dl', { class: 'params' }, c.params.map(param)))));
}

function value(p, text) {
  const quote = p.cell.t === 'text' ? '"' : '';
  return el('code', null, quote, outside(text, { blanks: true }), quote);
}

function param(p) {
  const dd = el('dd');
  if (p.cell.t === 'null') {
    dd.append(...cell(p.cell));
  } else if (p.length <= 80) {
    dd.append(value(p, p.cell.v), ' ', el('span', null, p.type));
  } else {
    const all = el('button', { class: 'link', type: 'button', onclick: () => dd.replaceChildren(value(p, p.cell.v), ' ', el('span', null, p.type)) }, `Show all of $${p.n}`);
    dd.append(value(p, Array.from(p.cell.v).slice(0, 60).join('') + '\u2026'), ' ', el('span', null, `${p.type}, ${count(p.length)} characters.`), ' ', all);
  }
  return el('div', null, el('dt', null, '$' + p.n), dd);
}
