// Everything that becomes text on the page goes through here. There is no markup anywhere: this
// module makes elements and text nodes, and `outside` is the one way in for text that was written
// by an agent, a person or a database.

const SVG = 'http://www.w3.org/2000/svg';

// el makes an element. Attributes that are null, undefined or false are left out; children are
// nodes or our own words.
export function el(name, attrs, ...children) {
  const e = document.createElement(name);
  set(e, attrs);
  e.append(...children.flat(9).filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

export function svg(name, attrs, ...children) {
  const e = document.createElementNS(SVG, name);
  set(e, attrs);
  e.append(...children);
  return e;
}

function set(e, attrs) {
  for (const [k, v] of Object.entries(attrs || {})) {
    if (v === null || v === undefined || v === false) continue;
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v === true ? '' : String(v));
  }
}

export function icon(name) {
  return svg('svg', { class: 'i', 'aria-hidden': 'true' }, svg('use', { href: '#i-' + name }));
}

// Control, format (bidi, zero width, tags), unassigned, private, surrogate, line and paragraph
// separators, everything that is drawn as nothing, and the blank braille cell.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;
const HIDDEN_ALL = new RegExp(HIDDEN.source, 'gu');

const NAMES = {
  0x00: 'null', 0x07: 'bell', 0x08: 'backspace', 0x09: 'tab', 0x0a: 'line break', 0x0b: 'vertical tab', 0x0c: 'form feed',
  0x0d: 'carriage return', 0x1b: 'escape', 0x7f: 'delete', 0x85: 'next line', 0xad: 'soft hyphen', 0x61c: 'Arabic letter mark',
  0x180e: 'Mongolian vowel separator', 0x200b: 'zero-width space', 0x200c: 'zero-width non-joiner', 0x200d: 'zero-width joiner',
  0x200e: 'left-to-right mark', 0x200f: 'right-to-left mark', 0x2028: 'line separator', 0x2029: 'paragraph separator',
  0x202a: 'left-to-right embedding', 0x202b: 'right-to-left embedding', 0x202c: 'pop directional formatting',
  0x202d: 'left-to-right override', 0x202e: 'right-to-left override', 0x2060: 'word joiner', 0x2066: 'left-to-right isolate',
  0x2067: 'right-to-left isolate', 0x2068: 'first strong isolate', 0x2069: 'pop directional isolate', 0x3164: 'Hangul filler',
  0xfeff: 'byte order mark', 0x2800: 'blank braille pattern', 0x34f: 'combining grapheme joiner',
};

function nameOf(cp) {
  if (NAMES[cp]) return NAMES[cp];
  if (cp >= 0xe0000 && cp <= 0xe007f) return 'tag character';
  if (cp >= 0xfe00 && cp <= 0xfe0f) return 'variation selector';
  if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0)) return 'control character';
  if (cp >= 0xd800 && cp <= 0xdfff) return 'half a character';
  return 'invisible or unassigned character';
}

function codeOf(cp) {
  const u = 'U+' + cp.toString(16).toUpperCase().padStart(4, '0');
  const n = nameOf(cp);
  return el('span', { class: 'ctl', title: n }, u, el('span', { class: 'vh' }, ' hidden character, ' + n));
}

// outside turns text from outside into nodes: text nodes, and a visible code for each character
// that would not be seen. lines keeps line breaks and tabs (statements, prose); breaks allows a
// line break after each dot (names); blanks makes blanks at the end visible (values).
export function outside(text, { lines = false, breaks = false, blanks = false } = {}) {
  const out = [];
  let plain = '';
  const flush = () => { if (plain) { out.push(document.createTextNode(plain)); plain = ''; } };
  const body = blanks ? text.replace(/ +$/, '') : text;
  for (const ch of body) {
    if (HIDDEN.test(ch) && !(lines && (ch === '\n' || ch === '\t'))) {
      flush();
      out.push(codeOf(ch.codePointAt(0)));
      continue;
    }
    plain += ch;
    if (breaks && ch === '.') { flush(); out.push(el('wbr')); }
  }
  flush();
  const n = text.length - body.length;
  // A word in a box: fonts lack the pictures of blanks.
  if (n > 0) out.push(el('span', { class: 'ctl blanks', title: 'at the end' }, `${count(n)} ${plural(n, 'blank', 'blanks')}`, el('span', { class: 'vh' }, ' at the end')));
  return out;
}

// hiddenIn counts the characters that outside shows as codes.
export function hiddenIn(text) {
  return (text.replace(/[\n\t]/g, '').match(HIDDEN_ALL) || []).length;
}

// name shows an identifier or a value in the mono voice.
export function name(text, attrs) {
  const odd = /[^\x20-\x7e]/.test(text) ? 'odd' : null;
  return el('code', { class: odd, ...attrs }, outside(text, { breaks: true, blanks: true }));
}

// sentence renders the segments that the server made.
export function sentence(segments) {
  return (segments || []).map((s) => {
    switch (s.k) {
      case 'n': return el('span', { class: 'num' }, s.v);
      case 'c': return name(s.v);
      case 'b': return el('b', null, s.v);
      case 'd': return time(Date.parse(s.v));
      case 'q': return el('bdi', { class: 'q' }, outside(s.v));
      default: return document.createTextNode(s.v);
    }
  });
}

// spoken is a sentence as plain text, for labels and the live region. Hidden characters are left out.
export function spoken(segments) {
  return (segments || []).map((s) => (s.k === 'd' ? clock(Date.parse(s.v)) : s.v.replace(HIDDEN_ALL, ''))).join('');
}

// cell renders one value. NULL is a box that text cannot imitate.
export function cell(c) {
  if (c.t === 'null') return [el('i', { class: 'null' }, 'NULL')];
  if (c.t === 'absent') return [el('span', { class: 'dim' }, 'unchanged')];
  if (c.t === 'text' && c.v === '') return [el('span', { class: 'dim' }, 'empty text')];
  return outside(c.v, { blanks: true });
}

export function time(ms) {
  return el('time', { datetime: new Date(ms).toISOString() }, clock(ms));
}

export function clock(ms) {
  const d = new Date(ms);
  return [d.getHours(), d.getMinutes(), d.getSeconds()].map((n) => String(n).padStart(2, '0')).join(':');
}

export function left(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000));
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, '0')}`;
}

export function count(n) {
  return String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

export function plural(n, one, many) { return n === 1 ? one : many; }
