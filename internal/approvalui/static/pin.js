// The dialog that asks for the PIN. It keeps the PIN only in its field, and the field goes with it.
import { el, icon, left, outside, sentence } from './text.js';
import { show } from './dialog.js';

// ask shows the dialog and returns it, with tick() for the countdown. send takes the PIN and
// resolves with '' when the plan is decided, else with what to tell the person.
export function ask(c, opener, app, send) {
  const grave = c.level === 'loud';
  const time = el('b');
  const err = el('p', { class: 'note-err', role: 'alert', id: 'pin-e' });
  const input = el('input', {
    class: 'mono', id: 'pin-t', type: 'password', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', maxlength: 100, 'aria-describedby': 'pin-n pin-e',
    oninput: () => ready(), onkeydown: (e) => { if (e.key === 'Enter' && !e.isComposing) { e.preventDefault(); press(); } },
  });
  const text = el('span');
  const go = el('button', { class: grave ? 'btn btn-grave' : 'btn btn-yes', type: 'button', onclick: () => press() }, text);
  const keep = el('button', { class: 'btn', type: 'button', onclick: () => box.close() }, 'Keep it waiting');
  let sending = false;
  const ready = () => {
    go.setAttribute('aria-disabled', !sending && input.value !== '' ? 'false' : 'true');
    text.replaceChildren(icon('check'), sending ? 'Approving\u2026' : 'Approve: ' + c.render.sentence.deed);
  };
  const press = async () => {
    if (sending || input.value === '') return;
    sending = true;
    err.replaceChildren();
    ready();
    const wrong = await send(input.value);
    sending = false;
    if (!wrong) { box.close(); return; }
    input.value = '';
    err.replaceChildren(...outside(wrong));
    ready();
    input.focus();
  };
  const box = el('dialog', { class: 'modal', 'aria-labelledby': 'pin-h', 'aria-describedby': 'pin-d' },
    el('div', null, el('h2', { id: 'pin-h' }, 'Approve this plan?'), el('p', { class: 'sub', id: 'pin-d' }, sentence(c.render.sentence.main)), el('p', { class: 'sub' }, time, ' left.')),
    el('div', { class: 'field' }, el('label', { for: 'pin-t' }, 'Your PIN'), input, el('p', { class: 'help', id: 'pin-n' }, 'It is asked for each time and kept nowhere.')),
    err, el('div', { class: 'row' }, keep, go));
  box.tick = () => { time.textContent = left(c.expires_at - app.now()); };
  box.tick();
  ready();
  box.addEventListener('close', () => { input.value = ''; });
  show(box, opener, () => app.dialogClosed());
  input.focus();
  return box;
}
